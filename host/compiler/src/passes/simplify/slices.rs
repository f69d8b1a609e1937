//! Simplifies slices of concatenations, broadcasts and similar operations, and slices that start at
//! constants.

use fusebox_core::hlo::{ArrayLiteral, InstrId, Instruction, Op, SliceDim};
use fusebox_edit::{Builder, Rewrite};

use super::uniform;

pub fn simpler(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::Slice { dims } => {
            let operand = edit.mapped(instruction.operands[0]);
            slice(edit, operand, dims)
        }
        Op::DynamicSlice { sizes } => {
            let operands = edit.operands(instruction);
            let (&source, starts) = operands.split_first()?;
            at_constants(edit, source, starts, sizes)
        }
        Op::DynamicUpdateSlice => {
            let update = edit.mapped(instruction.operands[1]);
            (*edit.shape(update) == instruction.shape).then_some(update)
        }
        _ => None,
    }
}

/// Returns a simpler form of the slice of `operand`, if there is one.
fn slice(edit: &mut Builder, operand: InstrId, dims: &[SliceDim]) -> Option<InstrId> {
    match behind(edit, operand, dims)? {
        (source, Some(dims)) => Some(part(edit, source, dims)),
        (source, None) => {
            let Op::Broadcast { dimensions } = edit.instruction(operand).op.clone() else { return None };
            let lengths: Vec<i64> = dims.iter().map(SliceDim::length).collect();
            Some(edit.broadcast(source, &lengths, &dimensions))
        }
    }
}

/// Returns a part of an array: the array itself, or a slice as simple as possible.
pub fn part(edit: &mut Builder, source: InstrId, dims: Vec<SliceDim>) -> InstrId {
    match slice(edit, source, &dims) {
        Some(simpler) => simpler,
        None => edit.slice(source, dims),
    }
}

/// Returns the array from which the elements of a slice come, and the part of the array that holds
/// these elements. If the slice only drops copies of a broadcast, returns the broadcast's operand
/// and no part.
fn behind(edit: &Builder, operand: InstrId, dims: &[SliceDim]) -> Option<(InstrId, Option<Vec<SliceDim>>)> {
    let instruction = edit.instruction(operand);
    let first = *instruction.operands.first()?;
    match &instruction.op {
        Op::Slice { dims: inner } => {
            let both = inner.iter().zip(dims).map(|(inner, outer)| {
                let start = inner.start + outer.start * inner.stride;
                let limit = inner.start + (outer.limit - 1) * inner.stride + 1;
                // An empty slice of a slice with a stride would end before it starts.
                SliceDim { start, limit: limit.max(start), stride: inner.stride * outer.stride }
            });
            Some((first, Some(both.collect())))
        }
        Op::Concatenate { dimension } => of_one(edit, &instruction.operands, *dimension as usize, dims),
        Op::Broadcast { dimensions } => {
            let sizes = &edit.array(first)?.dims;
            let is_whole = |(&d, &size): (&i64, &i64)| dims[d as usize].length() == size;
            dimensions.iter().zip(sizes).all(is_whole).then_some((first, None))
        }
        Op::Pad { dims: padding } => {
            let sizes = &edit.array(first)?.dims;
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

/// Finds the one operand of a concatenation from which the whole slice comes.
fn of_one(
    edit: &Builder,
    operands: &[InstrId],
    dimension: usize,
    dims: &[SliceDim],
) -> Option<(InstrId, Option<Vec<SliceDim>>)> {
    let mut begin = 0;
    let mut dims = dims.to_vec();
    for &operand in operands {
        let end = begin + edit.array(operand)?.dims[dimension];
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
/// window fits into the array. Returns the array itself if the window covers all of it.
pub fn window(edit: &mut Builder, source: InstrId, starts: &[InstrId], sizes: &[i64]) -> InstrId {
    at_constants(edit, source, starts, sizes).unwrap_or_else(|| edit.dynamic_slice(source, starts, sizes))
}

/// Returns a slice that starts at constants. The starts are clamped so that the slice fits into the
/// array.
fn at_constants(edit: &mut Builder, source: InstrId, starts: &[InstrId], sizes: &[i64]) -> Option<InstrId> {
    let starts = starts.iter().map(|&start| integer(edit, start)).collect::<Option<Vec<i64>>>()?;
    let dims = starts.iter().zip(sizes).zip(&edit.array(source)?.dims).map(|((&start, &size), &whole)| {
        let start = start.clamp(0, whole - size);
        SliceDim { start, limit: start + size, stride: 1 }
    });
    let dims = dims.collect();
    Some(part(edit, source, dims))
}

/// Returns the value of a constant integer.
pub fn integer(edit: &Builder, id: InstrId) -> Option<i64> {
    ArrayLiteral { dims: Vec::new(), ..uniform(edit, id)? }.as_integer()
}
