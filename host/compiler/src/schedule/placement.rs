//! Places values of known lifetimes in one arena. Values that are alive at the same time share no
//! bytes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// A value to place.
#[derive(Clone, Debug)]
pub struct PlacementRequest {
    /// Size of the value in bytes, a multiple of the alignment.
    pub bytes: u64,
    /// First and last step that uses the value.
    pub life: RangeInclusive<u32>,
}

/// The offsets of all values.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ArenaPlacement {
    /// Offset of each request.
    pub offsets: Vec<u64>,
    /// Size of the arena.
    pub bytes: u64,
}

/// Inverse of the fraction of the peak that may be wasted. The search stops when the arena is at
/// most `1 / TOLERATED` larger than the peak.
const TOLERATED: u64 = 64;
/// Largest number of values for which further orders are tried.
const MOST_IMPROVED: usize = 4096;
/// Number of further orders that are tried, starting from each of the usual orders.
const IMPROVEMENTS: usize = 16;

/// Places all values. No order of placing is best for every program, so this function tries several
/// orders and keeps the smallest arena.
pub fn place(requests: &[PlacementRequest]) -> ArenaPlacement {
    let least = Occupancy::of(requests).peak;
    let span = |it: &PlacementRequest| it.life.end() - it.life.start();
    let mut best = ArenaPlacement { bytes: u64::MAX, ..ArenaPlacement::default() };
    let mut is_enough = |accepted: u64, placement: ArenaPlacement| {
        if placement.bytes < best.bytes {
            best = placement;
        }
        best.bytes <= accepted
    };
    let mut orders = [
        sorted(requests, |it| (Reverse(it.bytes), Reverse(span(it)))),
        sorted(requests, |it| (*it.life.start(), *it.life.end())),
        sorted(requests, |it| (Reverse(span(it)), Reverse(it.bytes))),
    ];
    if orders.iter().any(|order| is_enough(least, in_order(requests, order))) || requests.len() > MOST_IMPROVED {
        return best;
    }
    let accepted = least + least / TOLERATED;
    for order in &mut orders {
        for _ in 0..IMPROVEMENTS {
            let placement = in_order(requests, order);
            let is_top = topmost(requests, &placement);
            if is_enough(accepted, placement) {
                return best;
            }
            order.sort_by_key(|&index| !is_top[index]);
        }
    }
    best
}

/// Returns, for each value, whether it ends where the arena ends. If this value were placed
/// earlier, it would have a lower offset.
fn topmost(requests: &[PlacementRequest], placement: &ArenaPlacement) -> Vec<bool> {
    let ends = requests.iter().zip(&placement.offsets).map(|(request, offset)| offset + request.bytes);
    ends.map(|end| end == placement.bytes).collect()
}

/// Returns the values sorted by a key.
fn sorted<K: Ord>(requests: &[PlacementRequest], key: impl Fn(&PlacementRequest) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&index| key(&requests[index]));
    order
}

/// Places one value after the other, each in the tightest gap between placed values that are alive
/// at the same time.
fn in_order(requests: &[PlacementRequest], order: &[usize]) -> ArenaPlacement {
    let last = requests.iter().map(|it| *it.life.end()).max().unwrap_or(0);
    let mut placed = LifetimeIndex::until(last);
    let mut placement = ArenaPlacement { offsets: vec![0; requests.len()], bytes: 0 };
    for &index in order {
        let request = &requests[index];
        let mut occupied: Vec<(u64, u64)> = placed
            .together_with(&request.life)
            .map(|other| (placement.offsets[other], placement.offsets[other] + requests[other].bytes))
            .collect();
        occupied.sort_unstable();
        let offset = tightest_gap(&occupied, request.bytes);
        placement.offsets[index] = offset;
        placement.bytes = placement.bytes.max(offset + request.bytes);
        placed.insert(index, &request.life);
    }
    placement
}

/// Returns the start of the smallest gap that is wide enough. If there is no such gap, returns the
/// end of all ranges. The ranges in `occupied` are sorted by start.
pub fn tightest_gap(occupied: &[(u64, u64)], bytes: u64) -> u64 {
    let mut end = 0;
    let mut best: Option<(u64, u64)> = None;
    for &(start, until) in occupied {
        let gap = start.saturating_sub(end);
        if gap >= bytes && best.is_none_or(|(smallest, _)| gap < smallest) {
            best = Some((gap, end));
        }
        end = end.max(until);
    }
    best.map_or(end, |(_, offset)| offset)
}

/// An index of lifetimes. Finding the lifetimes that overlap another lifetime takes time
/// proportional to their number plus the logarithm of the number of steps.
struct LifetimeIndex {
    /// A binary tree over the steps. Each lifetime is stored at the fewest nodes that cover it.
    nodes: Vec<Vec<usize>>,
    leaves: usize,
    by_start: BTreeSet<(u32, usize)>,
}

impl LifetimeIndex {
    /// Creates an empty index for steps up to `last`.
    fn until(last: u32) -> LifetimeIndex {
        let leaves = (last as usize + 1).next_power_of_two();
        LifetimeIndex { nodes: vec![Vec::new(); 2 * leaves], leaves, by_start: BTreeSet::new() }
    }

    fn insert(&mut self, index: usize, life: &RangeInclusive<u32>) {
        let (mut from, mut to) = (*life.start() as usize + self.leaves, *life.end() as usize + self.leaves + 1);
        while from < to {
            if from % 2 == 1 {
                self.nodes[from].push(index);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                self.nodes[to].push(index);
            }
            (from, to) = (from / 2, to / 2);
        }
        self.by_start.insert((*life.start(), index));
    }

    /// Returns the lifetimes that contain the first step of `life`, and the lifetimes that begin
    /// later within `life`.
    fn together_with(&self, life: &RangeInclusive<u32>) -> impl Iterator<Item = usize> {
        let leaf = *life.start() as usize + self.leaves;
        let path = std::iter::successors(Some(leaf), |node| (*node > 1).then_some(node / 2));
        let later = (*life.start() + 1, 0)..(*life.end() + 1, 0);
        let later = if life.start() < life.end() { Some(self.by_start.range(later)) } else { None };
        path.flat_map(|node| self.nodes[node].iter().copied())
            .chain(later.into_iter().flatten().map(|&(_, index)| index))
    }
}

/// The peak of the bytes that are alive.
pub struct Occupancy {
    /// Largest number of bytes that are alive at once. Every placement needs at least this many
    /// bytes.
    pub peak: u64,
    /// The first step at this peak.
    pub step: u32,
}

impl Occupancy {
    /// Sums the bytes that are alive at each step.
    pub fn of(requests: &[PlacementRequest]) -> Occupancy {
        let mut changes: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for request in requests {
            changes.entry(*request.life.start()).or_default().0 += request.bytes;
            changes.entry(*request.life.end() + 1).or_default().1 += request.bytes;
        }
        let mut occupancy = Occupancy { peak: 0, step: 0 };
        let mut alive = 0;
        for (step, (born, gone)) in changes {
            alive = alive + born - gone;
            if alive > occupancy.peak {
                occupancy = Occupancy { peak: alive, step };
            }
        }
        occupancy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: u64, first: u32, last: u32) -> PlacementRequest {
        PlacementRequest { bytes, life: first..=last }
    }

    /// Fails if two values that are alive together share bytes. Returns the size of the arena.
    fn placed(requests: &[PlacementRequest]) -> u64 {
        let placement = place(requests);
        for (number, one) in requests.iter().enumerate() {
            let start = placement.offsets[number];
            assert!(start + one.bytes <= placement.bytes);
            for (other, place) in requests[..number].iter().zip(&placement.offsets) {
                let together = one.life.start() <= other.life.end() && other.life.start() <= one.life.end();
                assert!(!together || start + one.bytes <= *place || place + other.bytes <= start, "{one:?} {other:?}");
            }
        }
        placement.bytes
    }

    #[test]
    fn a_large_late_value_is_not_pushed_up_by_small_early_ones() {
        // In order of birth, the small values are at 0 and 64. Then the first ends, and 128 bytes
        // fit only behind the second.
        let requests = [request(64, 0, 1), request(64, 1, 5), request(128, 2, 5)];
        assert_eq!(placed(&requests), 192);
    }

    /// Orders by size, by birth and by length of life all give an arena of 9 times 64 bytes.
    #[test]
    fn what_sticks_out_is_placed_earlier() {
        let requests = [request(192, 1, 4), request(128, 0, 2), request(192, 2, 2), request(256, 4, 7)];
        assert_eq!(placed(&requests), 512);
    }

    #[test]
    fn random_lives_never_overlap_and_little_is_wasted() {
        let mut seed = 7u64;
        let mut below = |bound: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % bound
        };
        let (mut needed, mut occupied) = (0, 0);
        for _ in 0..50 {
            let requests: Vec<PlacementRequest> = (0..60)
                .map(|_| {
                    let first = below(40) as u32;
                    request(64 * (1 + below(30)), first, first + below(12) as u32)
                })
                .collect();
            needed += Occupancy::of(&requests).peak;
            occupied += placed(&requests);
        }
        assert!(occupied * 100 <= needed * 108, "{occupied} bytes for {needed}");
    }

    #[test]
    fn places_for_very_many_values_are_found() {
        let requests: Vec<PlacementRequest> =
            (0..80_000).map(|it| request(64 * u64::from(1 + it % 7), it, it + 5)).collect();
        let least = Occupancy::of(&requests);
        assert!(place(&requests).bytes < 2 * least.peak);
    }
}
