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
use fusebox_core::emitter::{Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict};

/// The loop emitter.
pub struct Loop;

fusebox_core::export_emitters!(Loop);

impl Emitter for Loop {
    fn descriptor(&self) -> Descriptor {
        Descriptor { kind: KernelKind("loop".into()), name: "loop".into(), version: env!("CARGO_PKG_VERSION").into() }
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
