//! The emitter of dynamic-update-slice in place: only the updated part is written. See README.md.
//!
//! ```text
//! updates.rs  the updates, where they start, which outputs and parameters they are for
//! hazards.rs  whether the parameters may change while the kernel runs
//! plan.rs     updates, device, configuration -> launch and indexing maps
//! emit.rs     the same -> entry function
//! ```

mod emit;
mod hazards;
mod plan;
mod updates;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, Fusion, Kernel, Plan, Strategy};

use crate::updates::Work;

fusebox_core::emitters! { kind: "dynamic-update-slice", "dynamic-update-slice" => DynamicUpdateSlice }

/// What is not updated is not touched.
const SCORE: u32 = 700;

/// The dynamic-update-slice emitter.
struct DynamicUpdateSlice;

impl Strategy for DynamicUpdateSlice {
    type Problem = Work;

    fn score(&self, _: &Work, _: &Fusion, _: &DeviceDescription) -> Result<u32, Decline> {
        Ok(SCORE)
    }

    fn plan(
        &self,
        work: &Work,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        plan::plan(work, fusion, device, configuration)
    }

    fn emit(&self, work: &Work, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        emit::emit(work, fusion, device, plan)
    }
}
