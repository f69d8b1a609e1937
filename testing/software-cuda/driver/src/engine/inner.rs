//! Work that other work has issued while it was executed: the bodies of loops and branches.
//!
//! The clocks of later work are made before it is known which work a loop will issue. They contain
//! the loop, and are completed by the loop's work when the loop has ended.

use std::collections::BTreeMap;

use super::clock::Clock;

/// For each lane, its finished work that has issued other work: its position, and the clock that
/// contains the other work, in the order of the positions.
#[derive(Debug, Default)]
pub struct Inner(BTreeMap<u32, Vec<(u64, Clock)>>);

impl Inner {
    /// Notes the work that the work at a position of a lane has issued. The clock must be complete.
    /// Work of a lane finishes in the order of its positions.
    pub fn add(&mut self, lane: u32, position: u64, clock: Clock) {
        let all = self.0.entry(lane).or_default();
        // Later work of the lane is ordered after earlier work.
        let mut clock = clock;
        all.last().into_iter().for_each(|(_, earlier)| clock.join(earlier));
        all.push((position, clock));
    }

    /// Adds to a clock the work that its work has issued.
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
