//! The emitter of slices: an element that several slices take is computed once. See README.md.
//!
//! ```text
//! accept.rs   fusion -> verdict
//! slices.rs   the results: boxes of arrays
//! visits.rs   which boxes are visited together
//! plan.rs     visits, device, configuration -> launch and indexing maps
//! emit.rs     the same -> entry function
//! ```

mod accept;
mod emit;
mod plan;
mod slices;
mod visits;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, Fusion, Kernel, Plan, Strategy};

use crate::slices::Slices;

fusebox_core::emitters! { kind: "input-slices", "input-slices" => InputSlices }

/// The emitter of slices.
struct InputSlices;

impl Strategy for InputSlices {
    type Problem = Slices;

    fn score(&self, slices: &Slices, _: &Fusion, _: &DeviceDescription) -> Result<u32, Decline> {
        Ok(slices.score)
    }

    fn plan(
        &self,
        slices: &Slices,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        plan::plan(slices, fusion, device, configuration)
    }

    fn emit(
        &self,
        slices: &Slices,
        fusion: &Fusion,
        device: &DeviceDescription,
        plan: &Plan,
    ) -> Result<Kernel, EmitError> {
        emit::emit(slices, fusion, device, plan)
    }
}
