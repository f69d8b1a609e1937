//! A part of a program that an emitter may take as one kernel.

use super::{Decline, Fusion};
use crate::hlo::InstrId;

/// A part of a program around an instruction.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The part as a fusion. Its parameters are values computed outside the part, its roots are
    /// values also read outside the part. A kernel can compute every instruction in it.
    pub region: Fusion,
    /// The instruction around which the emitter bids.
    pub anchor: InstrId,
}

/// An emitter's answer to a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Bid {
    /// The emitter wants these instructions of the region in one kernel. Values read outside of
    /// them become results of the kernel. Constants and broadcasts among them are duplicated for
    /// users outside.
    Take {
        /// The instructions in program order, each once, the anchor included, parameters excluded.
        instructions: Vec<InstrId>,
    },
    /// The emitter wants nothing, for this reason.
    Decline(Decline),
}

impl Bid {
    /// Declines for this reason.
    pub fn decline(reason: impl Into<String>) -> Bid {
        Bid::Decline(Decline::new(reason))
    }
}
