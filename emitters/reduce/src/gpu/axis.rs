//! Distribution of one dimension over threads.

use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};

/// A dimension of `size` positions. A thread processes every `threads`-th position, and reads
/// `unroll` positions concurrently.
///
/// A thread's positions are `(chunk * unroll + u) * threads + thread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadedAxis {
    pub size: i64,
    /// Number of threads over which the positions are distributed.
    pub threads: i64,
    unroll: i64,
}

impl ThreadedAxis {
    /// Unrolls at most `unroll` positions. A thread with fewer positions unrolls all of its
    /// positions.
    ///
    /// A thread reads unrolled positions concurrently only if all of them exist. Therefore, the
    /// steps that all threads have should form full iterations. The constructor may unroll any
    /// number of positions between half of `unroll` and `unroll`. The constructor chooses the
    /// number with which the fewest steps remain after the full iterations.
    pub fn new(size: i64, threads: i64, unroll: i64) -> Self {
        let full = (size / threads).max(1);
        let most = unroll.clamp(1, full);
        let left_over = |unroll: &i64| (full % unroll, -unroll);
        let unroll = ((most + 1) / 2..=most).min_by_key(left_over).unwrap_or(1);
        ThreadedAxis { size, threads, unroll }
    }

    /// Returns the maximum number of positions of one thread.
    pub fn steps(&self) -> i64 {
        ceil_div(self.size, self.threads)
    }

    /// Returns the number of positions that a thread reads concurrently.
    pub fn unroll(&self) -> i64 {
        self.unroll
    }

    /// Adds the loops of this axis to a map and returns the position of `thread`. If a loop must be
    /// unrolled, adds its number to the list `unrolled`.
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
