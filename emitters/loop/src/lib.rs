//! The loop emitter: one point of the result at a time, for every fusion. See README.md.
//!
//! ```text
//! accept.rs  fusion -> verdict
//! visits.rs  fusion -> loop nests
//! plan.rs    loop nests, device, configuration -> launch and indexing maps
//! emit.rs    loop nests -> entry function
//! ```

mod accept;
mod emit;
mod plan;
mod roots;
mod visits;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, Fusion, Kernel, Plan, Strategy};

use crate::roots::Results;

fusebox_core::emitters! { kind: "loop", "loop" => Loop }

/// The loop emitter.
struct Loop;

impl Strategy for Loop {
    type Problem = Results;

    fn score(&self, _: &Results, _: &Fusion, _: &DeviceDescription) -> Result<u32, Decline> {
        Ok(accept::SCORE)
    }

    fn plan(
        &self,
        results: &Results,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        plan::plan(results, fusion, device, configuration)
    }

    fn emit(
        &self,
        results: &Results,
        fusion: &Fusion,
        device: &DeviceDescription,
        plan: &Plan,
    ) -> Result<Kernel, EmitError> {
        emit::emit(results, fusion, device, plan)
    }
}
