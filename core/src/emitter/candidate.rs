//! Parts of a program that an emitter may compute in one kernel.

use super::{Decline, Fusion};
use crate::hlo::InstrId;

/// A part of a program around one instruction. The host asks an emitter for a bid on a candidate.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The candidate's part of the program, represented as a fusion. The fusion's parameters are
    /// the values that instructions outside of the region compute. The fusion's roots are the
    /// values that instructions outside of the region read. The fusion contains only instructions
    /// that kernels can compute.
    pub region: Fusion,
    /// The instruction around which the emitter bids.
    pub anchor: InstrId,
}

/// An emitter's answer to a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Bid {
    /// The emitter wants to compute the listed instructions of the region in one kernel. Values
    /// that instructions outside of the kernel read become results of the kernel. Constants and
    /// broadcasts do not become results: the host duplicates them for users outside of the kernel.
    Take {
        /// The instructions in program order without duplicates. The list includes the anchor and
        /// excludes parameters.
        instructions: Vec<InstrId>,
    },
    /// The emitter makes no bid, for this reason.
    Decline(Decline),
}

impl Bid {
    /// Creates a decline with this reason.
    pub fn decline(reason: impl Into<String>) -> Bid {
        Bid::Decline(Decline::new(reason))
    }
}
