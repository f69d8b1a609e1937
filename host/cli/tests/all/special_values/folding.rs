//! Folds the operations. Constant folding must compute the same values as the kernels.

use std::ops::Range;

use fusebox_compiler::{Options, Phase, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, Literal, Op};
use fusebox_lowering::Target;
use fusebox_plugins::Registry;

use super::cases::{OperandSet, OperationsModule};

/// Largest number of elements of an operation that the compiler folds.
const FOLDED: usize = 16;

/// Number of modules to fold for a type. The values of the type are distributed over these modules.
const MODULES: usize = 6;

/// For all results, the folded values of some of their elements.
pub struct Folded {
    single: Range<usize>,
    pairs: Range<usize>,
    /// For each result, its folded elements. `None` for a result that the compiler does not fold:
    /// it has too many elements, or targets may compute it differently.
    pub results: Vec<Option<ArrayLiteral>>,
}

impl Folded {
    /// Returns the range of elements that were folded, within a result of the whole case.
    pub fn places(&self, values: OperandSet) -> Range<usize> {
        if values == OperandSet::Single { self.single.clone() } else { self.pairs.clone() }
    }
}

/// Folds the case in several parts. The operands are constants.
pub fn fold(case: &OperationsModule) -> Vec<Folded> {
    let [single, pairs] = case.counts();
    let parts = single.div_ceil(FOLDED).min(MODULES);
    let part = |count: usize, part: usize| {
        // The parts are distributed evenly from the first to the last elements.
        let length = FOLDED.min(count);
        let start = if parts > 1 { (count - length) * part / (parts - 1) } else { 0 };
        start..start + length
    };
    let parts: Vec<Folded> = (0..parts).map(|k| fold_part(case, part(single, k), part(pairs, k))).collect();
    let folded = parts.iter().flat_map(|part| &part.results).flatten().count();
    assert!(folded > 0, "nothing is folded:\n{}", case.constant_text(0..1, 0..1));
    parts
}

fn fold_part(case: &OperationsModule, single: Range<usize>, pairs: Range<usize>) -> Folded {
    let text = case.constant_text(single.clone(), pairs.clone());
    let registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    let options = Options::new(Target::cpu(), DeviceDescription::cpu(1), registry, Phase::Fuse);
    let module = compile(&Source::text("folded.hlo", &text), &options).unwrap_or_else(|e| panic!("{e}\n{text}")).fused;
    let entry = module.entry_computation().unwrap();
    let results = entry.root_instruction().operands.iter().map(|&id| match &entry.instruction(id).op {
        Op::Constant(Literal::Array(array)) => Some(array.clone()),
        _ => None,
    });
    Folded { single, pairs, results: results.collect() }
}
