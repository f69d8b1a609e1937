//! Work that other work issues during its own execution: the bodies of loops and branches.
//!
//! The engine makes the clocks of later work before it knows which work a loop will issue. At
//! first, the clock of work that waits for a loop contains only the loop itself. When the loop has
//! ended, the engine adds to this clock the work that the loop has issued.

use std::collections::BTreeMap;

use super::clock::Clock;

/// For each lane, the finished pieces of work that have issued other work, in the order of their
/// positions. An entry consists of the position of the piece of work, and the clock of the work
/// that it has issued.
#[derive(Debug, Default)]
pub struct Inner(BTreeMap<u32, Vec<(u64, Clock)>>);

impl Inner {
    /// Records that the work at a position of a lane has issued the work in `clock`. The caller
    /// must have applied [`Inner::complete`] to `clock`. Work of a lane finishes in the order of
    /// its positions.
    pub fn add(&mut self, lane: u32, position: u64, clock: Clock) {
        let all = self.0.entry(lane).or_default();
        // Later work of the lane is ordered after earlier work.
        let mut clock = clock;
        all.last().into_iter().for_each(|(_, earlier)| clock.join(earlier));
        all.push((position, clock));
    }

    /// If work in the clock has issued other work, adds the issued work to the clock.
    pub fn complete(&self, clock: &mut Clock) {
        let known = clock.clone();
        for (lane, all) in &self.0 {
            let count = all.partition_point(|(position, _)| *position <= known.position(*lane));
            if let Some((_, inner)) = count.checked_sub(1).and_then(|last| all.get(last)) {
                clock.join(inner);
            }
        }
    }
}
