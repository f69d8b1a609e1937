//! What the compiler folds is what its kernels compute.

use std::ops::Range;

use fusebox_compiler::{Cache, Departures, Dump, Emitters, Options, Phase, Progress, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, Literal, Op};
use fusebox_lowering::Target;
use fusebox_plugins::Registry;

use crate::cases::{Case, Values};

/// Elements of an operation that is folded, at most.
const FOLDED: usize = 16;

/// Modules that are folded for a type: its values are spread over them.
const MODULES: usize = 6;

/// Some elements of all results, as folding gives them.
pub struct Folded {
    single: Range<usize>,
    pairs: Range<usize>,
    /// Per result; none if it has more elements than are folded.
    pub results: Vec<Option<ArrayLiteral>>,
}

impl Folded {
    /// The elements of a result of the whole case that were folded.
    pub fn places(&self, values: Values) -> Range<usize> {
        if values == Values::Single { self.single.clone() } else { self.pairs.clone() }
    }
}

/// The case on constants, in several parts.
pub fn fold(case: &Case) -> Vec<Folded> {
    let [single, pairs] = case.counts();
    let parts = single.div_ceil(FOLDED).min(MODULES);
    let part = |count: usize, part: usize| {
        // From the first to the last elements, evenly spread.
        let length = FOLDED.min(count);
        let start = if parts > 1 { (count - length) * part / (parts - 1) } else { 0 };
        start..start + length
    };
    (0..parts).map(|k| fold_part(case, part(single, k), part(pairs, k))).collect()
}

fn fold_part(case: &Case, single: Range<usize>, pairs: Range<usize>) -> Folded {
    let text = case.constant_text(single.clone(), pairs.clone());
    let options = Options {
        target: Target::cpu(),
        device: DeviceDescription::cpu(1),
        emitters: Emitters { registry: Registry::new(fusebox_bundle::emitters()).unwrap(), ..Emitters::default() },
        threads: 1,
        until: Phase::Fuse,
        stages: Vec::new(),
        dump: Dump::default(),
        departures: Departures::default(),
        memory_limit: None,
        progress: Progress::default(),
        cache: Cache::default(),
    };
    let module = compile(&Source::text("folded.hlo", &text), &options).unwrap_or_else(|e| panic!("{e}\n{text}")).fused;
    let entry = module.entry_computation().unwrap();
    let results = entry.root_instruction().operands.iter().zip(&case.steps).map(|(&id, step)| {
        let instruction = entry.instruction(id);
        match &instruction.op {
            Op::Constant(Literal::Array(array)) => Some(array.clone()),
            // A result in parts is too large, and what is made of one.
            _ if step.parts.is_some() || step.operation.contains("convert(r") => None,
            op => panic!("{} is not folded: {:?}\n{text}", step.operation, op.opcode()),
        }
    });
    Folded { single, pairs, results: results.collect() }
}
