//! Simplifies concatenations of slices. Many slices of one array become a gather. Its indices are a
//! constant table, which states the source of each row: a row is the part of an array at one index
//! of the concatenated dimension. The kernel of a concatenation has code for each operand, so a
//! concatenation of thousands of slices takes minutes to compile. A kernel that reads a table has
//! little code for any number of slices.

use fusebox_core::hlo::{ArrayLiteral, ElementType, GatherDims, InstrId, Instruction, Literal, Op, Shape, SliceDim};

use super::slices::{length, part};
use crate::rebuild::Rebuild;

/// Least number of pieces that become a gather, if the pieces have few rows.
const MANY: usize = 128;
/// Largest average number of rows per piece. A table for longer pieces takes as much memory as the
/// pieces.
const MOST_LINES: i64 = 64;

pub fn simpler(rebuild: &mut Rebuild, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::Concatenate { dimension } => side_by_side(rebuild, instruction, *dimension as usize),
        _ => None,
    }
}

/// Merges adjacent slices of one array into one slice, many other slices into a gather, and nested
/// concatenations into one.
fn side_by_side(rebuild: &mut Rebuild, instruction: &Instruction, dimension: usize) -> Option<InstrId> {
    let operands = rebuild.operands(instruction);
    let is_nested = |&id: &InstrId| matches!(&rebuild.instruction(id).op, Op::Concatenate { dimension: d } if *d as usize == dimension);
    let flat: Vec<InstrId> = operands
        .iter()
        .flat_map(|id| if is_nested(id) { rebuild.instruction(*id).operands.clone() } else { vec![*id] })
        .collect();
    let joined = joined(rebuild, &flat, dimension);
    if let Some(gathered) = gathered(rebuild, instruction, &joined, dimension) {
        return Some(gathered);
    }
    if joined.len() == flat.len() {
        let is_flat = flat == operands;
        let op = Op::Concatenate { dimension: dimension as i64 };
        return (!is_flat).then(|| rebuild.add(instruction, op, instruction.shape.clone(), flat));
    }
    let mut parts = Vec::with_capacity(joined.len());
    for (source, dims) in joined {
        let element_type = instruction.shape.as_array()?.element_type;
        let lengths: Vec<i64> = dims.iter().map(length).collect();
        let shape = Shape::array(element_type, lengths);
        let origin = Instruction { shape, ..instruction.clone() };
        parts.push(part(rebuild, &origin, source, dims));
    }
    match parts.as_slice() {
        [all] => Some(*all),
        _ => {
            let op = Op::Concatenate { dimension: dimension as i64 };
            Some(rebuild.add(instruction, op, instruction.shape.clone(), parts))
        }
    }
}

/// Returns the operands of a concatenation as parts of arrays. Merges consecutive parts that are
/// adjacent in the same array.
fn joined(rebuild: &Rebuild, operands: &[InstrId], dimension: usize) -> Vec<(InstrId, Vec<SliceDim>)> {
    let mut parts: Vec<(InstrId, Vec<SliceDim>)> = Vec::new();
    for &id in operands {
        let (source, dims) = as_part(rebuild, id);
        if let Some((last, before)) = parts.last_mut() {
            let mut continued = before.clone();
            continued[dimension].limit = dims[dimension].limit;
            let continues = before[dimension].limit == dims[dimension].start
                && before[dimension].stride == 1
                && SliceDim { start: before[dimension].start, ..dims[dimension] } == continued[dimension]
                && dims.iter().zip(&continued).enumerate().all(|(d, (one, other))| d == dimension || one == other);
            if *last == source && continues {
                *before = continued;
                continue;
            }
        }
        parts.push((source, dims));
    }
    parts
}

/// Returns the array that a slice reads, and the part that it reads. For any other instruction,
/// returns the whole result of the instruction.
fn as_part(rebuild: &Rebuild, id: InstrId) -> (InstrId, Vec<SliceDim>) {
    let instruction = rebuild.instruction(id);
    match &instruction.op {
        Op::Slice { dims } => (instruction.operands[0], dims.clone()),
        _ => {
            let sizes = instruction.shape.as_array().map_or(&[][..], |array| &array.dims);
            (id, sizes.iter().map(|&limit| SliceDim { start: 0, limit, stride: 1 }).collect())
        }
    }
}

/// Returns a gather that computes the concatenation of these parts. `None` unless there are many
/// parts, all of one array, which differ only in dimension `dimension`.
fn gathered(
    rebuild: &mut Rebuild,
    instruction: &Instruction,
    parts: &[(InstrId, Vec<SliceDim>)],
    dimension: usize,
) -> Option<InstrId> {
    let (source, first) = parts.first().filter(|_| parts.len() >= MANY)?;
    let lines: i64 = parts.iter().map(|(_, dims)| length(&dims[dimension])).sum();
    let is_alike = |(other, dims): &(InstrId, Vec<SliceDim>)| {
        let same = |(d, (one, other)): (usize, (&SliceDim, &SliceDim))| d == dimension || one == other;
        other == source && dims.iter().zip(first).enumerate().all(same)
    };
    let array = rebuild.instruction(*source).shape.as_array()?.clone();
    let whole = array.dims[dimension];
    if lines > MOST_LINES * parts.len() as i64 || i32::try_from(whole).is_err() || !parts.iter().all(is_alike) {
        return None;
    }
    // Slices the other dimensions to the part that is read, but keeps all rows.
    let mut dims = first.clone();
    dims[dimension] = SliceDim { start: 0, limit: whole, stride: 1 };
    let lengths: Vec<i64> = dims.iter().map(length).collect();
    let origin = Instruction { shape: Shape::array(array.element_type, lengths.clone()), ..instruction.clone() };
    let operand = part(rebuild, &origin, *source, dims);

    let numbers = parts.iter().flat_map(|(_, dims)| {
        let SliceDim { start, limit, stride } = dims[dimension];
        (start..limit).step_by(usize::try_from(stride).unwrap_or(1))
    });
    let data: Vec<u8> = numbers.flat_map(|number| (number as i32).to_le_bytes()).collect();
    let table = ArrayLiteral::new(ElementType::S32, vec![lines], data).ok()?;
    let shape = Shape::array(ElementType::S32, vec![lines]);
    let table = rebuild.add(instruction, Op::Constant(Literal::Array(table)), shape, Vec::new());

    let along = dimension as i64;
    let gather = Op::Gather(GatherDims {
        offset_dims: (0..lengths.len() as i64).filter(|&d| d != along).collect(),
        collapsed_slice_dims: vec![along],
        start_index_map: vec![along],
        operand_batching_dims: Vec::new(),
        start_indices_batching_dims: Vec::new(),
        index_vector_dim: 1,
        slice_sizes: lengths.iter().enumerate().map(|(d, &length)| if d == dimension { 1 } else { length }).collect(),
        indices_are_sorted: false,
    });
    Some(rebuild.add(instruction, gather, instruction.shape.clone(), vec![operand, table]))
}
