//! The scatter emitter: updates combined into an output that starts from the operand's value. See README.md.
//!
//! ```text
//! problem.rs   fusion -> the scatter in it, or why there is none to take
//! plan.rs      problem, device, configuration -> schedule -> launch and indexing maps
//! updates.rs   schedule: a thread takes a few neighbouring updates
//! runs.rs      schedule: a thread takes the same updates of several slices in a row
//! gathered.rs  schedule: a block owns rows of the output and gathers the slices that go there, in order
//! owned.rs     schedule: a thread owns an element of the output and walks all slices
//! slabs.rs     schedule: a block of one thread owns a part of the output and walks all slices
//! filter.rs    how such a block passes over the slices of others
//! body.rs      what all of them write: index vectors, bounds, combining
//! emit.rs      schedule -> entry function
//! ```

mod body;
mod emit;
mod filter;
mod gathered;
mod owned;
mod plan;
mod problem;
mod runs;
mod slabs;
mod updates;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict};

/// The scatter emitter.
pub struct Scatter;

/// The same, where updates of one element are always combined in the same order, whatever that costs.
pub struct ScatterInOrder;

fusebox_core::export_emitters!(Scatter, ScatterInOrder);

/// Nobody else writes scatters.
const SCORE: u32 = 800;
/// For those who ask for it.
const SCORE_IN_ORDER: u32 = 700;

impl Emitter for Scatter {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            kind: KernelKind("scatter".into()),
            name: "scatter".into(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    fn consider(&self, fusion: &Fusion, _device: &DeviceDescription) -> Verdict {
        match problem::Problem::of(fusion) {
            Ok(_) => Verdict::Accept { score: SCORE },
            Err(decline) => Verdict::Decline(decline),
        }
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

impl Emitter for ScatterInOrder {
    fn descriptor(&self) -> Descriptor {
        Descriptor { name: "scatter-in-order".into(), ..Scatter.descriptor() }
    }

    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict {
        match Scatter.consider(fusion, device) {
            Verdict::Accept { .. } => Verdict::Accept { score: SCORE_IN_ORDER },
            declined => declined,
        }
    }

    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        plan::plan_in_order(fusion, device, configuration)
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        emit::emit(fusion, device, plan)
    }
}
