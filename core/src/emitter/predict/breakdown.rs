//! A prediction taken apart, so that the author of a plan sees the parts that are too large and
//! those that are missing.

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
    /// Seconds of all of it.
    pub times: Times,
}

/// The work of a part of a kernel, in all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// Additions of single numbers, or what takes as long; of a vector's lanes one.
    pub additions: f64,
    /// Bytes through memory, those that come several times included.
    pub bytes: f64,
}

/// Seconds. The longest of computing, memory and waiting counts, and a quarter of the other two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// From the launch until all cores are at work.
    pub launch: f64,
    /// All additions, shared by the threads.
    pub computing: f64,
    /// All bytes at the bandwidth of the cache or memory that holds the arrays.
    pub memory: f64,
    /// A thread's waiting for reads and barriers.
    pub waiting: f64,
    /// That results may differ from run to run.
    pub unordered: f64,
}

/// The prediction of [`predict`](super::predict), part by part.
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
