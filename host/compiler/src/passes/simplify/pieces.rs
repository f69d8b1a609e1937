//! Simplifies concatenations of slices. Many slices of one array become a gather. The gather's
//! indices are a constant table, which states the source of each row. A row is the part of an array
//! at one index of the concatenated dimension. The kernel of a concatenation has code for each
//! operand, so a concatenation of thousands of slices takes minutes to compile. A kernel that reads
//! a table has little code for any number of slices.

use fusebox_core::hlo::{ArrayLiteral, ElementType, GatherDims, InstrId, Instruction, Op, SliceDim};
use fusebox_edit::{Builder, Rewrite};

use super::slices::part;

/// Least number of concatenated slices that become a gather, if the slices have few rows.
const MANY: usize = 128;
/// The slices become a gather only if they have at most this many rows on average. For longer
/// slices, the table of rows takes as much memory as the slices.
const MOST_LINES: i64 = 64;

pub fn simpler(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::Concatenate { dimension } => side_by_side(edit, instruction, *dimension as usize),
        _ => None,
    }
}

/// Merges adjacent slices of one array into one slice, many other slices into a gather, and nested
/// concatenations into one.
fn side_by_side(edit: &mut Rewrite, instruction: &Instruction, dimension: usize) -> Option<InstrId> {
    let operands = edit.operands(instruction);
    let flat: Vec<InstrId> = operands
        .iter()
        .flat_map(|&id| match &edit.instruction(id).op {
            Op::Concatenate { dimension: d } if *d as usize == dimension => edit.instruction(id).operands.clone(),
            _ => vec![id],
        })
        .collect();
    let joined = joined(edit, &flat, dimension);
    if let Some(gathered) = gathered(edit, &joined, dimension) {
        return Some(gathered);
    }
    if joined.len() == flat.len() {
        let is_flat = flat == operands;
        return (!is_flat).then(|| edit.concatenate(flat, dimension));
    }
    let parts = joined.into_iter().map(|(source, dims)| part(edit, source, dims)).collect();
    Some(edit.concatenate(parts, dimension))
}

/// Returns the operands of a concatenation as parts of arrays. Merges consecutive parts that are
/// adjacent in the same array.
fn joined(edit: &Builder, operands: &[InstrId], dimension: usize) -> Vec<(InstrId, Vec<SliceDim>)> {
    let mut parts: Vec<(InstrId, Vec<SliceDim>)> = Vec::new();
    for &id in operands {
        let (source, dims) = as_part(edit, id);
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

/// Returns the array that a slice reads, and the part of the array that the slice reads. For an
/// instruction that is no slice, returns the instruction itself and its whole result.
fn as_part(edit: &Builder, id: InstrId) -> (InstrId, Vec<SliceDim>) {
    let instruction = edit.instruction(id);
    match &instruction.op {
        Op::Slice { dims } => (instruction.operands[0], dims.clone()),
        _ => (id, edit.dims(id).into_iter().map(SliceDim::all).collect()),
    }
}

/// Returns a gather that computes the concatenation of these parts. `None` if there are too few
/// parts, or if the parts have too many rows. The result is also `None` if the parts come from
/// several arrays, or differ in a dimension other than `dimension`.
fn gathered(edit: &mut Builder, parts: &[(InstrId, Vec<SliceDim>)], dimension: usize) -> Option<InstrId> {
    let (source, first) = parts.first().filter(|_| parts.len() >= MANY)?;
    let lines: i64 = parts.iter().map(|(_, dims)| dims[dimension].length()).sum();
    let is_alike = |(other, dims): &(InstrId, Vec<SliceDim>)| {
        let same = |(d, (one, other)): (usize, (&SliceDim, &SliceDim))| d == dimension || one == other;
        other == source && dims.iter().zip(first).enumerate().all(same)
    };
    let whole = edit.array(*source)?.dims[dimension];
    if lines > MOST_LINES * parts.len() as i64 || i32::try_from(whole).is_err() || !parts.iter().all(is_alike) {
        return None;
    }
    // Slices the other dimensions to the part that is read, but keeps all rows.
    let mut dims = first.clone();
    dims[dimension] = SliceDim::all(whole);
    let operand = part(edit, *source, dims);

    let numbers = parts.iter().flat_map(|(_, dims)| {
        let SliceDim { start, limit, stride } = dims[dimension];
        (start..limit).step_by(usize::try_from(stride).unwrap_or(1))
    });
    let data: Vec<u8> = numbers.flat_map(|number| (number as i32).to_le_bytes()).collect();
    let table = edit.constant(ArrayLiteral::new(ElementType::S32, vec![lines], data).ok()?);

    let along = dimension as i64;
    let mut slice_sizes = edit.dims(operand);
    slice_sizes[dimension] = 1;
    let gather = Op::Gather(GatherDims {
        offset_dims: (0..slice_sizes.len() as i64).filter(|&d| d != along).collect(),
        collapsed_slice_dims: vec![along],
        start_index_map: vec![along],
        operand_batching_dims: Vec::new(),
        start_indices_batching_dims: Vec::new(),
        index_vector_dim: 1,
        slice_sizes,
        indices_are_sorted: false,
    });
    Some(edit.add(gather, [operand, table]))
}
