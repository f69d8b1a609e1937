//! Emission of the kernel's entry function.

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Subgraph, Value};
use fusebox_core::emitter::{EmitError, Kernel, Plan, Task};
use fusebox_core::hlo::{Computation, ElementType};

use crate::plan::distributed;
use crate::updates::{StartIndex, Update, UpdateFusion};

/// Builds the kernel for a plan that [`crate::plan::plan`] computed.
pub fn emit(task: &Task<UpdateFusion>, plan: &Plan) -> Result<Kernel, EmitError> {
    let (work, computation) = (task.problem, task.fusion.computation());
    let dealing = distributed(task, &plan.configuration)?;
    let mut kernel = KernelBuilder::new(task.fusion);
    let point = [kernel.thread(), kernel.block()];
    let mut outputs = kernel.outputs().to_vec();
    let (of_updates, of_others) = dealing.shares.split_at(work.updates.len());
    for (update, share) in work.updates.iter().zip(of_updates).filter(|(update, _)| update.element_count() > 0) {
        let values = kernel.values(&[update.slice]);
        let replaced = update.replaced(computation, &task.fusion.roots);
        let replaced = replaced.map(|output| (output, kernel.parameters()[update.parameter as usize]));
        let starts = StartFunctions::declare(&mut kernel, computation, update);
        let unroll: Vec<usize> = share.lane.into_iter().collect();
        outputs = kernel.indexed_loop(&share.map, &point, &outputs, &unroll, |b, _, index, outputs| {
            let computed = match replaced {
                Some((output, parameter)) => b.call_subgraph(&values.given(outputs[output], parameter), index, &[]),
                None => b.call_subgraph(&values, index, &[]),
            };
            let starts = starts.write(b);
            let place: Vec<Value> = index.iter().zip(starts).map(|(&i, start)| b.addi(i, start)).collect();
            let mut outputs = outputs.to_vec();
            for (output, to_root) in &update.outputs {
                let place = b.apply_indexing(to_root, &place);
                outputs[*output] = b.insert(computed[0], outputs[*output], &place);
            }
            outputs
        });
    }
    for (other, share) in work.others.iter().zip(of_others) {
        let values = kernel.values(&[other.root]);
        let unroll: Vec<usize> = share.lane.into_iter().collect();
        outputs = kernel.indexed_loop(&share.map, &point, &outputs, &unroll, |b, _, index, outputs| {
            let computed = b.call_subgraph(&values, index, &[]);
            let mut outputs = outputs.to_vec();
            for (&output, &value) in other.outputs.iter().zip(&computed) {
                outputs[output] = b.insert(value, outputs[output], index);
            }
            outputs
        });
    }
    kernel.finish(&outputs)
}

/// The functions that compute the start indices of an update. The kernel calls the functions for
/// the start indices inside the loop that writes the update. If the loop replaces a single element,
/// the functions for the start indices may read this element.
struct StartFunctions<'a> {
    starts: Vec<(&'a StartIndex, Option<(Subgraph, ElementType)>)>,
}

impl<'a> StartFunctions<'a> {
    fn declare(kernel: &mut KernelBuilder, computation: &Computation, update: &'a Update) -> Self {
        let mut declare = |start: &'a StartIndex| {
            let StartIndex::Value { instruction, .. } = start else { return (start, None) };
            let array = computation.instruction(*instruction).shape.as_array();
            (start, array.map(|array| (kernel.values(&[*instruction]), array.element_type)))
        };
        StartFunctions { starts: update.starts.iter().map(&mut declare).collect() }
    }

    /// Computes one start index per dimension, clamped so that the update fits in the array.
    fn write(&self, b: &mut FunctionBuilder) -> Vec<Value> {
        let mut values = Vec::with_capacity(self.starts.len());
        for start in &self.starts {
            values.push(match start {
                (StartIndex::Value { at, limit, .. }, Some((values, element_type))) => {
                    let at: Vec<Value> = at.iter().map(|&at| b.index(at)).collect();
                    let computed = b.call_subgraph(values, &at, &[]);
                    b.clamped_index(computed[0], *element_type, *limit)
                }
                (StartIndex::Fixed(start), _) => b.index(*start),
                (StartIndex::Value { .. }, None) => b.index(0),
            });
        }
        values
    }
}
