//! Loops over vectors, compiled for the processor's wide registers.

use std::ops::Range;

use super::scalar::Scalar;

/// Executes `work`, and what is inlined into it, compiled for the widest registers of this processor.
#[inline(always)]
pub(crate) fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Two halves of neighbouring columns, to be factorised one after the other, the first of whole groups of `narrow` columns.
/// `None` if there are so few that they are factorised one by one.
pub(crate) fn halves(columns: Range<usize>, narrow: usize) -> Option<(Range<usize>, Range<usize>)> {
    let middle = columns.start + (columns.len() / 2).next_multiple_of(narrow);
    (columns.len() > narrow).then_some((columns.start..middle, middle..columns.end))
}

/// Sums of a product of vectors that are formed beside each other.
const LANES: usize = 16;

/// The sum of the products of `a`'s conjugates with `b`.
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

/// Subtracts `factor` times a vector.
#[inline(always)]
pub(crate) fn subtract_multiple<T: Scalar>(from: &mut [T], factor: T, vector: &[T]) {
    from.iter_mut().zip(vector).for_each(|(x, v)| *x -= factor * *v);
}

/// Adds `factor` times a vector.
#[inline(always)]
pub(crate) fn add_multiple<T: Scalar>(to: &mut [T], factor: T, vector: &[T]) {
    to.iter_mut().zip(vector).for_each(|(x, v)| *x += factor * *v);
}
