//! Finds products that are faster as a multiplication and a sum than as a dot.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Candidate;
use fusebox_core::hlo::Op;

/// Least size, in bytes, of a matrix that is too large for the nearer caches. Packing a smaller
/// matrix takes no longer than reading it.
const LARGE: i64 = 1 << 20;
/// Least number of columns for which every core has enough vectors to compute.
const FEWEST_COLUMNS: i64 = 256;

/// Whether the hero is the product of one row and a large matrix on a device with one thread per
/// block. A kernel of sums reads each element of the matrix once and packs no elements. On a device
/// with many threads per block, a product remains a dot: the threads of a block divide the
/// contracted elements among themselves.
pub fn is_faster_as_sum(hero: &Candidate, device: &DeviceDescription) -> bool {
    let computation = hero.region.computation();
    let dot = computation.instruction(hero.anchor);
    let (Op::Dot(dims), &[row, matrix]) = (&dot.op, &dot.operands[..]) else { return false };
    let [row, matrix] = [row, matrix].map(|id| computation.instruction(id).shape.as_array());
    let (Some(row), Some(matrix)) = (row, matrix) else { return false };
    let contracted = dims.rhs_contracting.iter().map(|&d| matrix.dims[d as usize]).fold(1, i64::saturating_mul);
    device.is_single_threaded_block()
        && row.element_count() == contracted
        && matrix.byte_size() >= LARGE
        && matrix.element_count() / contracted.max(1) >= FEWEST_COLUMNS
}
