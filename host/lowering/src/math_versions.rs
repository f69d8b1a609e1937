//! Functions of the math library at the last stage of the kernel IR, and the versions of these
//! functions that kernels use. A kernel copies a function, unless the function contains a loop. If
//! the copies would make the kernel too long, the kernel calls all its math functions. LLVM's
//! vectoriser replaces calls of a function by calls of the function's vector versions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fusebox_core::ir::{Function, OpKind, Operation};

use crate::error::LoweringError;
use crate::math;
use crate::math_lanes::has_loops;
use crate::stages::{Facts, KernelFunctions, scalars};
use crate::targets::TargetInfo;

/// Numbers of lanes that the vectoriser may choose.
pub(crate) const LANES: [u32; 6] = [2, 4, 8, 16, 32, 64];

/// Attribute with which LLVM's vectoriser finds the vector variants of a function.
pub(crate) const VARIANTS: &str = "vector-function-abi-variant";

/// Pseudo-kernel that stands for the math library in error messages.
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

    /// Returns a function of the library at the last stage of the kernel IR.
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

    /// Returns the math functions that a kernel calls. The kernel copies all other math functions
    /// that it uses.
    pub(crate) fn called(&mut self, kernel: &KernelFunctions) -> Result<BTreeSet<&'static str>, LoweringError> {
        let Some(most) = self.target.most_copied_math else { return Ok(BTreeSet::new()) };
        let mut calls: BTreeMap<&'static str, usize> = BTreeMap::new();
        for function in &kernel.functions {
            function
                .body
                .walk(&mut |op| library_call(op).into_iter().for_each(|it| *calls.entry(it).or_default() += 1));
        }
        let (mut copied, mut looping) = (0usize, BTreeSet::new());
        for (&symbol, calls) in &calls {
            let function = self.get(symbol)?;
            if has_loops(function) {
                // A copy of the loop would prevent the vectorisation of the loop around it.
                looping.insert(symbol);
            } else {
                copied = copied.saturating_add(function.size().saturating_mul(calls - 1));
            }
        }
        Ok(if copied > most { calls.into_keys().collect() } else { looping })
    }
}

fn library_call(op: &Operation) -> Option<&'static str> {
    op.callee().filter(|_| op.kind == OpKind::Call).and_then(math::symbol)
}

/// Returns the name of a function's called or copied version.
pub(crate) fn name_of(symbol: &str, is_called: bool) -> String {
    if is_called { format!("{symbol}.called") } else { symbol.to_owned() }
}

/// Returns the name of a called function's version for vectors of `lanes` lanes.
pub(crate) fn name_of_lanes(symbol: &str, lanes: u32) -> String {
    format!("{}.x{lanes}", name_of(symbol, true))
}

/// Returns the value that the attribute [`VARIANTS`] has for a called function.
pub(crate) fn variants(symbol: &str, parameters: usize) -> String {
    let name = name_of(symbol, true);
    let variant =
        |lanes: u32| format!("_ZGV_LLVM_N{lanes}{}_{name}({})", "v".repeat(parameters), name_of_lanes(symbol, lanes));
    LANES.map(variant).join(",")
}
