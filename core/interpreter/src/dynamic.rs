//! Arrays of dynamic size. The interpreter stores only the elements within the actual size of an
//! array.

use fusebox_core::hlo::{ArrayShape, GatherDims, Instruction, Module, Op, Shape, SliceDim, infer_shape};

use crate::error::{Fault, Outcome, ensure, malformed, unsupported};
use crate::movement::{dimension_number, slice};
use crate::operands::Operands;
use crate::value::{Array, Value, dims_of};

/// Returns the actual sizes of a result whose declared sizes are bounds. The actual sizes of the
/// operands determine the actual sizes of the result.
pub(crate) fn actual_dims(
    module: &Module,
    instruction: &Instruction,
    declared: &ArrayShape,
    operands: &Operands,
) -> Outcome<Vec<usize>> {
    let dims = dims_of(declared)?;
    if !declared.has_dynamic_size() {
        return Ok(dims);
    }
    match &instruction.op {
        Op::Broadcast { dimensions } => broadcast(dims, dimensions, operands.array(0)?),
        // A slice of a whole dimension has the dimension's actual size.
        Op::DynamicSlice { .. } => Ok((0..dims.len())
            .map(|d| if declared.is_dynamic(d) { operands.array(0).map(|x| x.dims[d]) } else { Ok(dims[d]) })
            .collect::<Outcome<Vec<usize>>>()?),
        Op::Reshape => reshape(dims, declared, operands.array(0)?),
        Op::Gather(numbers) => gather(dims, declared, numbers, operands.array(0)?, operands.array(1)?),
        Op::Iota { .. } | Op::Constant(_) | Op::Rng { .. } | Op::SetDimensionSize { .. } => Ok(dims),
        op => {
            let shapes: Vec<Shape> = operands.0.iter().map(Value::shape).collect();
            let shapes: Vec<&Shape> = shapes.iter().collect();
            let inferred = infer_shape(module, op, &shapes, Some(&instruction.shape)).map_err(Fault::Malformed)?;
            inferred.as_array().map_or_else(|| malformed("the result must be an array"), dims_of)
        }
    }
}

fn broadcast(mut dims: Vec<usize>, dimensions: &[i64], x: &Array) -> Outcome<Vec<usize>> {
    for (&to, &size) in dimensions.iter().zip(&x.dims) {
        let to = dimension_number(to, dims.len())?;
        dims[to] = size;
    }
    Ok(dims)
}

/// Returns the actual sizes of a gather. A slice of a whole dimension has the dimension's actual
/// size. The number of slices equals the number of index vectors.
fn gather(
    mut dims: Vec<usize>,
    declared: &ArrayShape,
    numbers: &GatherDims,
    x: &Array,
    indices: &Array,
) -> Outcome<Vec<usize>> {
    let dropped = |d: &i64| numbers.collapsed_slice_dims.contains(d) || numbers.operand_batching_dims.contains(d);
    let mut kept = (0..x.rank()).filter(|&d| !dropped(&(d as i64)));
    let mut batch = (0..indices.rank()).filter(|&d| d as i64 != numbers.index_vector_dim);
    for (d, size) in dims.iter_mut().enumerate() {
        let from = if numbers.offset_dims.contains(&(d as i64)) {
            kept.next().and_then(|from| x.dims.get(from))
        } else {
            batch.next().and_then(|from| indices.dims.get(from))
        };
        if let Some(&actual) = from.filter(|_| declared.is_dynamic(d)) {
            *size = actual;
        }
    }
    Ok(dims)
}

/// Returns the actual sizes of a reshape. The size of the single dynamic dimension is the number of
/// elements divided by all other sizes.
fn reshape(mut dims: Vec<usize>, declared: &ArrayShape, x: &Array) -> Outcome<Vec<usize>> {
    if declared.rank() == x.rank() && declared.dims.iter().zip(&x.dims).all(|(&bound, &size)| size as i64 <= bound) {
        return Ok(x.dims.clone());
    }
    let dynamic: Vec<usize> = (0..declared.rank()).filter(|&d| declared.is_dynamic(d)).collect();
    let [only] = dynamic[..] else {
        return unsupported("a reshape to several dynamic dimensions");
    };
    let others: usize = (0..dims.len()).filter(|&d| d != only).map(|d| dims[d]).product();
    ensure!(others > 0 && x.len().is_multiple_of(others), "a reshape of {} elements to {declared}", x.len());
    dims[only] = x.len() / others;
    Ok(dims)
}

/// Truncates the static operands of an elementwise operation to the actual sizes of its dynamic
/// operands.
pub(crate) fn cut_alike(operands: &mut Operands) -> Outcome<()> {
    let arrays = operands.0.iter().map(Value::array).collect::<Outcome<Vec<&Array>>>()?;
    let rank = arrays.iter().map(|array| array.rank()).max().unwrap_or(0);
    let sizes = |d: usize| arrays.iter().filter(|array| array.rank() == rank).map(move |array| array.dims[d]).min();
    let least: Vec<usize> = (0..rank).map(|d| sizes(d).unwrap_or(0)).collect();
    for value in &mut operands.0 {
        let array = value.array()?;
        if array.rank() == rank && array.dims != least {
            *value = first(array, &least)?.into();
        }
    }
    Ok(())
}

fn first(x: &Array, dims: &[usize]) -> Outcome<Array> {
    let dims: Vec<SliceDim> = dims.iter().map(|&size| SliceDim { start: 0, limit: size as i64, stride: 1 }).collect();
    slice(x, &dims)
}

/// Truncates a dimension to a size, which is clamped between zero and the bound. Elements beyond
/// the actual size do not exist, so an array cannot grow.
pub(crate) fn set_dimension_size(operands: Operands, dimension: i64, declared: &ArrayShape) -> Outcome<Array> {
    let (x, size) = (operands.array(0)?, operands.array(1)?.single_int()?);
    let d = dimension_number(dimension, x.rank())?;
    let mut dims = x.dims.clone();
    let size = size.clamp(0, declared.dims[d]) as usize;
    if size > dims[d] {
        return unsupported(format!(
            "dimension {d} of size {} set to {size}: elements beyond the old size are undefined",
            dims[d]
        ));
    }
    dims[d] = size;
    first(x, &dims)
}
