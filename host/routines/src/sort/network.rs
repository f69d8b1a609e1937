//! Sorts several lines at once, one per vector lane, with a sorting network. A sorting network
//! compares fixed pairs of positions, which do not depend on the values. So all lanes compare the
//! same positions.
//!
//! The network is Batcher's merge exchange: Knuth, "The art of computer programming", volume 3,
//! section 5.2.2, algorithm M.

use pulp::{Arch, Simd, WithSimd};

/// Minimum number of lines that are sorted together. Sorting fewer lines one by one is faster than
/// sorting them together.
pub const LEAST_LINES: usize = 6;
/// Maximum length of lines that the network sorts. Radix sort is faster than the network for longer
/// lines.
pub const LONGEST: usize = 4096;

/// Number of rows of a block. A block fits into the L1 cache. The network sorts each block before
/// it merges blocks.
const BLOCK: usize = 256;

/// A type of numbers that the network can sort in the lanes of vectors.
pub trait Lane: Copy {
    /// A vector register with lanes of this type.
    type Vector<S: Simd>: Copy;

    /// Casts a slice of words to a slice of vectors. Omits the words at the end if they do not fill
    /// a vector.
    fn vectors<S: Simd>(words: &mut [Self]) -> &mut [Self::Vector<S>];

    /// Returns the lane-wise minimum and maximum.
    fn ordered<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> [Self::Vector<S>; 2];
}

impl Lane for u32 {
    type Vector<S: Simd> = S::u32s;

    #[inline(always)]
    fn vectors<S: Simd>(words: &mut [u32]) -> &mut [S::u32s] {
        S::as_mut_simd_u32s(words).0
    }

    #[inline(always)]
    fn ordered<S: Simd>(simd: S, a: S::u32s, b: S::u32s) -> [S::u32s; 2] {
        let less = simd.less_than_u32s(a, b);
        [simd.select_u32s(less, a, b), simd.select_u32s(less, b, a)]
    }
}

impl Lane for u64 {
    type Vector<S: Simd> = S::u64s;

    #[inline(always)]
    fn vectors<S: Simd>(words: &mut [u64]) -> &mut [S::u64s] {
        S::as_mut_simd_u64s(words).0
    }

    #[inline(always)]
    fn ordered<S: Simd>(simd: S, a: S::u64s, b: S::u64s) -> [S::u64s; 2] {
        let less = simd.less_than_u64s(a, b);
        [simd.select_u64s(less, a, b), simd.select_u64s(less, b, a)]
    }
}

/// Sorts each column of `rows`. `LANES` must be a multiple of the number of lanes of a vector
/// register. A register has at most 16 lanes of `u32`, or 8 of `u64`.
pub fn sort<W: Lane, const LANES: usize>(rows: &mut [[W; LANES]]) {
    Arch::new().dispatch(SortNetwork(rows));
}

struct SortNetwork<'a, W, const LANES: usize>(&'a mut [[W; LANES]]);

impl<W: Lane, const LANES: usize> WithSimd for SortNetwork<'_, W, LANES> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let count = self.0.len();
        let vectors = W::vectors::<S>(self.0.as_flattened_mut());
        let Some(per_row) = vectors.len().checked_div(count) else { return };
        for block in vectors.chunks_mut(BLOCK * per_row) {
            let mut run = 1;
            while run < BLOCK && run < block.len() / per_row {
                merge::<S, W>(simd, block, per_row, run);
                run *= 2;
            }
        }
        let mut run = BLOCK;
        while run < count {
            merge::<S, W>(simd, vectors, per_row, run);
            run *= 2;
        }
    }
}

/// Merges adjacent sorted runs in pairs. Each run has `run` rows, and a merged run has twice as
/// many rows.
#[inline(always)]
fn merge<S: Simd, W: Lane>(simd: S, vectors: &mut [W::Vector<S>], per_row: usize, run: usize) {
    let count = vectors.len() / per_row;
    let mut distance = run;
    while distance > 0 {
        let mut start = distance % run;
        while start + distance < count {
            // Compare rows only if both belong to the same pair of runs.
            if start / (2 * run) == (start + distance) / (2 * run) {
                let end = (start + 2 * distance).min(count);
                let (low, high) = vectors[start * per_row..end * per_row].split_at_mut(distance * per_row);
                for (low, high) in low.iter_mut().zip(high) {
                    [*low, *high] = W::ordered(simd, *low, *high);
                }
            }
            start += 2 * distance;
        }
        distance /= 2;
    }
}
