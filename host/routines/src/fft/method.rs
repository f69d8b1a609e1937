//! The choice between transforms line by line and transforms of several lines at once.

use super::lanes::{Element, Vector};

/// Largest prime factor for which `rustfft` has transforms with AVX.
const LARGEST_FAST_FACTOR: usize = 11;
/// Largest prime factor for which `rustfft` has a transform of its own.
const LARGEST_FACTOR: usize = 31;

/// Whether complex lines of this length are computed faster in lanes than one by one. In
/// measurements this was so if two or more factors without AVX made up the larger part of the
/// length.
pub(super) fn suits_lanes<T: Element>(length: usize, lines: usize) -> bool {
    let (fast, others) = split_at_factor(length, LARGEST_FAST_FACTOR);
    others > fast.max(LARGEST_FACTOR) && has_enough::<T>(others, lines)
}

/// Like [`suits_lanes`], for real lines. In four lanes, one factor without AVX is enough. Lanes
/// also speed up the separation of lines of odd length into sequences.
pub(super) fn suits_real_lanes<T: Element>(length: usize, lines: usize) -> bool {
    let (fast, others) = split_at_factor(length, LARGEST_FAST_FACTOR);
    let is_enough = others > fast || others > 1 && !length.is_multiple_of(2);
    T::Vector::COUNT >= 4 && is_enough && has_enough::<T>(others, lines) || suits_lanes::<T>(length, lines)
}

/// Whether `rustfft` has transforms with AVX for a length.
pub(super) fn has_only_fast_factors(length: usize) -> bool {
    split_at_factor(length, LARGEST_FAST_FACTOR).1 == 1
}

/// Whether there are enough lines to fill the lanes, and `rustfft` computes the factors directly.
fn has_enough<T: Element>(others: usize, lines: usize) -> bool {
    lines >= T::Vector::COUNT && split_at_factor(others, LARGEST_FACTOR).1 == 1
}

/// Divides a length into the product of its prime factors up to `largest` and the rest.
fn split_at_factor(length: usize, largest: usize) -> (usize, usize) {
    let mut rest = length;
    for factor in 2..=largest {
        while rest.is_multiple_of(factor) {
            rest /= factor;
        }
    }
    (length / rest, rest)
}
