//! Loops over mathematical vectors, compiled for the widest registers of the processor.

use std::ops::Range;

use super::scalar::Scalar;

/// Executes `work`. The crate pulp compiles `work`, and all functions inlined into it, for several
/// register widths. At run time, pulp selects the widest registers that the processor has.
#[inline(always)]
pub(crate) fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Splits a range of columns into two halves, which are factorised one after the other. The number
/// of columns of the first half is a multiple of `narrow`. Returns `None` if there are at most
/// `narrow` columns, because so few columns are factorised column by column.
pub(crate) fn halves(columns: Range<usize>, narrow: usize) -> Option<(Range<usize>, Range<usize>)> {
    let middle = columns.start + (columns.len() / 2).next_multiple_of(narrow);
    (columns.len() > narrow).then_some((columns.start..middle, middle..columns.end))
}

/// Number of partial sums of an inner product. The partial sums are computed in parallel, to use
/// all lanes of vector registers.
const LANES: usize = 16;

/// Returns the sum of the products of the conjugated elements of `a` and the elements of `b`.
#[inline(always)]
pub(crate) fn inner_product<T: Scalar>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::nothing(); LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        (0..LANES).for_each(|k| sums[k] += a[k].conjugate() * b[k]);
    }
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += a.conjugate() * *b;
    }
    let mut width = LANES / 2;
    while width > 0 {
        (0..width).for_each(|k| {
            let other = sums[k + width];
            sums[k] += other;
        });
        width /= 2;
    }
    sums[0]
}

/// Subtracts `factor` times `vector` from `from`.
#[inline(always)]
pub(crate) fn subtract_multiple<T: Scalar>(from: &mut [T], factor: T, vector: &[T]) {
    from.iter_mut().zip(vector).for_each(|(x, v)| *x -= factor * *v);
}

/// Adds `factor` times `vector` to `to`.
#[inline(always)]
pub(crate) fn add_multiple<T: Scalar>(to: &mut [T], factor: T, vector: &[T]) {
    to.iter_mut().zip(vector).for_each(|(x, v)| *x += factor * *v);
}
