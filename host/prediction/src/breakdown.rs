//! Splits a prediction into parts, so that the author of an emitter sees which parts are too large
//! or missing.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, Plan, Visit};
use fusebox_core::hlo::InstrId;

use crate::totals::{Amount, Times, Totals, visits};

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

/// Computes the same prediction as [`predict`](crate::predict), split into its parts.
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
