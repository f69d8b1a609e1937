//! What becomes of sums: they are kept while others are added to them, and in the end written as the host makes of them.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Subgraph, Type, Value};
use fusebox_core::emitter::{OutputPlan, Visit};
use fusebox_core::hlo::{ElementType, InstrId};
use fusebox_core::indexing::IndexingMap;

use crate::convert::convert;
use crate::problem::Roots;

/// Results of a kernel, with the host's functions for them.
pub struct Results<'a> {
    roots: &'a [Roots],
    /// One for each group of roots.
    epilogues: Vec<Subgraph>,
    /// The types of sums, and of the product that they are.
    types: [ElementType; 2],
}

impl<'a> Results<'a> {
    /// Of a product whose sums are of the first type, and which is of the second.
    pub fn new(kernel: &mut KernelBuilder, roots: &'a [Roots], product: InstrId, types: [ElementType; 2]) -> Self {
        let epilogues = roots.iter().map(|roots| kernel.epilogue(&roots.instructions, &[product])).collect();
        Results { roots, epilogues, types }
    }

    /// What a sum is kept as.
    pub fn sum(&self) -> Scalar {
        Scalar::of_element(self.types[0])
    }

    /// The outputs with what becomes of one sum, at a point as [`Roots::at`] takes it.
    pub fn written(&self, b: &mut FunctionBuilder, point: &[Value], sum: Value, outputs: &[Value]) -> Vec<Value> {
        let [of_sum, of_product] = self.types;
        let value = convert(b, of_sum, of_product, sum);
        let mut outputs = outputs.to_vec();
        for (roots, epilogue) in self.roots.iter().zip(&self.epilogues) {
            let index = b.apply_indexing(&roots.at, point);
            let results = b.call_subgraph(epilogue, &index, &[value]);
            for (&output, result) in roots.outputs.iter().zip(results) {
                outputs[output] = b.insert(result, outputs[output], &index);
            }
        }
        outputs
    }
}

/// How each output is written, in order, and what is computed of a product's sums for it, by the maps of roots.
pub fn written(all: &[Roots], product: InstrId, map: impl Fn(&Roots) -> IndexingMap) -> (Vec<OutputPlan>, Vec<Visit>) {
    let mut outputs: Vec<(usize, OutputPlan)> = Vec::new();
    let mut visits = Vec::new();
    for roots in all {
        let map = map(roots);
        outputs.extend(roots.outputs.iter().map(|&output| (output, OutputPlan::unique(map.clone()))));
        visits.push(Visit { map, values: roots.instructions.clone(), given: vec![product] });
    }
    outputs.sort_by_key(|(output, _)| *output);
    (outputs.into_iter().map(|(_, output)| output).collect(), visits)
}

/// Registers of sums at some places before more is added: zero at first, then what is kept. `first` is the number of the first
/// step of what is added now, `None` if everything is added at once.
pub fn sums_before<P: AsRef<[Value]>>(
    b: &mut FunctionBuilder,
    first: Option<Value>,
    (lanes, element): (i64, ElementType),
    places: &[P],
    sums: Value,
) -> Vec<Value> {
    let ty = Type::vector(&[lanes], Scalar::of_element(element));
    let nothing = b.zero(&ty);
    let Some(first) = first else { return vec![nothing; places.len()] };
    let zero = b.index(0);
    let is_first = b.cmpi(IntPredicate::Eq, first, zero);
    b.scf_if(
        is_first,
        &vec![ty; places.len()],
        |_| vec![nothing; places.len()],
        |b| places.iter().map(|place| b.vector_read(sums, place.as_ref(), lanes)).collect(),
    )
}

/// `more` with what is kept at some places added to it.
pub fn with_kept<P: AsRef<[Value]>>(b: &mut FunctionBuilder, places: &[P], sums: Value, more: &[Value]) -> Vec<Value> {
    let add = |(place, &more): (&P, &Value)| {
        let lanes = b.type_of(more).dims()[0];
        let kept = b.vector_read(sums, place.as_ref(), lanes);
        b.addf(kept, more)
    };
    places.iter().zip(more).map(add).collect()
}

/// The same after the first steps; `more` alone if `first`, the number of the first step of what is added, says that it is these.
pub fn with_kept_after_first<P: AsRef<[Value]>>(
    b: &mut FunctionBuilder,
    first: Value,
    places: &[P],
    sums: Value,
    more: &[Value],
) -> Vec<Value> {
    let zero = b.index(0);
    let is_first = b.cmpi(IntPredicate::Eq, first, zero);
    let types = b.types_of(more);
    b.scf_if(is_first, &types, |_| more.to_vec(), |b| with_kept(b, places, sums, more))
}
