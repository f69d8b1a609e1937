//! Functions of the math library in the lowest form of the kernel IR, and the versions of these
//! functions that kernels use. A kernel copies the functions. If the copies would make the kernel
//! too long, the kernel calls the functions instead, and the vector versions of the functions.

use std::collections::{BTreeMap, HashMap};

use fusebox_core::ir::{Function, OpKind, Operation};

use crate::error::LoweringError;
use crate::math;
use crate::stages::{Facts, KernelFunctions, scalars};
use crate::targets::TargetInfo;

/// Numbers of lanes that the vectoriser may choose.
pub(crate) const LANES: [u32; 6] = [2, 4, 8, 16, 32, 64];

/// Attribute with which LLVM's vectoriser finds the vector variants of a function.
pub(crate) const VARIANTS: &str = "vector-function-abi-variant";

/// Pseudo-kernel for error messages.
pub(crate) const LIBRARY: Facts<'static> =
    Facts { name: "math library", arguments: &[], blocks: 1, threads: 1, shared_bytes: 0, origins: None };

/// Cache of lowered definitions.
pub(crate) struct Definitions<'t> {
    target: &'t TargetInfo,
    lowered: HashMap<&'static str, Function>,
}

impl<'t> Definitions<'t> {
    pub(crate) fn new(target: &'t TargetInfo) -> Self {
        Definitions { target, lowered: HashMap::new() }
    }

    /// Returns a function of the library in the lowest form of kernel IR.
    pub(crate) fn get(&mut self, symbol: &'static str) -> Result<&Function, LoweringError> {
        if !self.lowered.contains_key(symbol) {
            let written = math::definitions([symbol], self.target.math)
                .map_err(|error| LoweringError::Llvm(error.to_string()))?;
            for function in &written {
                let lowered = scalars::lowered(function, self.target);
                let lowered = lowered.map_err(|error| error.in_kernel(&LIBRARY, self.target))?;
                self.lowered.insert(symbol, lowered);
            }
        }
        let missing = || LoweringError::Llvm(format!("the math library does not define @{symbol}"));
        self.lowered.get(symbol).ok_or_else(missing)
    }

    /// Whether a kernel calls math functions so often that copies of these functions would make the
    /// kernel too long.
    pub(crate) fn are_called(&mut self, kernel: &KernelFunctions) -> Result<bool, LoweringError> {
        let Some(most) = self.target.most_copied_math else { return Ok(false) };
        let mut calls: BTreeMap<&'static str, usize> = BTreeMap::new();
        for function in &kernel.functions {
            function
                .body
                .walk(&mut |op| library_call(op).into_iter().for_each(|it| *calls.entry(it).or_default() += 1));
        }
        let mut copied = 0usize;
        for (symbol, calls) in calls {
            copied = copied.saturating_add(self.get(symbol)?.size().saturating_mul(calls - 1));
        }
        Ok(copied > most)
    }
}

fn library_call(op: &Operation) -> Option<&'static str> {
    op.callee().filter(|_| op.kind == OpKind::Call).and_then(math::symbol)
}

/// Returns the name of a function's called or copied version.
pub(crate) fn name_of(symbol: &str, is_called: bool) -> String {
    if is_called { format!("{symbol}.called") } else { symbol.to_owned() }
}

/// Returns the name of the version of a called function for vectors of this many lanes.
pub(crate) fn name_of_lanes(symbol: &str, lanes: u32) -> String {
    format!("{}.x{lanes}", name_of(symbol, true))
}

/// Returns the value of the attribute [`VARIANTS`] of a called function.
pub(crate) fn variants(symbol: &str, parameters: usize) -> String {
    let name = name_of(symbol, true);
    let variant =
        |lanes: u32| format!("_ZGV_LLVM_N{lanes}{}_{name}({})", "v".repeat(parameters), name_of_lanes(symbol, lanes));
    LANES.map(variant).join(",")
}

/// Returns a copy of the function without branches, if all its operations then also work lane by
/// lane on vectors. The copy computes both sides of a branch and selects the results.
pub(crate) fn straight(function: &Function, is_by_element: fn(OpKind) -> bool) -> Option<Function> {
    let mut straight = function.clone();
    straight.body.operations = function.body.operations.iter().flat_map(without_branch).collect();
    let is_meant = |op: &Operation| {
        matches!(op.kind, OpKind::Constant | OpKind::Return) || is_by_element(op.kind) && op.regions.is_empty()
    };
    straight.body.operations.iter().all(is_meant).then_some(straight)
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
