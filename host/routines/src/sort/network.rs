//! Sorting of several lines at a time, one in each lane of vectors: which elements are compared does not depend on their
//! values.
//!
//! Batcher's merge exchange: Knuth, "The art of computer programming", volume 3, 5.2.2, algorithm M.

use pulp::Arch;

/// Lines that are sorted together.
pub const LANES: usize = 16;
/// Fewer lines are sorted one by one.
pub const LEAST_LINES: usize = 6;
/// In longer lines, counting is quicker than comparing.
pub const LONGEST: usize = 2048;

/// Elements of each line that the nearest cache holds: what stays among them is done first.
const BLOCK: usize = 256;

/// Sorts each column.
pub fn sort<W: Copy + Ord>(rows: &mut [[W; LANES]]) {
    Arch::new().dispatch(|| {
        for block in rows.chunks_mut(BLOCK) {
            let mut run = 1;
            while run < BLOCK.min(block.len()) {
                merge(block, run);
                run *= 2;
            }
        }
        let mut run = BLOCK;
        while run < rows.len() {
            merge(rows, run);
            run *= 2;
        }
    });
}

/// Merges sorted runs in pairs.
#[inline(always)]
fn merge<W: Copy + Ord>(rows: &mut [[W; LANES]], run: usize) {
    let mut distance = run;
    while distance > 0 {
        let mut start = distance % run;
        while start + distance < rows.len() {
            // Both ends belong to the same pair of runs.
            if start / (2 * run) == (start + distance) / (2 * run) {
                let end = (start + 2 * distance).min(rows.len());
                let (low, high) = rows[start..end].split_at_mut(distance);
                low.iter_mut().zip(high).for_each(|(low, high)| exchange(low, high));
            }
            start += 2 * distance;
        }
        distance /= 2;
    }
}

#[inline(always)]
fn exchange<W: Copy + Ord>(low: &mut [W; LANES], high: &mut [W; LANES]) {
    for (low, high) in low.iter_mut().zip(high) {
        (*low, *high) = ((*low).min(*high), (*low).max(*high));
    }
}

#[cfg(test)]
mod tests {
    use fusebox_core::random::SplitMix64;

    use super::{LANES, sort};

    #[test]
    fn columns_of_every_length_are_sorted() {
        let mut random = SplitMix64(3);
        for count in (0..70).chain([255, 256, 257, 511, 700, 1024, 1500]) {
            let few = random.bits() % 9 + 1;
            let rows: Vec<[u32; LANES]> =
                (0..count).map(|_| [(); LANES].map(|()| (random.bits() % few) as u32)).collect();
            let mut sorted = rows.clone();
            sort(&mut sorted);
            for lane in 0..LANES {
                let mut expected: Vec<u32> = rows.iter().map(|row| row[lane]).collect();
                expected.sort_unstable();
                assert!(sorted.iter().map(|row| row[lane]).eq(expected), "{count} rows");
            }
        }
    }
}
