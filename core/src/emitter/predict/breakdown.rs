//! A prediction split into parts, so that the author of a plan sees the parts that are too large or
//! missing.

use super::{Totals, visits};
use crate::device::DeviceDescription;
use crate::emitter::{Fusion, Plan, Visit};
use crate::hlo::InstrId;

/// The parts of a predicted time.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// The visits, in the plan's order.
    pub visits: Vec<(Vec<InstrId>, Amount)>,
    /// Writing the results.
    pub writes: Amount,
    /// The plan's `work`.
    pub work: Amount,
    /// Seconds of the whole kernel.
    pub times: Times,
}

/// The work of a part of a kernel, in all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// Additions of single numbers, or operations converted to these. One operation on all lanes of
    /// a vector is one addition.
    pub additions: f64,
    /// Bytes moved through memory, repeated reads included.
    pub bytes: f64,
}

/// Seconds. Computing, memory and waiting overlap: the total has the longest of the three and a
/// quarter of the other two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// From the launch until all cores work.
    pub launch: f64,
    /// Time of all additions, distributed over the threads.
    pub computing: f64,
    /// Time of all bytes at the bandwidth of the cache or memory that holds the arrays.
    pub memory: f64,
    /// Time that a thread waits for reads and barriers.
    pub waiting: f64,
    /// Penalty for results that may differ between runs.
    pub unordered: f64,
}

/// Computes the prediction of [`predict`](super::predict) part by part.
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
