//! Simplifies slices of concatenations, broadcasts and the like, and slices that start at
//! constants.

use fusebox_core::hlo::{ArrayLiteral, InstrId, Instruction, Op, Shape, SliceDim};

use super::uniform;
use crate::rebuild::Rebuild;

pub fn simpler(rebuild: &mut Rebuild, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::Slice { dims } => {
            let operand = rebuild.mapped(instruction.operands[0]);
            slice(rebuild, instruction, operand, dims.clone())
        }
        Op::DynamicSlice { sizes } => {
            let operands = rebuild.operands(instruction);
            let (&source, starts) = operands.split_first()?;
            at_constants(rebuild, instruction, source, starts, sizes)
        }
        Op::DynamicUpdateSlice => {
            let update = rebuild.mapped(instruction.operands[1]);
            (rebuild.instruction(update).shape == instruction.shape).then_some(update)
        }
        _ => None,
    }
}

/// Returns a simpler form of the slice of `operand`, if there is one.
fn slice(rebuild: &mut Rebuild, origin: &Instruction, operand: InstrId, dims: Vec<SliceDim>) -> Option<InstrId> {
    let (source, dims) = behind(rebuild, operand, dims)?;
    match dims {
        Some(dims) => Some(part(rebuild, origin, source, dims)),
        None => {
            let Op::Broadcast { dimensions } = &rebuild.instruction(operand).op else { return None };
            let op = Op::Broadcast { dimensions: dimensions.clone() };
            Some(rebuild.add(origin, op, origin.shape.clone(), vec![source]))
        }
    }
}

/// Returns a part of an array: the array itself, or a slice as simple as possible.
pub fn part(rebuild: &mut Rebuild, origin: &Instruction, source: InstrId, dims: Vec<SliceDim>) -> InstrId {
    if let Some(simpler) = slice(rebuild, origin, source, dims.clone()) {
        return simpler;
    }
    if rebuild.instruction(source).shape == origin.shape {
        source
    } else {
        rebuild.add(origin, Op::Slice { dims }, origin.shape.clone(), vec![source])
    }
}

/// Returns the array from which the elements of a slice come, and the part of the array that holds
/// them. If the slice only drops copies of a broadcast, returns the broadcast's operand and no
/// part.
fn behind(rebuild: &Rebuild, operand: InstrId, dims: Vec<SliceDim>) -> Option<(InstrId, Option<Vec<SliceDim>>)> {
    let instruction = rebuild.instruction(operand);
    let first = *instruction.operands.first()?;
    match &instruction.op {
        Op::Slice { dims: inner } => {
            let both = inner.iter().zip(&dims).map(|(inner, outer)| SliceDim {
                start: inner.start + outer.start * inner.stride,
                limit: inner.start + (outer.limit - 1) * inner.stride + 1,
                stride: inner.stride * outer.stride,
            });
            Some((first, Some(both.collect())))
        }
        Op::Concatenate { dimension } => of_one(rebuild, &instruction.operands, *dimension as usize, dims),
        Op::Broadcast { dimensions } => {
            let sizes = &rebuild.instruction(first).shape.as_array()?.dims;
            let is_whole = |(&d, &size): (&i64, &i64)| length(&dims[d as usize]) == size;
            dimensions.iter().zip(sizes).all(is_whole).then_some((first, None))
        }
        Op::Pad { dims: padding } => {
            let sizes = &rebuild.instruction(first).shape.as_array()?.dims;
            let moved = dims.iter().zip(padding).zip(sizes).map(|((dim, padding), &size)| {
                let (start, limit) = (dim.start - padding.low, dim.limit - padding.low);
                let is_inside = padding.interior == 0 && start >= 0 && limit <= size;
                is_inside.then_some(SliceDim { start, limit, ..*dim })
            });
            Some((first, Some(moved.collect::<Option<_>>()?)))
        }
        _ => None,
    }
}

/// Returns the number of elements of a slice in one dimension.
pub fn length(dim: &SliceDim) -> i64 {
    (dim.limit - dim.start + dim.stride - 1) / dim.stride
}

/// Finds the operand of a concatenation that contains the whole slice.
fn of_one(
    rebuild: &Rebuild,
    operands: &[InstrId],
    dimension: usize,
    mut dims: Vec<SliceDim>,
) -> Option<(InstrId, Option<Vec<SliceDim>>)> {
    let mut begin = 0;
    for &operand in operands {
        let end = begin + rebuild.instruction(operand).shape.as_array()?.dims[dimension];
        let dim = &mut dims[dimension];
        if begin <= dim.start && dim.limit <= end {
            (dim.start, dim.limit) = (dim.start - begin, dim.limit - begin);
            return Some((operand, Some(dims)));
        }
        begin = end;
    }
    None
}

/// Returns the window of an array with these sizes and starts. The starts are clamped so that the
/// window fits. Returns the array itself if the window covers all of it.
pub fn window(
    rebuild: &mut Rebuild,
    origin: &Instruction,
    source: InstrId,
    starts: &[InstrId],
    sizes: &[i64],
) -> InstrId {
    let element_type = rebuild.instruction(source).shape.as_array().map(|array| array.element_type);
    let shape = element_type.map_or_else(|| origin.shape.clone(), |ty| Shape::array(ty, sizes.to_vec()));
    let origin = Instruction { shape, ..origin.clone() };
    at_constants(rebuild, &origin, source, starts, sizes).unwrap_or_else(|| {
        let operands = [source].iter().chain(starts).copied().collect();
        rebuild.add(&origin, Op::DynamicSlice { sizes: sizes.to_vec() }, origin.shape.clone(), operands)
    })
}

/// Returns one element of a one-dimensional array, as an array of shape `shape`.
pub fn part_of_line(rebuild: &mut Rebuild, origin: &Instruction, line: InstrId, shape: Shape, at: i64) -> InstrId {
    let origin = Instruction { shape, ..origin.clone() };
    part(rebuild, &origin, line, vec![SliceDim { start: at, limit: at + 1, stride: 1 }])
}

/// Returns a slice that starts at constants. The starts are clamped so that the slice fits.
fn at_constants(
    rebuild: &mut Rebuild,
    instruction: &Instruction,
    source: InstrId,
    starts: &[InstrId],
    sizes: &[i64],
) -> Option<InstrId> {
    let shape = rebuild.instruction(source).shape.as_array()?.clone();
    let starts = starts.iter().map(|&start| integer(rebuild, start)).collect::<Option<Vec<i64>>>()?;
    let dims = starts.iter().zip(sizes).zip(&shape.dims).map(|((&start, &size), &whole)| {
        let start = start.clamp(0, whole - size);
        SliceDim { start, limit: start + size, stride: 1 }
    });
    Some(part(rebuild, instruction, source, dims.collect()))
}

/// Returns the value of a constant integer.
pub fn integer(rebuild: &Rebuild, id: InstrId) -> Option<i64> {
    ArrayLiteral { dims: Vec::new(), ..uniform(rebuild, id)? }.as_integer()
}
