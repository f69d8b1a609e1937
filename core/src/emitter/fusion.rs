//! A fusion as an emitter sees it.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Analysis, Decline};
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
    found: Found,
}

/// What analyses found out, of each type at most one. A copy of a fusion begins without, as it may be changed.
#[derive(Default)]
struct Found(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl Clone for Found {
    fn clone(&self) -> Self {
        Found::default()
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Found")
    }
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
        Some(Fusion { name: name.into(), roots, entry, module, found: Found::default() })
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

    /// What an analysis says about the fusion: of its value when first asked, so ask only for fusions that are complete.
    pub fn analysis<A: Analysis>(&self) -> Arc<Result<A, Decline>> {
        let found = || self.found.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = found().iter().find_map(|known| Arc::clone(known).downcast().ok());
        known.unwrap_or_else(|| {
            let new = Arc::new(A::of(self));
            found().push(new.clone());
            new
        })
    }

    /// Its id in [`Fusion::module`].
    pub fn entry(&self) -> ComputationId {
        self.entry
    }
}
