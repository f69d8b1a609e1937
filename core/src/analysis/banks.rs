//! Bank conflicts between the lanes of a warp that access shared memory.
//!
//! Shared memory has 32 banks. Each bank serves one word of four bytes per *turn*. Successive words
//! are in successive banks. In one turn, a bank serves all lanes that access the same word. The
//! number of turns that an access takes is the largest number of different words that the warp
//! accesses in any bank. If each lane accesses eight bytes, the banks serve half a warp at a time.
//! If each lane accesses sixteen bytes, the banks serve a quarter of a warp at a time. (NVIDIA's
//! programming guide, shared memory of compute capability 5.0 and later.)

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::indexing::{IndexingMap, Interval};

/// Number of banks.
const BANKS: i64 = 32;
/// Number of bytes that a bank serves per turn.
const WORD: i64 = 4;

/// Size of one access, in which a thread reads or writes adjacent elements of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileAccess {
    /// Size of an element in memory.
    pub element_bytes: u32,
    /// Number of elements that a thread accesses at once.
    pub lanes: u32,
}

/// Returns the largest number of turns that any access of a warp takes. An access without bank
/// conflicts takes one turn.
///
/// `map` returns the first element that a thread accesses, as an index into a row-major tile.
/// `tile` contains the dimensions of this tile, including padding. The first dimension of the map
/// is the thread. Range variables enumerate successive accesses. The function fixes the map's other
/// dimensions and its runtime variables at their lower bounds. Threads that do not satisfy the
/// map's constraints access nothing.
///
/// ```
/// use fusebox_core::analysis::{TileAccess, bank_conflicts};
/// use fusebox_core::indexing::IndexingMap;
///
/// let column = IndexingMap::parse("(th)[s0] -> (th, s0), domain: th in [0, 31], s0 in [0, 31]")?;
/// let floats = TileAccess { element_bytes: 4, lanes: 1 };
/// assert_eq!(bank_conflicts(&column, &[32, 32], floats, 32), 32);
/// assert_eq!(bank_conflicts(&column, &[32, 33], floats, 32), 1);
/// # Ok::<(), fusebox_core::indexing::TextError>(())
/// ```
pub fn bank_conflicts(map: &IndexingMap, tile: &[i64], access: TileAccess, warp_size: u32) -> u32 {
    let bytes = i64::from(access.element_bytes) * i64::from(access.lanes);
    let threads = i64::from(warp_size).min(BANKS * WORD / bytes.max(WORD)).max(1);
    let mut turns: HashMap<(Vec<i64>, i64), HashMap<i64, HashSet<i64>>> = HashMap::new();
    let _ = one_block(map).for_each_point(|point| {
        let thread = point.dims.first().copied().unwrap_or(0);
        let position = point.results.iter().zip(tile).fold(0, |position, (index, size)| position * size + index);
        let start = position * i64::from(access.element_bytes);
        let words = start.div_euclid(WORD)..=(start + bytes.max(1) - 1).div_euclid(WORD);
        let banks = turns.entry((point.ranges.to_vec(), thread.div_euclid(threads))).or_default();
        for word in words {
            banks.entry(word.rem_euclid(BANKS)).or_default().insert(word);
        }
        ControlFlow::Continue(())
    });
    let busiest = turns.values().flat_map(HashMap::values).map(HashSet::len).max();
    u32::try_from(busiest.unwrap_or(1)).unwrap_or(u32::MAX)
}

/// Returns the map restricted to the first block.
fn one_block(map: &IndexingMap) -> IndexingMap {
    let mut map = map.clone();
    for variable in map.dims.iter_mut().skip(1).chain(&mut map.runtime) {
        variable.bounds = Interval::point(variable.bounds.lower);
    }
    map
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn ways(map: &str, tile: &[i64], element_bytes: u32, lanes: u32) -> u32 {
        bank_conflicts(&IndexingMap::parse(map).unwrap(), tile, TileAccess { element_bytes, lanes }, 32)
    }

    const ROWS: &str = "(th)[s0] -> (s0 * 8 + th floordiv 32, th mod 32), domain: th in [0, 255], s0 in [0, 3]";
    const COLUMNS: &str = "(th)[s0] -> (th mod 32, s0 * 8 + th floordiv 32), domain: th in [0, 255], s0 in [0, 3]";

    #[test]
    fn a_column_of_a_padded_tile_is_in_as_many_banks() {
        assert_eq!(ways(ROWS, &[32, 32], 4, 1), 1);
        assert_eq!(ways(COLUMNS, &[32, 32], 4, 1), 32);
        assert_eq!(ways(COLUMNS, &[32, 33], 4, 1), 1);
        assert_eq!(ways(COLUMNS, &[32, 34], 4, 1), 2);
    }

    #[test]
    fn narrow_elements_share_words_and_wide_ones_take_two_turns() {
        // Two or four adjacent elements are in one word.
        assert_eq!(ways(ROWS, &[32, 32], 2, 1), 1);
        assert_eq!(ways(ROWS, &[32, 32], 1, 1), 1);
        // Rows of 66 bytes are 16.5 words apart, so two lanes access different words of one bank.
        assert_eq!(ways(COLUMNS, &[32, 33], 2, 1), 2);
        assert_eq!(ways(COLUMNS, &[32, 34], 2, 1), 1);
        // Half a warp is served at a time.
        assert_eq!(ways(ROWS, &[32, 32], 8, 1), 1);
        assert_eq!(ways(COLUMNS, &[32, 33], 8, 1), 1);
        assert_eq!(ways(COLUMNS, &[32, 32], 8, 1), 16);
    }

    #[test]
    fn wide_accesses_are_served_a_quarter_warp_at_a_time() {
        let rows = "(th) -> (th * 4), domain: th in [0, 127]";
        assert_eq!(ways(rows, &[512], 4, 4), 1);
        assert_eq!(ways(rows, &[512], 4, 1), 4);
        let rows = "(th) -> (th, 0), domain: th in [0, 31]";
        assert_eq!(ways(rows, &[32, 32], 4, 4), 8);
        assert_eq!(ways(rows, &[32, 36], 4, 4), 1);
    }

    #[test]
    fn only_threads_inside_count_and_other_dimensions_stay() {
        let few = "(th, bl) -> (th, bl mod 32), domain: th in [0, 31], bl in [0, 1000000000], th in [0, 7]";
        assert_eq!(ways(few, &[32, 32], 4, 1), 8);
        // All lanes access one word.
        assert_eq!(ways("(th) -> (0), domain: th in [0, 31]", &[1], 4, 1), 1);
    }
}
