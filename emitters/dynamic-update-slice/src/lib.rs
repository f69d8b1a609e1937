//! Emitter for in-place dynamic-update-slice. The kernel writes only the part of the array that the
//! dynamic-update-slice replaces. See README.md.
//!
//! ```text
//! accept.rs   fusion -> its updates and other results
//! updates.rs  the updates, their start indices, outputs and parameters
//! hazards.rs  checks that the parameters may change while the kernel runs
//! plan.rs     updates, device, configuration -> launch and indexing maps
//! emit.rs     updates, device, configuration -> entry function
//! ```

#![forbid(unsafe_code)]

mod accept;
mod emit;
mod hazards;
mod plan;
mod updates;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim, Configuration, EmitError, HeroPlace, Kernel, Plan, Strategy, Task};
use fusebox_core::hlo::Opcode;

use crate::updates::UpdateFusion;

fusebox_core::emitters! {
    kind: "dynamic-update-slice",
    heroes: [Opcode::DynamicUpdateSlice] => claim,
    "dynamic-update-slice" => DynamicUpdateSlice,
}

/// The dynamic-update-slice emitter.
struct DynamicUpdateSlice;

/// Returns the claim for a dynamic-update-slice. If the instruction is the root, and the rest of
/// the result is already in the buffer, the kernel writes only the updated part. If the
/// dynamic-update-slice is not the root, a kernel of another hero selects for each element the
/// operand from which it reads. The claim states no extra cost for kernels of other heroes, because
/// selecting between two operands loses no time.
fn claim(_: &Candidate, _: &DeviceDescription) -> Option<Claim> {
    Some(Claim { place: HeroPlace::Root, updates: 1, ..Claim::default() })
}

impl Strategy for DynamicUpdateSlice {
    type Problem = UpdateFusion;

    fn plan(&self, task: &Task<UpdateFusion>, configuration: &Configuration) -> Result<Plan, EmitError> {
        plan::plan(task, configuration)
    }

    fn emit(&self, task: &Task<UpdateFusion>, plan: &Plan) -> Result<Kernel, EmitError> {
        emit::emit(task, plan)
    }
}
