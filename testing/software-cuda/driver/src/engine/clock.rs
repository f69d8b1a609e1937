//! Vector clocks, which state which work is ordered before other work.
//!
//! Every stream has a *lane*, a number, and the work of a lane has positions 1, 2, 3, …. A clock
//! holds one position per lane: all work of the lane up to this position is ordered before the
//! clock's owner. A clock serves two purposes. The scheduler starts a piece of work only when all
//! work in the clock of this piece is finished. The shadow of memory asks the clock whether an
//! earlier access is ordered before the current access, whatever order the scheduler happened to
//! choose.

use std::sync::Arc;

/// For each lane, the position up to which work is ordered before the owner of the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    positions: Vec<u64>,
}

impl Clock {
    /// Returns the position of a lane, 0 if no work of the lane is in the clock.
    pub fn position(&self, lane: u32) -> u64 {
        self.positions.get(lane as usize).copied().unwrap_or(0)
    }

    /// Adds to this clock all work of a lane up to a position.
    pub fn raise(&mut self, lane: u32, position: u64) {
        let lane = lane as usize;
        if self.positions.len() <= lane {
            self.positions.resize(lane + 1, 0);
        }
        self.positions[lane] = self.positions[lane].max(position);
    }

    /// Adds to this clock all work of another clock.
    pub fn join(&mut self, other: &Clock) {
        if self.positions.len() < other.positions.len() {
            self.positions.resize(other.positions.len(), 0);
        }
        for (mine, other) in self.positions.iter_mut().zip(&other.positions) {
            *mine = (*mine).max(*other);
        }
    }

    /// Whether all work of the other clock is in this clock.
    pub fn contains(&self, other: &Clock) -> bool {
        other.positions.iter().enumerate().all(|(lane, &position)| position <= self.position(lane as u32))
    }

    /// Returns the positions, in the order of the lanes.
    pub fn positions(&self) -> Arc<[u64]> {
        self.positions.as_slice().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(positions: &[u64]) -> Clock {
        Clock { positions: positions.to_vec() }
    }

    #[test]
    fn a_joined_clock_contains_both() {
        let mut joined = clock(&[3, 0, 5]);
        joined.join(&clock(&[1, 4]));
        assert_eq!(joined, clock(&[3, 4, 5]));
        assert!(joined.contains(&clock(&[1, 4])) && joined.contains(&clock(&[3, 0, 5, 0])));
        assert!(!joined.contains(&clock(&[0, 5])) && !joined.contains(&clock(&[0, 0, 0, 1])));
    }
}
