//! How one dimension is shared by threads.

use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};

/// A dimension of `size` positions, of which a thread takes every `threads`-th; `unroll` of them are in flight at once.
///
/// Position `(chunk * unroll + u) * threads + thread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Number of positions.
    pub size: i64,
    /// Threads that share them.
    pub threads: i64,
    unroll: i64,
}

impl Axis {
    /// With an unrolling of at most `unroll`; a thread that takes fewer positions unrolls them all.
    ///
    /// What is unrolled is in flight at once only where all of it exists. So the steps that all threads take should be
    /// full turns: from half of `unroll` on, the number that leaves the fewest of them over.
    pub fn new(size: i64, threads: i64, unroll: i64) -> Self {
        let full = (size / threads).max(1);
        let most = unroll.clamp(1, full);
        let left_over = |unroll: &i64| (full % unroll, -unroll);
        let unroll = ((most + 1) / 2..=most).min_by_key(left_over).unwrap_or(1);
        Axis { size, threads, unroll }
    }

    /// Positions of one thread, at most.
    pub fn steps(&self) -> i64 {
        ceil_div(self.size, self.threads)
    }

    /// Positions in flight.
    pub fn unroll(&self) -> i64 {
        self.unroll
    }

    /// Adds the axis's loops to a map and gives the position of `thread`. Numbers of loops to be unrolled are added
    /// to `unrolled`.
    pub fn walk(&self, map: &mut IndexingMap, unrolled: &mut Vec<usize>, name: &str, thread: Expr) -> Expr {
        let chunks = ceil_div(self.steps(), self.unroll);
        let mut step = Expr::constant(0);
        if chunks > 1 {
            step = Expr::range(map.ranges.len() as u32) * self.unroll;
            map.ranges.push(Variable::named(name, chunks));
        }
        if self.unroll > 1 {
            unrolled.push(map.ranges.len());
            step = step + Expr::range(map.ranges.len() as u32);
            map.ranges.push(Variable::named(&format!("{name}_u"), self.unroll));
        }
        let position = step * self.threads + thread;
        if chunks * self.unroll * self.threads > self.size {
            map.constraints.push(Constraint::new(position.clone(), Interval::from_size(self.size)));
        }
        position
    }
}
