//! The emitter of dynamic-update-slice in place: only the updated part is written. See README.md.
//!
//! ```text
//! accept.rs   fusion -> verdict
//! updates.rs  the updates, where they start, which outputs and parameters they are for
//! hazards.rs  whether the parameters may change while the kernel runs
//! plan.rs     updates, device, configuration -> launch and indexing maps
//! emit.rs     the same -> entry function
//! ```

mod accept;
mod emit;
mod hazards;
mod plan;
mod updates;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict};

/// The dynamic-update-slice emitter.
pub struct DynamicUpdateSlice;

fusebox_core::export_emitters!(DynamicUpdateSlice);

impl Emitter for DynamicUpdateSlice {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            kind: KernelKind("dynamic-update-slice".into()),
            name: "dynamic-update-slice".into(),
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
