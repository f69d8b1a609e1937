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

/// Inverse of the fraction of the peak that may be wasted. The search stops when the arena exceeds
/// the peak by at most `1 / TOLERATED` of the peak.
const TOLERATED: u64 = 64;
/// Largest number of values for which the search tries more than the three usual orders of placing.
const MOST_IMPROVED: usize = 4096;
/// Largest number of values for which [`with_less_order`] searches a placement that orders fewer
/// pairs of thunks. The time grows with the third power of this number.
const MOST_REORDERED: usize = 256;
/// Number of orders of placing that the search derives from each of the three usual orders.
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

/// Returns a placement in an arena of at most the same size. In the returned placement, fewer
/// thunks must wait for other thunks for the sole reason that their values share bytes. The first
/// argument of `added` is a value that is used earlier than the second argument. `added` returns
/// the number of pairs of thunks that become ordered if the second value is placed in the memory of
/// the first value.
pub fn with_less_order(
    requests: &[PlacementRequest],
    placement: ArenaPlacement,
    added: &dyn Fn(usize, usize) -> usize,
) -> ArenaPlacement {
    if requests.len() > MOST_REORDERED {
        return placement;
    }
    let span = |it: &PlacementRequest| it.life.end() - it.life.start();
    let orders = [
        sorted(requests, |it| (*it.life.start(), *it.life.end())),
        sorted(requests, |it| (Reverse(it.bytes), Reverse(span(it)))),
        sorted(requests, |it| (Reverse(span(it)), Reverse(it.bytes))),
    ];
    let limit = placement.bytes;
    let others = orders.iter().filter_map(|order| in_order_within(requests, order, limit, added));
    let all = std::iter::once(placement).chain(others.map(|offsets| ArenaPlacement {
        bytes: requests.iter().zip(&offsets).map(|(request, offset)| offset + request.bytes).max().unwrap_or(0),
        offsets,
    }));
    // The first of equal placements is the usual one.
    all.min_by_key(|placement| order_added(requests, &placement.offsets, added)).unwrap_or_default()
}

/// Places one value after the other in an arena of `limit` bytes, each value at the offset that
/// orders the fewest additional pairs of thunks. Returns `None` if a value does not fit.
fn in_order_within(
    requests: &[PlacementRequest],
    order: &[usize],
    limit: u64,
    added: &dyn Fn(usize, usize) -> usize,
) -> Option<Vec<u64>> {
    let mut offsets = vec![0u64; requests.len()];
    for (count, &index) in order.iter().enumerate() {
        let request = &requests[index];
        let placed = &order[..count];
        let end = |other: usize| offsets[other] + requests[other].bytes;
        let starts = placed.iter().flat_map(|&other| [Some(end(other)), offsets[other].checked_sub(request.bytes)]);
        let starts: BTreeSet<u64> = starts.flatten().chain([0]).collect();
        let cost = |&start: &u64| {
            let until = start + request.bytes;
            let mut met = placed.iter().copied().filter(|&other| offsets[other] < until && start < end(other));
            met.try_fold(0, |sum, other| Some(sum + between(requests, index, other, added)?))
        };
        let possible = starts.into_iter().filter(|start| start + request.bytes <= limit);
        let (_, best) = possible.filter_map(|start| Some((cost(&start)?, start))).min()?;
        offsets[index] = best;
    }
    Some(offsets)
}

/// Returns the number of pairs of thunks that become ordered because two values share bytes.
/// Returns `None` if the two values are alive at the same time.
fn between(
    requests: &[PlacementRequest],
    one: usize,
    other: usize,
    added: &dyn Fn(usize, usize) -> usize,
) -> Option<usize> {
    let (a, b) = (&requests[one].life, &requests[other].life);
    match () {
        () if a.end() < b.start() => Some(added(one, other)),
        () if b.end() < a.start() => Some(added(other, one)),
        () => None,
    }
}

/// Returns the number of pairs of thunks that become ordered because values share bytes.
fn order_added(requests: &[PlacementRequest], offsets: &[u64], added: &dyn Fn(usize, usize) -> usize) -> usize {
    let end = |index: usize| offsets[index] + requests[index].bytes;
    let of = |one: usize| {
        let met = (0..one).filter(move |&other| offsets[other] < end(one) && offsets[one] < end(other));
        met.filter_map(move |other| between(requests, one, other, added)).sum::<usize>()
    };
    (0..requests.len()).map(of).sum()
}

/// Returns, for each value, whether it ends where the arena ends. A value at the end of the arena
/// would have a lower offset if it were placed earlier.
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

/// Places one value after the other, each value in the tightest gap between the placed values that
/// are alive at the same time as the new value.
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
/// proportional to the number of found lifetimes plus the logarithm of the number of steps.
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

/// The peak of the bytes that are alive at the same time, and the first step of this peak.
pub struct Occupancy {
    /// Largest number of bytes that are alive at once. Every placement needs at least this many
    /// bytes.
    pub peak: u64,
    /// The first step at which the peak is reached.
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

    /// The three usual orders of placing (by size, by birth, by length of life) all lead to an
    /// arena of 9 times 64 bytes.
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
    fn values_of_independent_thunks_share_no_bytes_if_there_is_space() {
        // Values 0 and 1 are of one chain, 2 and 3 of another one. A large value makes the arena
        // large enough for all of them.
        let requests = [request(64, 0, 1), request(64, 1, 2), request(64, 3, 4), request(64, 4, 5), request(256, 6, 7)];
        let chain = [0, 0, 1, 1, 2];
        let added = |one: usize, other: usize| usize::from(chain[one] != chain[other] && other != 4);
        let usual = place(&requests);
        assert!(order_added(&requests, &usual.offsets, &added) > 0, "{usual:?}");
        let better = with_less_order(&requests, usual, &added);
        assert_eq!((order_added(&requests, &better.offsets, &added), better.bytes), (0, 256));
    }

    #[test]
    fn less_order_takes_no_more_memory() {
        // Only one place is possible.
        let requests = [request(64, 0, 1), request(64, 2, 3)];
        let usual = place(&requests);
        let (bytes, offsets) = (usual.bytes, usual.offsets.clone());
        let other = with_less_order(&requests, usual, &|_, _| 1);
        assert_eq!((other.bytes, other.offsets), (bytes, offsets));
    }

    #[test]
    fn places_for_very_many_values_are_found() {
        let requests: Vec<PlacementRequest> =
            (0..80_000).map(|it| request(64 * u64::from(1 + it % 7), it, it + 5)).collect();
        let least = Occupancy::of(&requests);
        assert!(place(&requests).bytes < 2 * least.peak);
    }
}
