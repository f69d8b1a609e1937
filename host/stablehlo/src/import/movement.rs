//! Operations that move elements.

use fusebox_core::hlo::{GatherDims, InstrId, Op, PaddingDim, Shape, SliceDim};

use super::Imported;
use super::call::Call;
use crate::program::Operation;

/// Adds an operation that moves elements.
pub(super) fn movement(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let op = match &*operation.name {
        "broadcast" => {
            let added = operation.integers("broadcast_sizes")?.len() as i64;
            let rank = call.rank(0) as i64;
            Op::Broadcast { dimensions: (added..added + rank).collect() }
        }
        "broadcast_in_dim" => return broadcast(call),
        "concatenate" => Op::Concatenate { dimension: operation.integer("dimension")? },
        "dynamic_slice" => Op::DynamicSlice { sizes: operation.integers("slice_sizes")? },
        "dynamic_update_slice" => Op::DynamicUpdateSlice,
        "gather" => Op::Gather(gather_dims(operation, operation.integers("slice_sizes")?)?),
        "get_dimension_size" => Op::GetDimensionSize { dimension: operation.integer("dimension")? },
        "iota" => Op::Iota { dimension: operation.integer("iota_dimension")? },
        "pad" => Op::Pad { dims: padding(call)? },
        "reshape" => Op::Reshape,
        "reverse" => Op::Reverse { dimensions: operation.integers("dimensions")? },
        "slice" => Op::Slice { dims: slice_dims(operation)? },
        "transpose" => Op::Transpose { permutation: operation.integers("permutation")? },
        _ => return call.unsupported("the operation is not supported"),
    };
    call.push(op)
}

/// Adds a broadcast. If the result repeats a dimension of size 1, a reshape first removes this
/// dimension, because a broadcast of HLO only adds dimensions.
fn broadcast(call: &mut Call) -> Imported<InstrId> {
    let to = call.result_dims()?;
    broadcast_to(call, &to)
}

/// Adds a broadcast to an array of the sizes `to`.
pub(super) fn broadcast_to(call: &mut Call, to: &[i64]) -> Imported<InstrId> {
    let [operand] = call.exactly()?;
    let from = call.edit.dims(operand);
    let dimensions = call.operation.integers("broadcast_dimensions")?;
    let is_kept = |&(&size, &at): &(&i64, &i64)| {
        let result = usize::try_from(at).ok().and_then(|at| to.get(at));
        result.is_none_or(|&result| result == size)
    };
    let kept: Vec<(i64, i64)> = from.iter().zip(&dimensions).filter(is_kept).map(|(&size, &at)| (size, at)).collect();
    let (sizes, dimensions): (Vec<i64>, Vec<i64>) = kept.into_iter().unzip();
    let operand = if sizes.len() < from.len() { call.edit.reshape(operand, &sizes) } else { operand };
    let Some(array) = call.edit.array(operand) else { return call.unsupported("the operand must be an array") };
    let shape = Shape::array(array.element_type, to);
    Ok(call.edit.add_shaped(Op::Broadcast { dimensions }, shape, [operand]))
}

fn padding(call: &Call) -> Imported<Vec<PaddingDim>> {
    let operation = call.operation;
    let of = |name| operation.per_dimension(name, call.rank(0), 0);
    let (low, high, interior) = (of("edge_padding_low")?, of("edge_padding_high")?, of("interior_padding")?);
    let each = low.into_iter().zip(high).zip(interior);
    Ok(each.map(|((low, high), interior)| PaddingDim { low, high, interior }).collect())
}

fn slice_dims(operation: &Operation) -> Imported<Vec<SliceDim>> {
    let starts = operation.integers("start_indices")?;
    let limits = operation.per_dimension("limit_indices", starts.len(), 0)?;
    let strides = operation.per_dimension("strides", starts.len(), 1)?;
    let each = starts.into_iter().zip(limits).zip(strides);
    Ok(each.map(|((start, limit), stride)| SliceDim { start, limit, stride }).collect())
}

/// Returns the dimension numbers of a gather whose slices have the sizes `slice_sizes`.
pub(super) fn gather_dims(operation: &Operation, slice_sizes: Vec<i64>) -> Imported<GatherDims> {
    Ok(GatherDims {
        offset_dims: operation.integers("offset_dims")?,
        collapsed_slice_dims: operation.integers("collapsed_slice_dims")?,
        start_index_map: operation.integers("start_index_map")?,
        operand_batching_dims: operation.integers("operand_batching_dims")?,
        start_indices_batching_dims: operation.integers("start_indices_batching_dims")?,
        index_vector_dim: operation.integer_or_zero("index_vector_dim")?,
        slice_sizes,
        indices_are_sorted: operation.flag("indices_are_sorted")?,
    })
}
