//! A part of a program that an emitter may take as one kernel.

use super::{Decline, Fusion};
use crate::hlo::InstrId;

/// A part of a program around an instruction.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The part in the form of a fusion: its parameters are values that are made elsewhere, its roots values that are
    /// read elsewhere too. Everything in it can be computed by a kernel.
    pub region: Fusion,
    /// The instruction that the emitter anchors on.
    pub anchor: InstrId,
}

/// What an emitter would take of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Bid {
    /// These instructions of the region, as one kernel. Whatever is read outside of them becomes a result of the kernel;
    /// constants and broadcasts among them are computed again for others who read them.
    Take {
        /// The instructions, the anchor among them, in order, each once; no parameters.
        instructions: Vec<InstrId>,
    },
    /// Nothing, and why.
    Decline(Decline),
}

impl Bid {
    /// Nothing, for this reason.
    pub fn decline(reason: impl Into<String>) -> Bid {
        Bid::Decline(Decline::new(reason))
    }
}
