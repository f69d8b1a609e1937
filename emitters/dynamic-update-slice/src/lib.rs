//! The emitter of dynamic-update-slice in place: only the updated part is written. See README.md.
//!
//! ```text
//! updates.rs  the updates, where they start, which outputs and parameters they are for
//! hazards.rs  whether the parameters may change while the kernel runs
//! plan.rs     updates, device, configuration -> launch and indexing maps
//! emit.rs     the same -> entry function
//! ```

#![forbid(unsafe_code)]

mod emit;
mod hazards;
mod plan;
mod updates;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim, Configuration, EmitError, HeroPlace, Kernel, Plan, Strategy, Task};
use fusebox_core::hlo::Opcode;

use crate::updates::Work;

fusebox_core::emitters! {
    kind: "dynamic-update-slice",
    heroes: [Opcode::DynamicUpdateSlice] => claim,
    "dynamic-update-slice" => DynamicUpdateSlice,
}

/// The dynamic-update-slice emitter.
struct DynamicUpdateSlice;

/// At the root only the updated part has to be written, if the rest is there already. Elsewhere an element is a choice between
/// two reads, which nothing is lost by.
fn claim(_: &Candidate, _: &DeviceDescription) -> Option<Claim> {
    Some(Claim { place: HeroPlace::Root, updates: 1, ..Claim::default() })
}

impl Strategy for DynamicUpdateSlice {
    type Problem = Work;

    fn plan(&self, task: &Task<Work>, configuration: &Configuration) -> Result<Plan, EmitError> {
        plan::plan(task, configuration)
    }

    fn emit(&self, task: &Task<Work>, plan: &Plan) -> Result<Kernel, EmitError> {
        emit::emit(task, plan)
    }
}
