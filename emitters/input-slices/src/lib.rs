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
use fusebox_core::emitter::{Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict};

/// The emitter of slices.
pub struct InputSlices;

fusebox_core::export_emitters!(InputSlices);

impl Emitter for InputSlices {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            kind: KernelKind("input-slices".into()),
            name: "input-slices".into(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    fn consider(&self, fusion: &Fusion, _device: &DeviceDescription) -> Verdict {
        accept::consider(fusion)
    }

    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        plan::plan(fusion, device, configuration)
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        emit::emit(fusion, device, plan)
    }
}
