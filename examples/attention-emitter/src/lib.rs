//! `online-attention`: softmax(scores(Q·Kᵀ))·V in one kernel that never stores the scores.
//!
//! ```text
//! form.rs   which instructions are attention, and at which index each part is read
//! take.rs   which instructions around a product of queries and keys the kernel computes
//! plan.rs   tiles, launch, knobs
//! parts.rs  the functions that the host writes: operands, scores, result
//! cpu.rs    the loops of a block of one thread
//! gpu.rs    the loops of a block of many
//! ```

#![forbid(unsafe_code)]

mod cpu;
mod form;
mod gpu;
mod parts;
mod plan;
mod take;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Bid, Candidate, Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, Plan, StaticDescriptor,
    Verdict,
};
use fusebox_core::hlo::{Op, Opcode};

use form::Attention;
use plan::Tiles;

pub struct OnlineAttention;

const ONLINE_ATTENTION: StaticDescriptor =
    StaticDescriptor { kind: "attention", name: "online-attention", version: env!("CARGO_PKG_VERSION") };

fusebox_core::export_emitters!(ONLINE_ATTENTION => OnlineAttention);

impl Emitter for OnlineAttention {
    fn descriptor(&self) -> Descriptor {
        ONLINE_ATTENTION.into()
    }

    fn anchors(&self) -> Vec<Opcode> {
        vec![Opcode::Dot]
    }

    fn bid(&self, candidate: &Candidate, device: &DeviceDescription) -> Bid {
        let found = take::around(candidate).and_then(|(attention, instructions)| {
            Tiles::new(&attention, device, &Configuration::default()).map_err(declined)?;
            Ok(instructions)
        });
        match found {
            Ok(instructions) => Bid::Take { instructions },
            Err(decline) => Bid::Decline(decline),
        }
    }

    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict {
        let tiles = |attention| Tiles::new(&attention, device, &Configuration::default()).map_err(declined);
        match whole(fusion).and_then(tiles) {
            Ok(_) => Verdict::Accept,
            Err(decline) => Verdict::Decline(decline),
        }
    }

    fn plan(&self, fusion: &Fusion, device: &DeviceDescription, knobs: &Configuration) -> Result<Plan, EmitError> {
        let attention = whole(fusion).map_err(failed)?;
        Ok(Tiles::new(&attention, device, knobs)?.plan(&attention))
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let attention = whole(fusion).map_err(failed)?;
        let tiles = Tiles::new(&attention, device, &plan.configuration)?;
        match device.is_single_threaded_block() {
            true => cpu::emit(fusion, &attention, &tiles),
            false => gpu::emit(fusion, &attention, &tiles),
        }
    }
}

/// Returns the attention whose result is the only result of the fusion.
fn whole(fusion: &Fusion) -> Result<Attention, Decline> {
    let computation = fusion.computation();
    let mut reason = form::decline("there is no product of two arrays", None);
    for id in computation.ids().rev().filter(|&id| matches!(computation.instruction(id).op, Op::Dot(_))) {
        match Attention::at(fusion, id) {
            Ok(attention) if fusion.roots == [attention.root] => return Ok(attention),
            Ok(attention) => {
                let root = computation.instruction(attention.root);
                reason = form::decline("the result of attention is not the only one of the fusion", Some(root));
            }
            Err(decline) => reason = decline,
        }
    }
    Err(reason)
}

fn failed(decline: Decline) -> EmitError {
    EmitError { message: decline.reason, instruction: decline.instruction }
}

fn declined(error: EmitError) -> Decline {
    Decline { reason: error.message, instruction: error.instruction }
}
