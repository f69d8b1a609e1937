//! Emission of the kernel's entry function.

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Subgraph, Value};
use fusebox_core::emitter::{EmitError, Kernel, Plan, Task};
use fusebox_core::indexing::IndexingMap;

use crate::plan::distributed;
use crate::roots::{LoopResults, RootGroup};

/// Builds the kernel for a plan that [`crate::plan::plan`] computed. For each nest, the kernel has
/// one loop over the points of a thread.
pub fn emit(task: &Task<LoopResults>, plan: &Plan) -> Result<Kernel, EmitError> {
    let (visits, dealing) = distributed(task, &plan.configuration)?;
    let mut kernel = KernelBuilder::new(task.fusion);
    let thread = [kernel.thread(), kernel.block()];
    let mut outputs = kernel.outputs().to_vec();
    for (visit, share) in visits.iter().zip(&dealing.shares) {
        let bodies: Vec<(&RootGroup, Subgraph)> =
            visit.members.iter().map(|member| (&member.group, kernel.values(&member.group.instructions))).collect();
        let mut map = IndexingMap { results: Vec::new(), ..share.map.clone() };
        for member in &visit.members {
            map.results.extend(share.then(&member.from_point)?.results);
        }
        let unroll: Vec<usize> = share.lane.into_iter().collect();
        let own: Vec<usize> =
            bodies.iter().flat_map(|(group, _)| group.outputs.iter().map(|&(output, _)| output)).collect();
        let state: Vec<Value> = own.iter().map(|&output| outputs[output]).collect();
        let written = kernel.indexed_loop(&map, &thread, &state, &unroll, |b, _, indices, state| {
            let (mut indices, mut written) = (indices, state.to_vec());
            let mut rest = &mut written[..];
            for (group, values) in &bodies {
                let (index, others) = indices.split_at(group.dims.len());
                let (of_group, behind) = rest.split_at_mut(group.outputs.len());
                write(b, group, values, index, of_group);
                (indices, rest) = (others, behind);
            }
            written
        });
        own.into_iter().zip(written).for_each(|(output, value)| outputs[output] = value);
    }
    kernel.finish(&outputs)
}

/// Computes the values of a group at an index and writes them to the group's outputs.
fn write(b: &mut FunctionBuilder, group: &RootGroup, values: &Subgraph, index: &[Value], outputs: &mut [Value]) {
    let values = b.call_subgraph(values, index, &[]);
    for (&(_, value), output) in group.outputs.iter().zip(outputs) {
        *output = b.insert(values[value], *output, index);
    }
}
