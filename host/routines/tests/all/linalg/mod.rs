//! Checks factorisations by their residuals and by the orthogonality of their factors.
//!
//! A bound is the error of LAPACK itself (OpenBLAS 0.3, through SciPy) for the same family of
//! matrices, plus a small margin.

mod condensed;
mod eigen;
mod judge;
mod matrices;
mod orthogonal;
mod solve;

use crate::support::Random;
use matrices::{FAMILIES, ScaledMatrix, TYPES};

/// Number of cases per type.
const CASES: usize = 130;

/// Calls `work` with matrices of all types and families. There are `CASES` matrices of each type.
/// Most have up to about 70 rows, and a few have 200 rows. `shape` returns the numbers of rows and
/// columns for a size.
pub fn for_each_case(
    seed: u64,
    shape: impl Fn(&mut Random, usize) -> (usize, usize),
    mut work: impl FnMut(ScaledMatrix),
) {
    let mut random = Random::new(seed);
    // Long runs have more cases.
    let cases = std::env::var("FUSEBOX_MATRICES").ok().and_then(|count| count.parse().ok()).unwrap_or(CASES);
    for (ty, _) in TYPES {
        for number in 0..cases {
            let size = match number {
                n if n < 8 => n / 2,
                n if n >= CASES - 2 => 200,
                _ => 1 + random.below(70),
            };
            let (rows, columns) = shape(&mut random, size);
            work(ScaledMatrix::new(&mut random, ty, number % FAMILIES.len(), rows, columns));
        }
    }
}

/// Returns the shape of a square matrix.
pub fn square(_: &mut Random, size: usize) -> (usize, usize) {
    (size, size)
}

/// Returns the shape of a matrix that need not be square.
pub fn oblong(random: &mut Random, size: usize) -> (usize, usize) {
    let other = random.below(size + 1);
    match random.below(3) {
        0 => (size, size),
        1 => (size, other),
        _ => (other, size),
    }
}
