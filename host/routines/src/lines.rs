//! Processes arrays as lines along one dimension. A line consists of all elements whose indices
//! differ only in that dimension.

use bytemuck::Pod;
use fusebox_core::hlo::ArrayShape;

use crate::{RoutineError, Unsupported, Workers, elements, elements_mut, for_each, scratch, try_for_each};

/// Number of rows and of columns of the square blocks in which a matrix is transposed.
const BLOCK: usize = 32;
/// Approximate number of elements per part of a transpose.
const TRANSPOSED: usize = 1 << 16;

/// The decomposition of an array into lines along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineDecomposition {
    /// Product of the sizes of the dimensions before the lines' dimension.
    pub outer: usize,
    /// Number of elements of a line: the size of the lines' dimension.
    pub length: usize,
    /// Product of the sizes of the dimensions after the lines' dimension. The product is also the
    /// stride between the elements of a line.
    pub inner: usize,
}

impl LineDecomposition {
    /// Decomposes an array into lines along a dimension.
    ///
    /// # Errors
    /// If the array does not have this dimension or is too large for this machine.
    pub fn of(shape: &ArrayShape, dimension: i64) -> Result<LineDecomposition, Unsupported> {
        let wrong = || Unsupported::new(format!("dimension {dimension} of an array of {} dimensions", shape.rank()));
        let at = usize::try_from(dimension).ok().filter(|&at| at < shape.rank()).ok_or_else(wrong)?;
        let size = |dims: &[i64]| {
            let sizes = dims.iter().map(|&size| usize::try_from(size).ok());
            sizes.into_iter().try_fold(1usize, |all, size| all.checked_mul(size?))
        };
        let lines = Some(LineDecomposition {
            outer: size(&shape.dims[..at]).unwrap_or(0),
            length: size(&shape.dims[at..=at]).unwrap_or(0),
            inner: size(&shape.dims[at + 1..]).unwrap_or(0),
        });
        let fits = |lines: &LineDecomposition| lines.outer.checked_mul(lines.length)?.checked_mul(lines.inner);
        lines.filter(|lines| fits(lines).is_some()).ok_or_else(|| Unsupported::new("an array this large"))
    }

    /// Returns the number of lines.
    pub fn count(&self) -> usize {
        self.outer * self.inner
    }

    /// Whether no line has two or more elements. If no line has two or more elements, an operation
    /// that permutes the elements of each line has no effect.
    pub fn are_trivial(&self) -> bool {
        self.count() == 0 || self.length <= 1
    }
}

/// Memory that is aligned for every element type.
#[derive(Debug)]
pub struct AlignedMemory {
    words: Vec<u128>,
    bytes: usize,
}

impl AlignedMemory {
    /// Allocates zeros.
    ///
    /// # Errors
    /// If memory is short.
    pub fn zeroed(bytes: usize) -> Result<AlignedMemory, RoutineError> {
        Ok(AlignedMemory { words: scratch(bytes.div_ceil(size_of::<u128>()))?, bytes })
    }

    /// Returns the bytes for reading.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    /// Returns the bytes for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

/// Transposes matrices. `from` holds any number of `rows` × `columns` matrices, one after another.
/// Each element has `element_bytes` bytes.
///
/// # Errors
/// If the buffers have different sizes, or the element size is not supported.
pub fn transpose(
    from: &[u8],
    to: &mut [u8],
    (rows, columns): (usize, usize),
    element_bytes: usize,
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    match element_bytes {
        1 => transpose_elements::<u8>(from, to, rows, columns, workers),
        2 => transpose_elements::<u16>(from, to, rows, columns, workers),
        4 => transpose_elements::<u32>(from, to, rows, columns, workers),
        8 => transpose_elements::<u64>(from, to, rows, columns, workers),
        16 => transpose_elements::<u128>(from, to, rows, columns, workers),
        _ => Err(RoutineError::Buffer),
    }
}

fn transpose_elements<T: Pod + Send + Sync>(
    from: &[u8],
    to: &mut [u8],
    rows: usize,
    columns: usize,
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    let (from, to) = (elements::<T>(from)?, elements_mut::<T>(to)?);
    if from.len() != to.len() || rows == 0 || columns == 0 {
        return if from.len() == to.len() { Ok(()) } else { Err(RoutineError::Buffer) };
    }
    // A part consists of whole rows of one result matrix. The number of these rows is a multiple of
    // `BLOCK`, except at the end of the matrix.
    let high = (TRANSPOSED / rows).next_multiple_of(BLOCK).clamp(BLOCK, columns.next_multiple_of(BLOCK));
    let matrices = from.chunks_exact(rows * columns).zip(to.chunks_exact_mut(rows * columns));
    let parts = matrices.flat_map(|(from, to)| {
        to.chunks_mut(high * rows).enumerate().map(move |(number, to)| (from, number * high, to))
    });
    for_each(workers, parts.collect(), |(from, first, to): (&[T], usize, &mut [T])| {
        for (block, to) in to.chunks_mut(BLOCK * rows).enumerate() {
            let column = first + block * BLOCK;
            for row in (0..rows).step_by(BLOCK) {
                let end = (row + BLOCK).min(rows);
                for (at, line) in to.chunks_exact_mut(rows).enumerate() {
                    let source = from[row * columns + column + at..].iter().step_by(columns);
                    line[row..end].iter_mut().zip(source).for_each(|(to, from)| *to = *from);
                }
            }
        }
    });
    Ok(())
}

/// One range of lines, with the bytes of these lines in each array and in each result.
#[derive(Default)]
struct LineRange<'a> {
    arrays: Vec<&'a [u8]>,
    results: Vec<&'a mut [u8]>,
}

/// Splits all `arrays` and `results` into the same ranges of lines, and calls `work(lines of
/// arrays, lines of results)` for each range. The lines must be contiguous. All lines of a range
/// together have about `part` elements.
///
/// # Errors
/// If `work` fails for several ranges, returns the error of the first of these ranges.
pub fn for_each_part(
    workers: &dyn Workers,
    lines: LineDecomposition,
    part: usize,
    arrays: &[&[u8]],
    results: &mut [&mut [u8]],
    work: impl Fn(&[&[u8]], &mut [&mut [u8]]) -> Result<(), RoutineError> + Sync,
) -> Result<(), RoutineError> {
    let together = (part / lines.length.max(1)).max(1);
    let parts = lines.count().div_ceil(together);
    if parts == 0 {
        return Ok(());
    }
    let size = |bytes: usize| bytes / lines.count() * together;
    let mut items: Vec<LineRange> = (0..parts).map(|_| LineRange::default()).collect();
    for array in arrays {
        items.iter_mut().zip(array.chunks(size(array.len()).max(1))).for_each(|(part, chunk)| part.arrays.push(chunk));
    }
    for result in results {
        let bytes = size(result.len()).max(1);
        items.iter_mut().zip(result.chunks_mut(bytes)).for_each(|(part, chunk)| part.results.push(chunk));
    }
    try_for_each(workers, items, |mut part| work(&part.arrays, &mut part.results))
}
