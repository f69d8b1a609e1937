//! Bank conflicts of a tile in shared memory, computed from the tile's maps.
//!
//! Shared memory has 32 banks of 4 bytes. Accesses of one warp to different words of one bank are
//! serialised.

use std::collections::BTreeMap;

use super::schedule::PartialsTile;
use fusebox_core::indexing::IndexingMap;

const BANKS: i64 = 32;
const WORD: i64 = 4;

/// Number of warps to examine. Other warps access the same pattern of elements, shifted by a
/// constant distance.
const WARPS: i64 = 2;

/// Returns the tile with a pad of at most `most` elements at the end of each column. Chooses the
/// smallest of the pads that cause the fewest bank conflicts. `element_bytes` lists the sizes of
/// the elements.
pub fn padded(tile: PartialsTile, most: i64, warp: i64, element_bytes: &[i64]) -> PartialsTile {
    let accesses = accesses(&tile, warp);
    let all = |pitch: i64| element_bytes.iter().map(|&bytes| turns(&accesses, pitch, bytes)).sum::<i64>();
    let mut best = (i64::MAX, tile.pitch);
    for pitch in tile.pitch..=tile.pitch + most {
        best = best.min((all(pitch), pitch));
        if best.0 == 0 {
            break;
        }
    }
    PartialsTile { pitch: best.1, ..tile }
}

/// Returns the number of additional serialised accesses of the first warps, for elements of `bytes`
/// bytes.
#[cfg(test)]
pub fn conflicts(tile: &PartialsTile, warp: i64, bytes: i64) -> i64 {
    turns(&accesses(tile, warp), tile.pitch, bytes)
}

/// The places `(column, partial)` that the threads of a warp access at once.
type WarpAccess = Vec<(i64, i64)>;

fn turns(accesses: &[WarpAccess], pitch: i64, bytes: i64) -> i64 {
    let extra =
        |access: &WarpAccess| extra_turns(access.iter().map(|(column, partial)| column * pitch + partial), bytes);
    accesses.iter().map(extra).sum()
}

/// Returns the writes and reads of the first warps. The first read of a pass represents all reads
/// of the pass, because the other reads are at a constant distance from the first read.
fn accesses(tile: &PartialsTile, warp: i64) -> Vec<WarpAccess> {
    let mut accesses = Vec::new();
    for map in [&tile.write, &tile.read] {
        let threads = (map.dims[0].bounds.size() as i64).min(WARPS * warp);
        for first in (0..threads).step_by(warp.max(1) as usize) {
            let passes = map.ranges.first().map_or(1, |pass| pass.bounds.size() as i64);
            accesses.extend((0..passes).map(|pass| {
                let ranges = if map.ranges.is_empty() { vec![] } else { vec![pass] };
                let taking =
                    (first..(first + warp).min(threads)).filter_map(|thread| place(tile, map, thread, &ranges));
                taking.collect::<WarpAccess>()
            }));
        }
    }
    accesses
}

fn place(tile: &PartialsTile, map: &IndexingMap, thread: i64, ranges: &[i64]) -> Option<(i64, i64)> {
    if !map.contains_point(&[thread, 0], ranges, &[]) {
        return None;
    }
    let place = map.evaluate(&[thread, 0], ranges, &[]);
    let &[column, partial] = place.as_slice() else { return None };
    (column < tile.columns && partial < tile.partials).then_some((column, partial))
}

/// Counts additional serialised accesses. If an element has n words, the hardware processes a warp
/// in n parts.
fn extra_turns(elements: impl Iterator<Item = i64>, bytes: i64) -> i64 {
    let elements: Vec<i64> = elements.collect();
    let parts = (bytes / WORD).max(1);
    let lanes = (elements.len() as i64).div_euclid(parts).max(1);
    let mut extra = 0;
    for part in elements.chunks(lanes as usize) {
        let mut words: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for element in part {
            for word in 0..parts {
                let word = element * bytes / WORD + word;
                let bank = words.entry(word % BANKS).or_default();
                if !bank.contains(&word) {
                    bank.push(word);
                }
            }
        }
        extra += words.values().map(|bank| bank.len() as i64 - 1).max().unwrap_or(0);
    }
    extra
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{columns, rows};

    #[test]
    fn the_tile_of_columns_has_no_conflicts() {
        for down in [4, 8, 16, 32] {
            for (lanes, bytes) in [(1, 4), (2, 4), (4, 4), (8, 2), (8, 1), (1, 8), (2, 8), (1, 16)] {
                let tile = padded(columns::tile(32, lanes, down, 1), columns::MOST_PAD, 32, &[bytes]);
                assert_eq!(conflicts(&tile, 32, bytes), 0, "{down} down, {lanes} lanes of {bytes} bytes");
            }
        }
    }

    #[test]
    fn the_tile_of_rows_has_no_conflicts() {
        for (row_count, warps) in [(1, 2), (1, 32), (2, 4), (4, 2), (3, 8)] {
            for bytes in [1, 4, 8, 16] {
                assert_eq!(conflicts(&rows::tile(32, row_count, warps, 1), 32, bytes), 0);
            }
        }
    }

    #[test]
    fn conflicts_are_counted() {
        // Without the pad at the end of a column, all threads across write to one bank.
        assert_eq!(conflicts(&columns::tile(32, 1, 32, 1), 32, 4), 2 * 31);
    }
}
