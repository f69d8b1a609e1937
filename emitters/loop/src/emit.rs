//! The entry function.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Subgraph, Type, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{EmitError, Fusion, Kernel, Plan};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

use crate::plan::Schedule;
use crate::roots::{Group, groups};
use crate::slabs::{Share, Slabs, Tiling};
use crate::threads::Threads;

/// A group with the function that computes its values.
struct Body<'a> {
    group: &'a Group,
    values: Subgraph,
}

impl Body<'_> {
    /// Computes the values at an index and writes them; gives all outputs as they are then.
    fn write(&self, b: &mut FunctionBuilder, index: &[Value], outputs: &[Value]) -> Vec<Value> {
        let values = b.call_subgraph(&self.values, index, &[]);
        let mut outputs = outputs.to_vec();
        for &(output, result) in &self.group.outputs {
            outputs[output] = b.insert(values[result], outputs[output], index);
        }
        outputs
    }
}

/// Writes the kernel of a plan that [`crate::plan::plan`] made.
pub fn emit(fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
    let groups = groups(fusion);
    let schedule = Schedule::new(fusion, &groups, device, &plan.configuration)?;
    let mut kernel = KernelBuilder::new(fusion);
    let bodies: Vec<Body> =
        groups.iter().map(|group| Body { group, values: kernel.values(&group.instructions) }).collect();
    let outputs = kernel.outputs().to_vec();
    let written = match &schedule {
        Schedule::Threads(threads) => emit_threads(&mut kernel, threads, &bodies, outputs),
        Schedule::Slabs(slabs) => emit_slabs(&mut kernel, slabs, &bodies, outputs),
    };
    kernel.finish(&written)
}

/// One loop for all groups of equally many points: what they share is then computed once.
fn emit_threads(kernel: &mut KernelBuilder, threads: &Threads, bodies: &[Body], mut outputs: Vec<Value>) -> Vec<Value> {
    let point = [kernel.thread(), kernel.block()];
    let unroll: Vec<usize> = threads.lane_variable().into_iter().collect();
    let mut counts: Vec<i64> = bodies.iter().map(|body| body.group.element_count()).collect();
    counts.sort_unstable();
    counts.dedup();
    for count in counts {
        let together: Vec<&Body> = bodies.iter().filter(|body| body.group.element_count() == count).collect();
        let map = threads.map(&together.iter().map(|body| body.group).collect::<Vec<_>>());
        outputs = kernel.indexed_loop(&map, &point, &outputs, &unroll, |b, _, indices, outputs| {
            let mut indices = indices;
            let mut outputs = outputs.to_vec();
            for body in together {
                let (index, rest) = indices.split_at(body.group.dims.len());
                outputs = body.write(b, index, &outputs);
                indices = rest;
            }
            outputs
        });
    }
    outputs
}

/// A nest of two loops for each group: rows, points of a row. The bounds carry the constraints of the map, so
/// that the inner loop has no condition in it.
fn emit_slabs(kernel: &mut KernelBuilder, slabs: &Slabs, bodies: &[Body], mut outputs: Vec<Value>) -> Vec<Value> {
    for (body, tiling) in bodies.iter().zip(slabs.tilings()) {
        let block = kernel.block();
        outputs = match tiling.share {
            Share::Rows(share) => emit_rows(kernel, block, body, tiling, share, &outputs),
            Share::Part { length, parts } => emit_part(kernel, block, body, tiling, (length, parts), &outputs),
        };
    }
    outputs
}

/// `for row in block * share .. min(that + share, rows) { for point in 0 .. row length { … } }`
fn emit_rows(
    b: &mut FunctionBuilder,
    block: Value,
    body: &Body,
    tiling: &Tiling,
    share: i64,
    outputs: &[Value],
) -> Vec<Value> {
    let (zero, one, share) = (b.index(0), b.index(1), b.index(share));
    let (rows, row_length) = (b.index(tiling.rows), b.index(tiling.row));
    let first = b.muli(block, share);
    let end = b.addi(first, share);
    let end = b.minsi(end, rows);
    b.scf_for(first, end, one, outputs, |b, row, outputs| emit_row(b, body, tiling, row, (zero, row_length), outputs))
}

/// `row = block / parts; for point in (block mod parts) * length .. min(that + length, row length) { … }`
fn emit_part(
    b: &mut FunctionBuilder,
    block: Value,
    body: &Body,
    tiling: &Tiling,
    (length, parts): (i64, i64),
    outputs: &[Value],
) -> Vec<Value> {
    let (parts, length) = (b.index(parts), b.index(length));
    let (rows, row_length) = (b.index(tiling.rows), b.index(tiling.row));
    let row = b.divui(block, parts);
    let part = b.remui(block, parts);
    let first = b.muli(part, length);
    let end = b.addi(first, length);
    let end = b.minsi(end, row_length);
    let within = b.cmpi(IntPredicate::Slt, row, rows);
    let types: Vec<Type> = b.types_of(outputs);
    b.scf_if(within, &types, |b| emit_row(b, body, tiling, row, (first, end), outputs), |_| outputs.to_vec())
}

/// The points `range` of a row. The row's index is computed once.
fn emit_row(
    b: &mut FunctionBuilder,
    body: &Body,
    tiling: &Tiling,
    row: Value,
    (first, end): (Value, Value),
    outputs: &[Value],
) -> Vec<Value> {
    let one = b.index(1);
    let dims = &body.group.dims;
    let index = tiling.index(&Expr::dim(0), &Expr::dim(1), dims);
    let depends_on_point = tiling.is_single_row(dims);
    let row_dims = if depends_on_point { 0 } else { dims.len().saturating_sub(1) };
    let row_map = map_of(&[tiling.rows], index[..row_dims].to_vec());
    let row_index = b.apply_indexing(&row_map, &[row]);
    b.scf_for(first, end, one, outputs, |b, point, outputs| {
        let index = match depends_on_point {
            true => {
                let index = tiling.index(&Expr::constant(0), &Expr::dim(0), dims);
                b.apply_indexing(&map_of(&[tiling.row], index), &[point])
            }
            false => [row_index.as_slice(), &[point][..dims.len().min(1)]].concat(),
        };
        body.write(b, &index, outputs)
    })
}

/// A map from variables of these sizes.
fn map_of(sizes: &[i64], results: Vec<Expr>) -> IndexingMap {
    let dims = sizes.iter().map(|&size| Variable::from_size(size)).collect();
    IndexingMap { dims, results, ..IndexingMap::default() }
}
