//! Emission of the kernel's entry function.

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Subgraph, Value};
use fusebox_core::emitter::{EmitError, Kernel, Plan, Task};
use fusebox_core::indexing::IndexingMap;

use crate::bundles::{Bundle, ValueTarget};
use crate::concatenates::{ConcatenateHero, ConcatenateResults, EpilogueGroup};
use crate::plan::{distributed, shift};
use crate::visits::KernelVisits;

/// Builds the kernel for a plan that [`crate::plan::plan`] computed.
pub fn emit(task: &Task<ConcatenateResults>, plan: &Plan) -> Result<Kernel, EmitError> {
    let (work, dealing) = distributed(task, &plan.configuration)?;
    let mut kernel = KernelBuilder::new(task.fusion);
    let functions = ConcatenateFunctions::declare(&mut kernel, &work);
    let point = [kernel.thread(), kernel.block()];
    let mut outputs = kernel.outputs().to_vec();
    for ((visit, share), values) in work.visits.iter().zip(&dealing.shares).zip(&functions.values) {
        let unroll: Vec<usize> = share.lane.into_iter().collect();
        outputs = kernel.indexed_loop(&share.map, &point, &outputs, &unroll, |b, _, index, outputs| {
            let mut outputs = outputs.to_vec();
            for (bundle, values) in visit.bundles.iter().zip(values) {
                outputs = functions.bundle(b, &work, bundle, values, index, outputs);
            }
            outputs
        });
    }
    kernel.finish(&outputs)
}

/// The functions that the kernel calls.
struct ConcatenateFunctions {
    /// For each visit and each of its bundles: the function that computes the bundle's values.
    values: Vec<Vec<Subgraph>>,
    /// For each concatenate and each of its epilogues: the function that computes the epilogue.
    epilogues: Vec<Vec<Subgraph>>,
}

impl ConcatenateFunctions {
    fn declare(kernel: &mut KernelBuilder, work: &KernelVisits) -> Self {
        let mut values = Vec::new();
        for visit in &work.visits {
            values.push(visit.bundles.iter().map(|bundle| kernel.values(&bundle.values)).collect());
        }
        let mut epilogues = Vec::new();
        for concatenate in work.concatenates {
            let declare = |epilogue: &EpilogueGroup| kernel.epilogue(&epilogue.roots, &[concatenate.hero]);
            epilogues.push(concatenate.epilogues.iter().map(declare).collect());
        }
        ConcatenateFunctions { values, epilogues }
    }

    /// Computes the values of a bundle at a point of the nest, and writes them.
    fn bundle(
        &self,
        b: &mut FunctionBuilder,
        work: &KernelVisits,
        bundle: &Bundle,
        values: &Subgraph,
        point: &[Value],
        mut outputs: Vec<Value>,
    ) -> Vec<Value> {
        if !bundle.unrolled {
            let within = IndexingMap { ranges: bundle.index.ranges.clone(), ..IndexingMap::default() };
            return b.indexed_loop(&within, &[], &outputs, &[], |b, inner, _, outputs| {
                self.values(b, work, bundle, values, &[point, inner].concat(), outputs.to_vec())
            });
        }
        let sizes: Vec<i64> = bundle.index.ranges.iter().map(|range| range.bounds.size() as i64).collect();
        for inner in indices(&sizes) {
            let inner: Vec<Value> = inner.into_iter().map(|i| b.index(i)).collect();
            outputs = self.values(b, work, bundle, values, &[point, &inner].concat(), outputs);
        }
        outputs
    }

    /// Computes the values of a bundle at one index, and writes them. `point` consists of the
    /// coordinates of the nest's point, followed by the bundle's range variables.
    fn values(
        &self,
        b: &mut FunctionBuilder,
        work: &KernelVisits,
        bundle: &Bundle,
        values: &Subgraph,
        point: &[Value],
        mut outputs: Vec<Value>,
    ) -> Vec<Value> {
        let index = if bundle.index.is_identity() { point.to_vec() } else { b.apply_indexing(&bundle.index, point) };
        let computed = b.call_subgraph(values, &index, &[]);
        for &write in &bundle.writes {
            match write {
                ValueTarget::Output { value, output } => {
                    outputs[output] = b.insert(computed[value], outputs[output], &index);
                }
                ValueTarget::Element { value, concatenate, offset } => {
                    let epilogues = &self.epilogues[concatenate];
                    let concatenate = &work.concatenates[concatenate];
                    let index = b.apply_indexing(&shift(&concatenate.dims, concatenate.dimension, offset), &index);
                    outputs = element(b, concatenate, epilogues, computed[value], &index, outputs);
                }
            }
        }
        outputs
    }
}

/// Writes an element of a concatenate to each output that is the concatenate itself. Also computes
/// the epilogues for the element, and writes the results of the epilogues.
fn element(
    b: &mut FunctionBuilder,
    concatenate: &ConcatenateHero,
    epilogues: &[Subgraph],
    value: Value,
    index: &[Value],
    mut outputs: Vec<Value>,
) -> Vec<Value> {
    for &output in &concatenate.direct {
        outputs[output] = b.insert(value, outputs[output], index);
    }
    for (epilogue, function) in concatenate.epilogues.iter().zip(epilogues) {
        let index = b.apply_indexing(&epilogue.from_hero, index);
        let results = b.call_subgraph(function, &index, &[value]);
        for &(output, result) in &epilogue.outputs {
            outputs[output] = b.insert(results[result], outputs[output], &index);
        }
    }
    outputs
}

/// Returns all indices of a small array with dimensions `sizes`, in row-major order.
fn indices(sizes: &[i64]) -> Vec<Vec<i64>> {
    sizes.iter().fold(vec![Vec::new()], |prefixes, &size| {
        prefixes.iter().flat_map(|index| (0..size).map(move |i| [index.as_slice(), &[i]].concat())).collect()
    })
}
