//! The reduce emitters: one pass over the operands of reductions. See README.md, and CPU.md for blocks of one thread.
//!
//! ```text
//! form.rs      the five emitters, and which problems are whose
//! body.rs      a group's subgraph functions: operands at a point, combiners, epilogues
//! dispatch.rs  groups have blocks of their own
//! knobs.rs     values of the configuration
//! gpu/         many threads per block
//! cpu/         one thread per block
//! chain/       chains of row reductions: one thread per block, a row per warp, a row per block
//! ```

mod body;
mod chain;
mod cpu;
mod dispatch;
mod form;
mod gpu;
mod knobs;

use fusebox_core::analysis::{ReductionFusion, reductions};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict,
};

pub use chain::{RowNormalise, ThreadNormalise};
pub use form::Form;

/// One of the five reduce emitters.
pub struct Reduce(pub Form);

fusebox_core::export_emitters!(
    Reduce(Form::Row),
    Reduce(Form::MultiRow),
    Reduce(Form::Column),
    Reduce(Form::SmallColumn),
    Reduce(Form::Scalar),
    RowNormalise,
    ThreadNormalise::Warp,
    ThreadNormalise::Block
);

impl Emitter for Reduce {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            kind: KernelKind("reduce".into()),
            name: self.0.name().into(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict {
        let verdict = reductions(fusion).and_then(|found| match device.is_single_threaded_block() {
            true => cpu::score(self.0, fusion, &found, device),
            false => gpu::score(self.0, fusion, &found, device),
        });
        match verdict {
            Ok(score) => Verdict::Accept { score },
            Err(decline) => Verdict::Decline(decline),
        }
    }

    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        let found = analysed(fusion)?;
        match device.is_single_threaded_block() {
            true => cpu::plan(self.0, fusion, &found, device, configuration),
            false => gpu::plan(self.0, fusion, &found, device, configuration),
        }
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let found = analysed(fusion)?;
        match device.is_single_threaded_block() {
            true => cpu::emit(self.0, fusion, &found, device, plan),
            false => gpu::emit(self.0, fusion, &found, device, plan),
        }
    }
}

fn analysed(fusion: &Fusion) -> Result<ReductionFusion, EmitError> {
    reductions(fusion).map_err(|Decline { reason, instruction }| EmitError { message: reason, instruction })
}

/// A refusal that concerns the whole fusion.
fn decline<T>(reason: impl Into<String>) -> Result<T, Decline> {
    Err(Decline { reason: reason.into(), instruction: None })
}
