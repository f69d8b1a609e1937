//! Splits a prediction into parts, so that the author of an emitter sees which parts are too large
//! or missing.

use super::{Totals, visits};
use crate::device::DeviceDescription;
use crate::emitter::{Fusion, Plan, Visit};
use crate::hlo::InstrId;

/// The parts of a predicted time.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// The values and the work of each visit, in the plan's order.
    pub visits: Vec<(Vec<InstrId>, Amount)>,
    /// The work of writing the results.
    pub writes: Amount,
    /// The work that the plan states in addition to its visits.
    pub work: Amount,
    /// The parts of the time of the whole kernel.
    pub times: Times,
}

/// The work of a part of a kernel, in all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// Number of additions. Other operations are converted to the number of additions that take as
    /// long. One operation on all lanes of a vector is one addition.
    pub additions: f64,
    /// Bytes transferred from and to memory, including repeated reads.
    pub bytes: f64,
}

/// The parts of a predicted time, in seconds. Computing, memory traffic and waiting overlap, so the
/// total contains the longest of the three and a quarter of the other two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Time from the launch until all cores work.
    pub launch: f64,
    /// Time in which all threads together compute all additions.
    pub computing: f64,
    /// Time to transfer all bytes at the bandwidth of the cache or memory that holds the arrays.
    pub memory: f64,
    /// Time that a thread waits for reads and barriers.
    pub waiting: f64,
    /// Penalty for results that may differ between runs.
    pub unordered: f64,
}

/// Computes the same prediction as [`predict`](super::predict), split into its parts.
pub fn breakdown(plan: &Plan, fusion: &Fusion, device: &DeviceDescription) -> Breakdown {
    let mut totals = Totals::new(plan, fusion, device);
    let visited = visits(plan, fusion);
    let part = |visit: &Visit| {
        let before = totals.amount();
        totals.visit(visit);
        (visit.values.clone(), totals.amount().since(before))
    };
    let visits = visited.iter().map(part).collect();
    let before = totals.amount();
    totals.writes();
    let writes = totals.amount().since(before);
    let work = Amount { additions: totals.additions_of_work(), bytes: 0.0 };
    Breakdown { visits, writes, work, times: totals.times() }
}

impl Amount {
    fn since(self, before: Amount) -> Amount {
        Amount { additions: self.additions - before.additions, bytes: self.bytes - before.bytes }
    }
}
