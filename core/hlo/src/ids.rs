//! Indices of computations and instructions.

/// Index of a computation in its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ComputationId(pub u32);

/// Index of an instruction in its computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstrId(pub u32);

impl ComputationId {
    /// Returns the index into [`Module::computations`](crate::Module::computations).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl InstrId {
    /// Returns the index into [`Computation::instructions`](crate::Computation::instructions).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
