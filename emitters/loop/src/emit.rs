//! The entry function.

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Subgraph, Value};
use fusebox_core::emitter::{EmitError, Kernel, Plan, Task};
use fusebox_core::indexing::IndexingMap;

use crate::plan::dealt;
use crate::roots::{Group, Results};

/// Writes the kernel of a plan that [`crate::plan::plan`] made: a loop over a thread's points for each nest.
pub fn emit(task: &Task<Results>, plan: &Plan) -> Result<Kernel, EmitError> {
    let (visits, dealing) = dealt(task, &plan.configuration)?;
    let mut kernel = KernelBuilder::new(task.fusion);
    let thread = [kernel.thread(), kernel.block()];
    let mut outputs = kernel.outputs().to_vec();
    for (visit, share) in visits.iter().zip(&dealing.shares) {
        let bodies: Vec<(&Group, Subgraph)> =
            visit.members.iter().map(|member| (&member.group, kernel.values(&member.group.instructions))).collect();
        let mut map = IndexingMap { results: Vec::new(), ..share.map.clone() };
        for member in &visit.members {
            map.results.extend(share.then(&member.from_point)?.results);
        }
        let unroll: Vec<usize> = share.lane.into_iter().collect();
        outputs = kernel.indexed_loop(&map, &thread, &outputs, &unroll, |b, _, indices, outputs| {
            let (mut indices, mut outputs) = (indices, outputs.to_vec());
            for (group, values) in &bodies {
                let (index, others) = indices.split_at(group.dims.len());
                write(b, group, values, index, &mut outputs);
                indices = others;
            }
            outputs
        });
    }
    kernel.finish(&outputs)
}

/// Computes the values of a group at an index and writes them.
fn write(b: &mut FunctionBuilder, group: &Group, values: &Subgraph, index: &[Value], outputs: &mut [Value]) {
    let values = b.call_subgraph(values, index, &[]);
    for &(output, value) in &group.outputs {
        outputs[output] = b.insert(values[value], outputs[output], index);
    }
}
