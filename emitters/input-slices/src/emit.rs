//! Emission of the kernel's entry function.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Value};
use fusebox_core::emitter::{EmitError, Kernel, Plan, Task};
use fusebox_core::indexing::{Constraint, IndexingMap};

use crate::plan::distributed;
use crate::slices::Slices;
use crate::visits::VisitSlice;

/// Builds the kernel for a plan that [`crate::plan::plan`] computed.
pub fn emit(task: &Task<Slices>, plan: &Plan) -> Result<Kernel, EmitError> {
    let (visits, dealing) = distributed(task, &plan.configuration)?;
    let mut kernel = KernelBuilder::new(task.fusion);
    let point = [kernel.thread(), kernel.block()];
    let mut outputs = kernel.outputs().to_vec();
    for (visit, share) in visits.iter().zip(&dealing.shares) {
        let values = kernel.values(&visit.arrays);
        let unroll: Vec<usize> = share.lane.into_iter().collect();
        outputs = kernel.indexed_loop(&share.map, &point, &outputs, &unroll, |b, _, point, outputs| {
            let index = b.apply_indexing(&visit.index, point);
            let computed = b.call_subgraph(&values, &index, &[]);
            let mut outputs = outputs.to_vec();
            for member in &visit.members {
                write(b, member, &computed, point, &mut outputs);
            }
            outputs
        });
    }
    kernel.finish(&outputs)
}

/// Writes the values of a point to a slice, if the slice contains the point.
fn write(b: &mut FunctionBuilder, member: &VisitSlice, computed: &[Value], point: &[Value], outputs: &mut [Value]) {
    let condition = holds(b, &member.from_point, point);
    let index = b.apply_indexing(&member.from_point, point);
    for (output, leaf, to_root) in &member.slice.outputs {
        let (value, index) = (computed[member.value + leaf], b.apply_indexing(to_root, &index));
        outputs[*output] = match condition {
            Some(condition) => b.predicated_insert(condition, value, outputs[*output], &index),
            None => b.insert(value, outputs[*output], &index),
        };
    }
}

/// Returns the condition that a point meets the constraints of a map, or `None` if the map has no
/// constraints.
fn holds(b: &mut FunctionBuilder, map: &IndexingMap, point: &[Value]) -> Option<Value> {
    let mut all = None;
    for Constraint { expr, bounds } in &map.constraints {
        let map = IndexingMap { dims: map.dims.clone(), results: vec![expr.clone()], ..IndexingMap::default() };
        let value = b.apply_indexing(&map, point)[0];
        for (predicate, bound) in [(IntPredicate::Sge, bounds.lower), (IntPredicate::Sle, bounds.upper)] {
            let bound = b.index(bound);
            let test = b.cmpi(predicate, value, bound);
            all = Some(match all {
                None => test,
                Some(others) => b.andi(others, test),
            });
        }
    }
    all
}
