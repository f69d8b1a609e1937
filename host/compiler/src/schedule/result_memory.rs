//! Places temporary values in the memory of results, as long as the results are not written yet.
//!
//! The caller of a program gets the memory of each result, so each result has its own allocation.
//! The memory of a result exists from the beginning of an execution, and can hold temporary values
//! before the first use of the result.

use std::cmp::Reverse;

use super::placement::{ArenaPlacement, Occupancy, PlacementRequest, place, tightest_gap};

/// The memory of results is used only if the number of temporary values, multiplied by the number
/// of results, is at most this number.
const MOST_PAIRS: usize = 1 << 20;

/// For each temporary value, the number of the result whose memory holds the value, and the value's
/// offset in this memory. `None` if the value is not in the memory of a result.
type InResults = Vec<Option<(usize, u64)>>;

/// The placement of temporary values in the memory of results and in the arena.
#[derive(Debug)]
pub struct SharedPlacement {
    /// The values that are in the memory of results.
    pub in_results: InResults,
    /// The arena contains, in order, the values that are not in the memory of results. This field
    /// holds the values' offsets in the arena, and the size of the arena.
    pub arena: ArenaPlacement,
}

/// The memory of a result, and the values in it.
struct ResultMemory<'r> {
    number: usize,
    values: Vec<(u64, &'r PlacementRequest)>,
}

impl ResultMemory<'_> {
    /// Returns the offset in this memory at which a value has a free place. The memory has `bytes`
    /// bytes.
    fn place(&self, request: &PlacementRequest, bytes: u64) -> Option<u64> {
        let is_together = |other: &PlacementRequest| {
            other.life.start() <= request.life.end() && request.life.start() <= other.life.end()
        };
        let together = self.values.iter().filter(|(_, other)| is_together(other));
        let mut occupied: Vec<(u64, u64)> = together.map(|&(start, other)| (start, start + other.bytes)).collect();
        occupied.sort_unstable();
        let offset = tightest_gap(&occupied, request.bytes);
        (offset + request.bytes <= bytes).then_some(offset)
    }
}

/// Places temporary values. Uses the memory of results only if this makes the arena smaller. The
/// requests of results have the sizes of their allocations.
pub fn share(temporaries: &[PlacementRequest], results: &[PlacementRequest]) -> SharedPlacement {
    let alone = SharedPlacement { in_results: vec![None; temporaries.len()], arena: place(temporaries) };
    if results.is_empty() || alone.arena.bytes == 0 || temporaries.len() * results.len() > MOST_PAIRS {
        return alone;
    }
    // No order is best for every program. The last values before a result fit best to its memory,
    // because they leave the rest of the time to other values.
    let by_size = |it: &PlacementRequest| (Reverse(it.bytes), Reverse(*it.life.end()));
    let by_end = |it: &PlacementRequest| (Reverse(*it.life.end()), Reverse(it.bytes));
    let candidates = [in_results(temporaries, results, by_size), in_results(temporaries, results, by_end)];
    let peak = |places: &InResults| Occupancy::of(&others(temporaries, places)).peak;
    let best = candidates.into_iter().min_by_key(peak).filter(|places| peak(places) < alone.arena.bytes);
    let Some(in_results) = best else { return alone };
    let arena = place(&others(temporaries, &in_results));
    if arena.bytes < alone.arena.bytes { SharedPlacement { in_results, arena } } else { alone }
}

/// Places values in the memory of results, in the order of a key, each in the first memory with
/// space for it.
fn in_results<K: Ord>(
    temporaries: &[PlacementRequest],
    results: &[PlacementRequest],
    key: impl Fn(&PlacementRequest) -> K,
) -> InResults {
    let memory = |(number, result): (usize, _)| ResultMemory { number, values: vec![(0, result)] };
    let mut memories: Vec<ResultMemory> = results.iter().enumerate().map(memory).collect();
    // A large value needs a large result, so the small results are tried first.
    memories.sort_by_key(|memory| results[memory.number].bytes);
    let mut order: Vec<usize> = (0..temporaries.len()).collect();
    order.sort_by_key(|&index| key(&temporaries[index]));
    let mut places = vec![None; temporaries.len()];
    for index in order {
        let request = &temporaries[index];
        let fits = |memory: &mut ResultMemory<'_>| memory.place(request, results[memory.number].bytes);
        if let Some((offset, memory)) = memories.iter_mut().find_map(|memory| Some((fits(memory)?, memory))) {
            memory.values.push((offset, request));
            places[index] = Some((memory.number, offset));
        }
    }
    places
}

/// Returns the values that are not in the memory of a result.
fn others(temporaries: &[PlacementRequest], places: &InResults) -> Vec<PlacementRequest> {
    temporaries.iter().zip(places).filter(|(_, place)| place.is_none()).map(|(request, _)| request.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: u64, first: u32, last: u32) -> PlacementRequest {
        PlacementRequest { bytes, life: first..=last }
    }

    #[test]
    fn a_value_is_in_a_result_that_is_written_later() {
        let temporaries = [request(128, 0, 1), request(64, 0, 2), request(64, 1, 3)];
        let shared = share(&temporaries, &[request(64, 3, 9), request(192, 2, 9)]);
        assert_eq!(shared.in_results, [Some((1, 0)), Some((0, 0)), None]);
        assert_eq!((shared.arena.offsets, shared.arena.bytes), (vec![0], 64));
    }

    #[test]
    fn the_last_value_before_a_result_is_in_its_memory() {
        let temporaries = [request(64, 1, 2), request(64, 2, 3), request(64, 3, 4)];
        let shared = share(&temporaries, &[request(64, 4, 5)]);
        assert_eq!((shared.in_results, shared.arena.bytes), (vec![None, Some((0, 0)), None], 64));
    }

    #[test]
    fn values_that_are_alive_together_do_not_overlap() {
        let mut seed = 11u64;
        let mut below = |bound: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % bound
        };
        let mut used = 0;
        for _ in 0..50 {
            let temporaries: Vec<PlacementRequest> = (0..40)
                .map(|_| {
                    let first = below(30) as u32;
                    request(64 * (1 + below(30)), first, first + below(12) as u32)
                })
                .collect();
            let results: Vec<PlacementRequest> =
                (0..4).map(|_| request(40 + 64 * below(40), below(40) as u32, 50)).collect();
            let shared = share(&temporaries, &results);
            let placed = temporaries.iter().zip(&shared.in_results).filter_map(|(it, place)| Some((it, (*place)?)));
            let placed: Vec<(&PlacementRequest, (usize, u64))> =
                placed.chain(results.iter().zip((0..4).map(|number| (number, 0)))).collect();
            used += placed.len() - 4;
            for (number, (one, (memory, start))) in placed.iter().enumerate() {
                assert!(start + one.bytes <= results[*memory].bytes && start % 64 == 0);
                for (other, (of_other, place)) in &placed[..number] {
                    let together = one.life.start() <= other.life.end() && other.life.start() <= one.life.end();
                    let apart = start + one.bytes <= *place || place + other.bytes <= *start;
                    assert!(memory != of_other || !together || apart, "{one:?} {other:?}");
                }
            }
            assert!(shared.arena.bytes <= place(&temporaries).bytes);
        }
        assert!(used > 100, "the memory of results is hardly used: {used}");
    }
}
