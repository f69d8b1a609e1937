//! The parts into which the emitters want a reduction to be divided.
//!
//! A kernel distributes the results over the cores. So a reduction with few results is faster in
//! two steps: the first step reduces several parts of each result, and the second step reduces the
//! parts' results. On a cpu, two steps are also faster if the reduction combines short rows that
//! are far apart: a kernel adds columns in the lanes of a vector, but rows one by one.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Parts;
use fusebox_core::hlo::ArrayShape;

/// Number of pieces of work per core that is enough to balance the cores' load.
const PIECES_PER_CORE: i64 = 8;
/// Least number of pieces of work per core with which one step is fast enough.
const ENOUGH_PER_CORE: i64 = 2;
/// Bytes of adjacent columns that one piece of work covers.
const COLUMN_BYTES: i64 = 256;
/// Largest number of elements per thread that one block of a GPU reduces well.
const ELEMENTS_PER_THREAD: i64 = 16;
/// Arithmetic cost per element, in bytes. Arithmetic of this cost takes a thread as long as reading
/// the element.
const READ_BYTES: f64 = 16.0;
/// Longest row, in elements, that is treated as short. A kernel reduces a longer row in vectors, so
/// that one step takes about as long as two steps.
const SHORT_ROW: i64 = 31;
/// Least number of short rows per result with which two steps are faster than one step.
const LEAST_ROWS: i64 = 64;
/// Least number of elements with which an array of short rows is reduced faster in two steps than
/// in one step.
const LEAST_IN_ROWS: i64 = 1 << 12;

/// Returns the parts into which a reduction of an array should be divided. The reduction removes
/// the dimensions `reduced`, which are in ascending order. `None` if a kernel reduces the array
/// well in one step.
pub fn parts(array: &ArrayShape, reduced: &[i64], device: &DeviceDescription) -> Option<Parts> {
    let is_cpu = device.is_single_threaded_block();
    let pieces = Pieces::of(array, reduced);
    let second = if is_cpu { short_rows(array, reduced) } else { Vec::new() };
    let count = if pieces.is_enough(device) { 1 } else { pieces.parts(device) };
    let arithmetic = if is_cpu { READ_BYTES } else { f64::INFINITY };
    let is_divided = count > 1 || !second.is_empty();
    is_divided.then_some(Parts { count, together: pieces.together, arithmetic, second })
}

/// The work of a kernel, divided into independent pieces. A piece computes adjacent columns, or one
/// result.
struct Pieces {
    count: i64,
    /// Number of results of a piece.
    together: i64,
    /// Number of elements per result.
    per_result: i64,
}

impl Pieces {
    fn of(array: &ArrayShape, reduced: &[i64]) -> Pieces {
        let is_reduced = |d: &usize| reduced.contains(&(*d as i64));
        let results = elements(array, (0..array.rank()).filter(|d| !is_reduced(d)));
        let per_result = elements(array, (0..array.rank()).filter(is_reduced));
        // Trailing kept dimensions are columns: a kernel reduces adjacent columns together.
        let columns = elements(array, (0..array.rank()).rev().take_while(|d| !is_reduced(d)));
        let per_piece = COLUMN_BYTES / array.element_type.byte_size() as i64;
        let count = (results / columns.max(1)) * columns.div_euclid(per_piece).max(1);
        Pieces { count, together: columns.clamp(1, per_piece), per_result }
    }

    /// Whether one step is enough: a GPU block reduces all elements of a piece well, or every core
    /// has enough pieces.
    fn is_enough(&self, device: &DeviceDescription) -> bool {
        let of_block = i64::from(device.max_threads_per_block) * ELEMENTS_PER_THREAD;
        let fits_in_block = !device.is_single_threaded_block() && self.per_result <= of_block / self.together;
        fits_in_block || self.count >= ENOUGH_PER_CORE * i64::from(device.core_count)
    }

    /// Returns the number of parts per result with which every core has enough pieces.
    fn parts(&self, device: &DeviceDescription) -> i64 {
        i64::from(device.core_count) * PIECES_PER_CORE / self.count.max(1)
    }
}

/// Returns the minor dimensions of the array if they form short, reduced rows that are far apart.
/// Otherwise the list is empty.
fn short_rows(array: &ArrayShape, reduced: &[i64]) -> Vec<i64> {
    let is_reduced = |d: &usize| reduced.contains(&(*d as i64));
    let mut row: Vec<usize> = (0..array.rank()).rev().take_while(is_reduced).collect();
    row.reverse();
    let others = (0..array.rank()).filter(|d| is_reduced(d) && !row.contains(d));
    let is_short = (2..=SHORT_ROW).contains(&elements(array, row.iter().copied()));
    if !is_short || elements(array, others) < LEAST_ROWS || array.element_count() < LEAST_IN_ROWS {
        return Vec::new();
    }
    row.into_iter().map(|d| d as i64).collect()
}

fn elements(array: &ArrayShape, dimensions: impl Iterator<Item = usize>) -> i64 {
    dimensions.map(|d| array.dims[d]).fold(1, i64::saturating_mul)
}
