//! The concatenate emitter: each operand has a loop nest of its own. See README.md.
//!
//! ```text
//! accept.rs   fusion -> verdict
//! joined.rs   concatenates, their operands, the results that come from them
//! visits.rs   which values are computed together, over which points
//! rows.rs     nests that write whole rows of a result
//! plan.rs     visits, device, configuration -> launch and indexing maps
//! emit.rs     the same -> entry function
//! ```

mod accept;
mod emit;
mod joined;
mod plan;
mod rows;
mod visits;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict};

/// The concatenate emitter.
pub struct Concatenate;

fusebox_core::export_emitters!(Concatenate);

impl Emitter for Concatenate {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            kind: KernelKind("concatenate".into()),
            name: "concatenate".into(),
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
