//! Writes functions of the math library. Kernels inline these functions. If inlining would make a
//! kernel too long, the kernel instead calls the functions, and their versions for vectors.
//!
//! An attribute lists the names of the vector functions for LLVM's vectoriser. The vectoriser
//! chooses the number of lanes. Before the vectoriser runs, vector functions are only declared.
//! Afterwards the bodies of the chosen vector functions are written.

use std::collections::{BTreeMap, BTreeSet};

use fusebox_core::ir::{Function, OpKind, Operation};

use super::arith::is_by_element;
use super::{Declared, Translation};
use crate::error::LoweringError;
use crate::llvm::{Ty, Val};
use crate::math as library;
use crate::stages::{Facts, KernelFunctions, StageError, scalars};

/// Numbers of lanes that the vectoriser may choose.
const LANES: [u32; 6] = [2, 4, 8, 16, 32, 64];
/// LLVM's number of the attribute for functions that neither read nor write memory.
const NO_MEMORY: u64 = 0;
/// Attribute with which LLVM's vectoriser finds the vector variants of a function.
const VARIANTS: &str = "vector-function-abi-variant";

/// A declared function of vectors.
pub(super) struct VectorFunction {
    name: String,
    lanes: u32,
    /// The scalar function that is computed in each lane.
    scalar: Function,
}

impl Translation<'_> {
    /// Whether a kernel calls math functions so often that inlining these functions would make the
    /// kernel too long.
    pub(super) fn calls_math(&mut self, kernel: &KernelFunctions) -> Result<bool, LoweringError> {
        let Some(most) = self.target.most_copied_math else { return Ok(false) };
        let mut calls: BTreeMap<&'static str, usize> = BTreeMap::new();
        for function in &kernel.functions {
            function
                .body
                .walk(&mut |op| library_call(op).into_iter().for_each(|it| *calls.entry(it).or_default() += 1));
        }
        let mut copied = 0usize;
        for (symbol, calls) in calls {
            copied = copied.saturating_add(self.definition(symbol)?.size().saturating_mul(calls - 1));
        }
        Ok(copied > most)
    }

    /// Returns the LLVM function for a symbol of the math library. The current kernel decides
    /// between the called and the inlined version. Declares the function if necessary.
    pub(super) fn math_function(&mut self, symbol: &'static str, parameters: &[Ty], results: &[Ty]) -> Declared {
        let is_called = self.is_math_called;
        if let Some(known) = self.math.get(&(symbol, is_called)) {
            return known.clone();
        }
        let declared = self.declared(&name_of(symbol, is_called), parameters, results);
        let function = |name, value| self.llvm.add_attribute(declared.function, u32::MAX, name, value);
        if is_called {
            function("noinline", 0);
            self.mark_pure(declared.function);
        } else {
            // This definition is inlined, so that the vectoriser sees the whole body of a loop.
            function("alwaysinline", 0);
        }
        self.math.insert((symbol, is_called), declared.clone());
        declared
    }

    /// Defines the math functions that kernels use.
    pub(crate) fn add_math(&mut self) -> Result<(), LoweringError> {
        let wanted: BTreeSet<_> = self.math.keys().copied().collect();
        for (symbol, is_called) in wanted {
            let Some(declared) = self.math.get(&(symbol, is_called)).cloned() else { continue };
            let lowered = self.definition(symbol)?.clone();
            self.define_math(&lowered, &declared, None)?;
            let straight = straight(&lowered);
            if is_called && by_element(&straight) {
                self.declare_vectors(&straight, symbol, &declared);
            }
        }
        Ok(())
    }

    /// Defines the functions of vectors that the vectoriser has chosen, and returns them.
    pub(crate) fn add_vector_math(&mut self) -> Result<Vec<Val>, LoweringError> {
        let mut defined = Vec::new();
        for VectorFunction { name, lanes, scalar } in std::mem::take(&mut self.vector_math) {
            let Some(function) = self.llvm.used_function(&name) else { continue };
            self.llvm.hide(function);
            let declared = Declared { function, signature: self.llvm.void(), results: 1 };
            self.define_math(&scalar, &declared, Some(lanes))?;
            defined.push(function);
        }
        Ok(defined)
    }

    /// Declares a vector function for each number of lanes. Attaches the names of these functions
    /// to the scalar function for the vectoriser.
    fn declare_vectors(&mut self, scalar: &Function, symbol: &str, declared: &Declared) {
        let name = name_of(symbol, true);
        let llvm = &self.llvm;
        let element = llvm.type_of(llvm.parameter(declared.function, 0));
        let mut variants = Vec::new();
        for lanes in LANES {
            let vector = llvm.vector(element, lanes);
            let parameters = vec![vector; scalar.body.arguments.len()];
            let of_lanes = format!("{name}.x{lanes}");
            let function = llvm.add_function(&of_lanes, llvm.signature(vector, &parameters), true);
            self.mark_pure(function);
            variants.push(format!("_ZGV_LLVM_N{lanes}{}_{name}({of_lanes})", "v".repeat(parameters.len())));
            self.vector_math.push(VectorFunction { name: of_lanes, lanes, scalar: scalar.clone() });
        }
        llvm.add_string_attribute(declared.function, VARIANTS, &variants.join(","));
    }

    fn mark_pure(&self, function: Val) {
        let flags = [("nounwind", 0), ("willreturn", 0), ("memory", NO_MEMORY)];
        flags.iter().for_each(|&(name, value)| self.llvm.add_attribute(function, u32::MAX, name, value));
    }

    /// Returns a function of the library in the lowest form of kernel IR.
    fn definition(&mut self, symbol: &'static str) -> Result<&Function, LoweringError> {
        if !self.definitions.contains_key(symbol) {
            let written = library::definitions([symbol], self.target.math)
                .map_err(|error| LoweringError::Llvm(error.to_string()))?;
            for function in &written {
                let lowered = scalars::lowered(function, self.target);
                let lowered = lowered.map_err(|error| error.in_kernel(&LIBRARY, self.target))?;
                self.definitions.insert(symbol, lowered);
            }
        }
        let missing = || LoweringError::Llvm(format!("the math library does not define @{symbol}"));
        self.definitions.get(symbol).ok_or_else(missing)
    }

    fn define_math(
        &mut self,
        function: &Function,
        declared: &Declared,
        lanes: Option<u32>,
    ) -> Result<(), LoweringError> {
        let target = self.target;
        self.define(function, declared, lanes)
            .map_err(|(op, reason)| StageError::new(op, reason).in_kernel(&LIBRARY, target))
    }
}

/// Pseudo-kernel for error messages.
const LIBRARY: Facts<'static> = Facts { name: "math library", arguments: &[], blocks: 1, threads: 1, shared_bytes: 0 };

fn library_call(op: &Operation) -> Option<&'static str> {
    op.callee().filter(|_| op.kind == OpKind::Call).and_then(library::symbol)
}

fn name_of(symbol: &str, is_called: bool) -> String {
    if is_called { format!("{symbol}.called") } else { symbol.to_owned() }
}

/// Returns a copy of the function without branches. The copy computes both sides of a branch and
/// selects the results.
fn straight(function: &Function) -> Function {
    let mut straight = function.clone();
    straight.body.operations = function.body.operations.iter().flat_map(without_branch).collect();
    straight
}

fn without_branch(op: &Operation) -> Vec<Operation> {
    let (OpKind::If, [on_true, on_false], [condition]) = (op.kind, &op.regions[..], &op.operands[..]) else {
        return vec![op.clone()];
    };
    let is_inner = |it: &&Operation| it.kind != OpKind::Yield;
    let sides = on_true.operations.iter().chain(&on_false.operations).filter(is_inner);
    let selected = op.results.iter().zip(on_true.yielded().iter().zip(on_false.yielded()));
    let selects = selected.map(|(&result, (&yes, &no))| Operation {
        kind: OpKind::Select,
        operands: vec![*condition, yes, no],
        results: vec![result],
        regions: Vec::new(),
        attributes: Vec::new(),
        place: op.place.clone(),
    });
    sides.cloned().flat_map(|it| without_branch(&it)).chain(selects).collect()
}

/// Whether all operations of a function also work lane by lane on vectors.
fn by_element(function: &Function) -> bool {
    function.body.operations.iter().all(|op| {
        matches!(op.kind, OpKind::Constant | OpKind::Return) || is_by_element(op.kind) && op.regions.is_empty()
    })
}
