//! Sums that a kernel keeps between chunks of steps, and epilogues that compute and write the
//! results.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Subgraph, Type, Value};
use fusebox_core::emitter::{OutputPlan, Visit};
use fusebox_core::hlo::{ElementType, InstrId};
use fusebox_core::indexing::IndexingMap;

use crate::convert::convert;
use crate::problem::ProductRoots;

/// Results of a kernel, and the epilogue functions that compute them from sums.
pub struct ResultEpilogues<'a> {
    roots: &'a [ProductRoots],
    /// One epilogue function for each group of roots.
    epilogues: Vec<Subgraph>,
    /// Types of the sums and of the product's result.
    types: [ElementType; 2],
}

impl<'a> ResultEpilogues<'a> {
    /// Declares the epilogues of a product. `types` are the types of the sums and of the product's
    /// result.
    pub fn new(
        kernel: &mut KernelBuilder,
        roots: &'a [ProductRoots],
        product: InstrId,
        types: [ElementType; 2],
    ) -> Self {
        let epilogues = roots.iter().map(|roots| kernel.epilogue(&roots.instructions, &[product])).collect();
        ResultEpilogues { roots, epilogues, types }
    }

    /// Returns the type in which sums are kept.
    pub fn sum(&self) -> Scalar {
        Scalar::of_element(self.types[0])
    }

    /// Writes the results that the epilogues compute from one sum, and returns the outputs. `point`
    /// is `(batch, row, column)`.
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

/// Returns the plan of each output, in order, and the visits of the epilogues. `map` returns, for a
/// group of roots, the map `(th, bl)[…] -> index of the results`.
pub fn written(
    all: &[ProductRoots],
    product: InstrId,
    map: impl Fn(&ProductRoots) -> IndexingMap,
) -> (Vec<OutputPlan>, Vec<Visit>) {
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

/// Returns the registers of sums to which the kernel adds the next products. For the first steps,
/// all sums are zero. For later steps, the registers hold the elements of `sums` at `places`.
/// `first` is the number of the next step, or `None` if all steps are added at once.
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

/// Returns `more` plus the elements of `sums` at `places`.
pub fn with_kept<P: AsRef<[Value]>>(b: &mut FunctionBuilder, places: &[P], sums: Value, more: &[Value]) -> Vec<Value> {
    let add = |(place, &more): (&P, &Value)| {
        let lanes = b.type_of(more).dims()[0];
        let kept = b.vector_read(sums, place.as_ref(), lanes);
        b.addf(kept, more)
    };
    places.iter().zip(more).map(add).collect()
}

/// Returns `more` plus the elements of `sums` at `places`. `first` is the number of the first step
/// that `more` contains. If `first` is 0, returns `more` unchanged.
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
