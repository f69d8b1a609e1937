//! A pass over an array transforms its first non-batch dimension and moves this dimension to the
//! end.
//!
//! After one pass per dimension, all dimensions are transformed and are in their original order.
//! Every pass reads and writes each element once.

use super::lines::LineTransform;
use crate::scratch_pool::ScratchPool;
use crate::{RoutineError, Workers, scratch, try_for_each};

/// Approximate number of elements that a thread transforms per part. Parts of this size cost little
/// to distribute among threads.
const PART: usize = 1 << 13;
/// Number of interleaved lines that are gathered at once. The elements with equal index in `BLOCK`
/// interleaved lines are adjacent, and fill at least two cache lines, because an element has at
/// least 8 bytes.
const BLOCK: usize = 16;
/// Gathered lines map to few cache sets if their distance is a multiple of this number of bytes.
const CONFLICTING: usize = 256;

/// Transforms the middle dimension of an array of shape `(outer, length, inner)`. The output has
/// the shape `(outer, inner, length)`. The `length` of the input may differ from the `length` of
/// the output. The transform `line` determines both lengths.
pub(super) fn rotate<L: LineTransform>(
    line: &L,
    inner: usize,
    input: &[L::Input],
    output: &mut [L::Output],
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    if output.is_empty() {
        return Ok(());
    }
    match inner {
        1 => rows(line, input, output, workers),
        _ => columns(line, inner, input, output, workers),
    }
}

/// Transforms contiguous lines.
fn rows<L: LineTransform>(
    line: &L,
    input: &[L::Input],
    output: &mut [L::Output],
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    let (read, written) = line.lengths();
    let lines = (PART / written).max(1).next_multiple_of(line.together());
    let parts = input.chunks(lines * read).zip(output.chunks_mut(lines * written));
    let scratch_pool = ScratchPool::new(|| line.scratch());
    try_for_each(workers, parts.collect(), |(input, output)| {
        scratch_pool.with(|scratch| line.transform_lines(input, read, output, scratch))
    })
}

/// Transforms interleaved lines. In interleaved lines, elements with equal index in neighbouring
/// lines are adjacent in memory. Copies each line into contiguous memory before its transform.
fn columns<L: LineTransform>(
    line: &L,
    inner: usize,
    input: &[L::Input],
    output: &mut [L::Output],
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    let (read, written) = line.lengths();
    let count = (PART / written).next_multiple_of(BLOCK).max(BLOCK);
    // Gathered lines start `distance` elements apart.
    let distance = if (read * size_of::<L::Input>()).is_multiple_of(CONFLICTING) { read + 8 } else { read };
    let slabs = input.chunks(read * inner).zip(output.chunks_mut(inner * written));
    let parts = slabs.flat_map(|(input, output)| {
        let part = move |(part, output)| (input, part * count, output);
        output.chunks_mut(count * written).enumerate().map(part)
    });
    let scratch_pool = ScratchPool::new(|| Ok((scratch::<L::Input>(BLOCK * distance)?, line.scratch()?)));
    try_for_each(workers, parts.collect(), |(input, first, output)| {
        scratch_pool.with(|(gathered, scratch)| {
            for (block, output) in output.chunks_mut(BLOCK * written).enumerate() {
                let first = first + block * BLOCK;
                let lines = output.len() / written;
                gather(input, inner, first..first + lines, gathered, distance);
                line.transform_lines(gathered, distance, output, scratch);
            }
        })
    })
}

/// Copies columns `columns` of `input` to `output`, where each column becomes a row. The rows of
/// `input` have `width` elements. The rows of `output` start `distance` elements apart.
fn gather<T: Copy>(input: &[T], width: usize, columns: std::ops::Range<usize>, output: &mut [T], distance: usize) {
    const ROWS: usize = 8;
    for (block, rows) in input.chunks(ROWS * width).enumerate() {
        let at = block * ROWS;
        if rows.len() == ROWS * width && columns.len() == BLOCK {
            let row: [&[T]; ROWS] = std::array::from_fn(|r| &rows[r * width + columns.start..][..BLOCK]);
            for c in 0..BLOCK {
                let line = &mut output[c * distance + at..][..ROWS];
                (0..ROWS).for_each(|r| line[r] = row[r][c]);
            }
            continue;
        }
        for (r, row) in rows.chunks_exact(width).enumerate() {
            let row = &row[columns.clone()];
            row.iter().enumerate().for_each(|(c, element)| output[c * distance + at + r] = *element);
        }
    }
}
