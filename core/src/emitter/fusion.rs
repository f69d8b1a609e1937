//! A fusion, the input of an emitter.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::Decline;
use crate::hlo::{Computation, ComputationId, InstrId, Module, Shape};

/// A fused computation: the instructions that one kernel computes.
///
/// The module contains only the fused computation, as its entry, and the computations that the
/// fused computation calls (reducers, comparators). All layouts are row-major. Tuples occur only at
/// the root and as results of variadic operations.
#[derive(Clone, Debug)]
pub struct Fusion {
    /// Module whose entry is the fused computation. The module also contains the computations that
    /// the fused computation calls.
    pub module: Module,
    /// Name of the kernel, and prefix of the names of its subgraph functions. The name is unique in
    /// the program and a valid MLIR symbol.
    pub name: String,
    /// The results in order: the root, or the operands of a root tuple. A root of tuple shape
    /// (variadic reduce) contributes all its leaves as outputs.
    pub roots: Vec<InstrId>,
    entry: ComputationId,
    found: Found,
}

/// The facts that a family of emitters needs about a fusion. These facts depend only on the fusion,
/// so [`Fusion::analysis`] computes them once and caches them in the fusion.
pub trait Analysis: Any + Send + Sync + Sized {
    /// Analyses a fusion.
    ///
    /// # Errors
    /// If no emitter of the family takes the fusion on any device. The error states the reason.
    fn of(fusion: &Fusion) -> Result<Self, Decline>;
}

/// Cached results of analyses, at most one of each type. A clone of a fusion starts without cached
/// results, because its owner may change the clone.
#[derive(Default)]
struct Found {
    succeeded: SharedAnalyses,
    /// Fusions do not share cached declines, because the reason of a decline contains names of
    /// instructions.
    declined: Cached,
}

/// The results of analyses that succeeded. Fusions with equal canonical text can share these
/// results, see [`Fusion::share_analyses`].
#[derive(Clone, Default)]
pub struct SharedAnalyses(Arc<Cached>);

/// At most one value of each type.
#[derive(Default)]
struct Cached(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl Cached {
    fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.iter().find_map(|value| Arc::clone(value).downcast().ok())
    }

    fn add<T: Any + Send + Sync>(&self, value: Arc<T>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}

impl fmt::Debug for SharedAnalyses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedAnalyses")
    }
}

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
    /// Creates a fusion from the entry computation of `module`. Returns `None` if the module has no
    /// entry.
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

    /// Returns the fused computation.
    pub fn computation(&self) -> &Computation {
        self.module.computation(self.entry)
    }

    /// Returns the shapes of the kernel's outputs in order.
    pub fn output_shapes(&self) -> Vec<&Shape> {
        let computation = self.computation();
        self.roots.iter().flat_map(|&root| computation.instruction(root).shape.leaves()).collect()
    }

    /// Returns the result of an analysis. The first call computes and caches the result, so call
    /// this method only after the fusion is complete.
    pub fn analysis<A: Analysis>(&self) -> Arc<Result<A, Decline>> {
        let Found { succeeded, declined } = &self.found;
        succeeded.0.get().or_else(|| declined.get()).unwrap_or_else(|| {
            let new = Arc::new(A::of(self));
            if new.is_ok() {
                succeeded.0.add(new.clone())
            } else {
                declined.add(new.clone())
            }
            new
        })
    }

    /// Returns the results of this fusion's analyses, so that other fusions can share these
    /// results.
    pub fn analyses(&self) -> SharedAnalyses {
        self.found.succeeded.clone()
    }

    /// Makes this fusion share the results of all past and future analyses of another fusion. The
    /// canonical texts of both fusions must be equal. Fusions with equal canonical texts have equal
    /// instructions with equal ids.
    pub fn share_analyses(&mut self, analyses: &SharedAnalyses) {
        self.found.succeeded = analyses.clone();
    }

    /// Returns the id of the fused computation in [`Fusion::module`].
    pub fn entry(&self) -> ComputationId {
        self.entry
    }
}
