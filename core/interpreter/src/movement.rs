//! Operations that move elements without changing them.

use fusebox_core::hlo::{ArrayShape, ElementType, Layout, PaddingDim, SliceDim};

use crate::error::{Outcome, ensure, malformed};
use crate::number;
use crate::strided::{self, permuted, strides};
use crate::value::{Array, Data, Scalar, both_kinds, each_kind, element_count};

/// Converts dimension numbers to indices and checks that each is below `rank`.
pub(crate) fn dimension_numbers(numbers: &[i64], rank: usize) -> Outcome<Vec<usize>> {
    numbers.iter().map(|&d| dimension_number(d, rank)).collect()
}

/// Converts a dimension number to an index and checks that it is below `rank`.
pub(crate) fn dimension_number(number: i64, rank: usize) -> Outcome<usize> {
    match usize::try_from(number) {
        Ok(d) if d < rank => Ok(d),
        _ => malformed(format!("dimension {number} of an array of rank {rank}")),
    }
}

/// Copies a strided view of an array to a dense array.
pub(crate) fn view(x: &Array, offset: isize, dims: Vec<usize>, strides: &[isize]) -> Outcome<Array> {
    element_count(&dims)?;
    let data = each_kind!(&x.data, v => strided::read(v, offset, &dims, strides));
    Ok(Array::new(x.ty, dims, data))
}

/// Evaluates `iota`: `0, 1, 2, …` along one dimension.
pub(crate) fn iota(ty: ElementType, dims: Vec<usize>, dimension: i64) -> Outcome<Array> {
    let dimension = dimension_number(dimension, dims.len())?;
    let mut steps = vec![0isize; dims.len()];
    steps[dimension] = 1;
    element_count(&dims)?;
    let mut line = Data::with_capacity(ty, dims[dimension]);
    for i in 0..dims[dimension] {
        line.push(number::convert(ElementType::S64, ty, Scalar::Int(i as i64)))?;
    }
    let line = Array::new(ty, vec![dims[dimension]], line);
    view(&line, 0, dims, &steps)
}

/// Maps operand dimension `i` to result dimension `dimensions[i]` and repeats the operand along the
/// other result dimensions.
pub(crate) fn broadcast(x: &Array, dimensions: &[i64], dims: Vec<usize>) -> Outcome<Array> {
    let targets = dimension_numbers(dimensions, dims.len())?;
    ensure!(targets.len() == x.rank(), "broadcast needs one dimension number per operand dimension");
    let mut steps = vec![0isize; dims.len()];
    for ((&target, &size), &stride) in targets.iter().zip(&x.dims).zip(&strides(&x.dims)) {
        ensure!(size == dims[target], "broadcast of a dimension of size {size} to size {}", dims[target]);
        steps[target] = stride;
    }
    view(x, 0, dims, &steps)
}

/// Returns the same elements as an array with other dimensions.
pub(crate) fn reshape(mut x: Array, dims: Vec<usize>) -> Outcome<Array> {
    ensure!(element_count(&dims)? == x.len(), "reshape of {} elements to {dims:?}", x.len());
    x.dims = dims;
    Ok(x)
}

/// Reinterprets the memory of the operand, stored in the operand's layout, as an array with the
/// result's type, dimensions and layout.
pub(crate) fn bitcast(x: Array, operand: &ArrayShape, result: &ArrayShape, dims: Vec<usize>) -> Outcome<Array> {
    let order = major_to_minor(operand.layout.as_ref(), x.rank())?;
    let memory = transpose_by(&x, &order)?;
    let data = number::bitcast(x.ty, result.element_type, &memory.data)?;
    let order = major_to_minor(result.layout.as_ref(), dims.len())?;
    let physical = permuted(&dims, &order);
    ensure!(element_count(&physical)? == data.len(), "bitcast of {} elements to {dims:?}", data.len());
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &d)| inverse[d] = at);
    transpose_by(&Array::new(result.element_type, physical, data), &inverse)
}

fn major_to_minor(layout: Option<&Layout>, rank: usize) -> Outcome<Vec<usize>> {
    let order: Vec<usize> = match layout {
        Some(layout) => layout.minor_to_major.iter().rev().copied().collect(),
        None => (0..rank).collect(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    ensure!(sorted.into_iter().eq(0..rank), "a layout is no permutation of the dimensions");
    Ok(order)
}

/// Transposes an array: result dimension `i` is operand dimension `permutation[i]`.
pub(crate) fn transpose(x: &Array, permutation: &[i64]) -> Outcome<Array> {
    transpose_by(x, &dimension_numbers(permutation, x.rank())?)
}

/// Transposes an array: result dimension `i` is operand dimension `order[i]`.
pub(crate) fn transpose_by(x: &Array, order: &[usize]) -> Outcome<Array> {
    ensure!(order.len() == x.rank(), "a transpose needs one dimension number per dimension");
    view(x, 0, permuted(&x.dims, order), &permuted(&strides(&x.dims), order))
}

/// Reverses the elements along some dimensions.
pub(crate) fn reverse(x: &Array, dimensions: &[i64]) -> Outcome<Array> {
    let mut steps = strides(&x.dims);
    let mut offset = 0;
    for d in dimension_numbers(dimensions, x.rank())? {
        offset += (x.dims[d] as isize - 1).max(0) * steps[d];
        steps[d] = -steps[d];
    }
    view(x, offset, x.dims.clone(), &steps)
}

/// Concatenates arrays along a dimension.
pub(crate) fn concatenate(parts: &[&Array], dimension: i64, ty: ElementType, dims: Vec<usize>) -> Outcome<Array> {
    let dimension = dimension_number(dimension, dims.len())?;
    let mut result = Array::zeros(ty, dims)?;
    let steps = strides(&result.dims);
    let mut at = 0;
    for part in parts {
        let fits = part.rank() == result.rank() && at + part.dims[dimension] <= result.dims[dimension];
        ensure!(fits, "the operands of concatenate do not fit the result");
        write(&mut result, at as isize * steps[dimension], &steps, part)?;
        at += part.dims[dimension];
    }
    Ok(result)
}

fn write(target: &mut Array, offset: isize, steps: &[isize], source: &Array) -> Outcome<()> {
    both_kinds!(&mut target.data, &source.data, t, s => strided::write(t, offset, &source.dims, steps, s),
        else return malformed("an operand has another element type than the result"));
    Ok(())
}

/// Selects, in each dimension, every `stride`-th index from `start` to below `limit`.
pub(crate) fn slice(x: &Array, slices: &[SliceDim]) -> Outcome<Array> {
    ensure!(slices.len() == x.rank(), "slice needs one range per dimension");
    let (mut steps, mut offset) = (strides(&x.dims), 0);
    let mut dims = Vec::with_capacity(x.rank());
    for (d, s) in slices.iter().enumerate() {
        let fits = 0 <= s.start && s.stride >= 1 && s.start <= s.limit && s.limit <= x.dims[d] as i64;
        ensure!(fits, "slice [{}:{}:{}] of {} elements", s.start, s.limit, s.stride, x.dims[d]);
        offset += s.start as isize * steps[d];
        steps[d] *= s.stride as isize;
        dims.push((s.limit - s.start + s.stride - 1) as usize / s.stride as usize);
    }
    view(x, offset, dims, &steps)
}

/// Inserts copies of a value around an array and between its elements. Negative amounts of padding
/// crop the array.
pub(crate) fn pad(x: &Array, value: &Array, padding: &[PaddingDim], dims: Vec<usize>) -> Outcome<Array> {
    ensure!(padding.len() == x.rank() && dims.len() == x.rank(), "pad needs one amount per dimension");
    let mut result = Array::filled(x.ty, dims, value.single()?)?;
    // Number of contiguous operand elements that land inside the result, per dimension.
    let (mut kept, mut source_offset, mut target_offset) = (Vec::new(), 0, 0);
    let (source_steps, mut target_steps) = (strides(&x.dims), strides(&result.dims));
    for (d, p) in padding.iter().enumerate() {
        let step = p.interior.saturating_add(1).max(1);
        let lands = |i: &i64| (0..result.dims[d] as i64).contains(&p.low.saturating_add(i.saturating_mul(step)));
        let first = (0..x.dims[d] as i64).find(lands).unwrap_or(0);
        let number = (first..x.dims[d] as i64).take_while(lands).count();
        kept.push(number);
        if number > 0 {
            source_offset += first as isize * source_steps[d];
            target_offset += (p.low + first * step) as isize * target_steps[d];
            target_steps[d] = target_steps[d].saturating_mul(step as isize);
        }
    }
    if !kept.contains(&0) {
        let inside = view(x, source_offset, kept, &source_steps)?;
        write(&mut result, target_offset, &target_steps, &inside)?;
    }
    Ok(result)
}

/// Clamps the start indices of a slice so that the whole slice is in bounds.
pub(crate) fn clamped_starts(starts: &[&Array], dims: &[usize], sizes: &[usize]) -> Outcome<Vec<usize>> {
    ensure!(starts.len() == dims.len() && sizes.len() == dims.len(), "one start per dimension is wanted");
    let mut result = Vec::with_capacity(dims.len());
    for ((start, &dim), &size) in starts.iter().zip(dims).zip(sizes) {
        let Some(last) = dim.checked_sub(size) else {
            return malformed(format!("a slice of {size} of {dim} elements"));
        };
        result.push(clamp_index(start.ty, start.single_int()?, last));
    }
    Ok(result)
}

/// Clamps an index of type `ty` to `0..=last`.
pub(crate) fn clamp_index(ty: ElementType, index: i64, last: usize) -> usize {
    if ty == ElementType::U64 { (index as u64).min(last as u64) as usize } else { index.clamp(0, last as i64) as usize }
}

/// Reads a slice whose start is computed at run time.
pub(crate) fn dynamic_slice(x: &Array, starts: &[&Array], sizes: &[usize]) -> Outcome<Array> {
    let starts = clamped_starts(starts, &x.dims, sizes)?;
    let steps = strides(&x.dims);
    view(x, strided::position(&starts, &steps) as isize, sizes.to_vec(), &steps)
}

/// Overwrites a slice whose start is computed at run time.
pub(crate) fn dynamic_update_slice(mut x: Array, update: &Array, starts: &[&Array]) -> Outcome<Array> {
    let starts = clamped_starts(starts, &x.dims, &update.dims)?;
    let steps = strides(&x.dims);
    write(&mut x, strided::position(&starts, &steps) as isize, &steps, update)?;
    Ok(x)
}
