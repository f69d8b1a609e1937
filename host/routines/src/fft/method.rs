//! Decides whether lines are transformed one by one or several at once.

use super::lanes::{Element, Vector};

/// Largest prime factor for which `rustfft` has transforms with AVX.
const LARGEST_FAST_FACTOR: usize = 11;
/// Largest prime factor for which there are specialised butterflies.
const LARGEST_FACTOR: usize = 31;

/// Whether complex lines of this length are transformed faster in lanes than one by one. In
/// measurements, lanes were faster if the length had at least two prime factors without AVX
/// transforms, and the product of these factors was larger than the product of the other factors.
pub(super) fn suits_lanes<T: Element>(length: usize, lines: usize) -> bool {
    let (fast, others) = split_at_factor(length, LARGEST_FAST_FACTOR);
    others > fast.max(LARGEST_FACTOR) && has_enough::<T>(others, lines)
}

/// Like [`suits_lanes`], for real lines. In measurements with eight lanes, one prime factor without
/// AVX transforms was enough for lanes to be faster.
pub(super) fn suits_real_lanes<T: Element>(length: usize, lines: usize) -> bool {
    let (_, others) = split_at_factor(length, LARGEST_FAST_FACTOR);
    T::Vector::COUNT >= 8 && others > 1 && has_enough::<T>(others, lines) || suits_lanes::<T>(length, lines)
}

/// Whether `rustfft` has transforms with AVX for a length.
pub(super) fn has_only_fast_factors(length: usize) -> bool {
    split_at_factor(length, LARGEST_FAST_FACTOR).1 == 1
}

/// Whether there are enough lines to fill half of the lanes, and there are specialised butterflies
/// for every prime factor of `others`.
fn has_enough<T: Element>(others: usize, lines: usize) -> bool {
    lines >= T::Vector::COUNT / 2 && split_at_factor(others, LARGEST_FACTOR).1 == 1
}

/// Splits a length into two factors: the product of its prime factors up to `largest`, and the
/// product of its other prime factors.
fn split_at_factor(length: usize, largest: usize) -> (usize, usize) {
    let mut rest = length;
    for factor in 2..=largest {
        while rest.is_multiple_of(factor) {
            rest /= factor;
        }
    }
    (length / rest, rest)
}
