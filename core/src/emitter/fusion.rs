//! A fusion as an emitter sees it.

use crate::hlo::{Computation, ComputationId, InstrId, Module, Shape};

/// A fused computation: what one kernel is to compute.
///
/// The module holds the fused computation as its entry and the computations that it calls (reducers,
/// comparators); nothing else of the program. Layouts are row-major throughout and tuples occur only
/// at the root and as results of variadic operations.
#[derive(Clone, Debug)]
pub struct Fusion {
    /// The fused computation as entry, and what it calls.
    pub module: Module,
    /// Unique in the program, a valid MLIR symbol; the kernel's name and the prefix of its
    /// subgraph functions.
    pub name: String,
    /// The results in order: the root, or the operands of a root tuple. A root of tuple shape (variadic
    /// reduce) contributes all its leaves as outputs.
    pub roots: Vec<InstrId>,
    entry: ComputationId,
}

impl Fusion {
    /// A fusion of the entry computation of `module`; `None` if the module has none.
    pub fn new(name: impl Into<String>, module: Module) -> Option<Self> {
        let entry = module.entry?;
        let computation = module.computation(entry);
        let root = computation.root_instruction();
        let roots = match root.op {
            crate::hlo::Op::Tuple => root.operands.clone(),
            _ => vec![computation.root],
        };
        Some(Fusion { name: name.into(), roots, entry, module })
    }

    /// The fused computation.
    pub fn computation(&self) -> &Computation {
        self.module.computation(self.entry)
    }

    /// The shapes of the kernel's outputs, in order.
    pub fn output_shapes(&self) -> Vec<&Shape> {
        let computation = self.computation();
        self.roots.iter().flat_map(|&root| computation.instruction(root).shape.leaves()).collect()
    }

    /// Its id in [`Fusion::module`].
    pub fn entry(&self) -> ComputationId {
        self.entry
    }
}
