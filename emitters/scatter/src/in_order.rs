//! The emitter for those who want updates of one element combined in the same order in every run, whatever that
//! costs: no schedule of its own, but the best one that keeps the order.

use fusebox_core::emitter::{Configuration, Decline, EmitError, Kernel, Plan, Strategy, Task};

use crate::gathered::Gathered;
use crate::owned::Owned;
use crate::problem::Problem;
use crate::runs::Runs;
use crate::schedule::Scatter;
use crate::slabs::Slabs;
use crate::updates::Updates;

/// For those who ask for it.
const SCORE: u32 = 700;

/// The emitter.
pub struct InOrder;

type AnySchedule = dyn Strategy<Problem = Problem>;

/// The best schedule that keeps the order, as far as it makes a difference.
fn best(task: &Task<Problem>) -> Result<&'static AnySchedule, Decline> {
    if task.device.is_single_threaded_block() {
        return Ok(&Scatter::<Slabs>::EMITTER);
    }
    let keep: [&AnySchedule; 2] = [&Scatter::<Gathered>::EMITTER, &Scatter::<Owned>::EMITTER];
    let free: [&AnySchedule; 2] = [&Scatter::<Runs>::EMITTER, &Scatter::<Updates>::EMITTER];
    let free = free.into_iter().filter(|_| task.problem.is_order_free());
    let scored = keep.into_iter().chain(free).filter_map(|it| Some((it.score(task).ok()?, it)));
    let best = scored.max_by_key(|&(score, _)| score);
    best.map(|(_, it)| it).ok_or_else(|| Decline::new("no schedule keeps the order of updates"))
}

impl Strategy for InOrder {
    type Problem = Problem;

    fn score(&self, task: &Task<Problem>) -> Result<u32, Decline> {
        best(task).map(|_| SCORE)
    }

    fn plan(&self, task: &Task<Problem>, configuration: &Configuration) -> Result<Plan, EmitError> {
        best(task)?.plan(task, configuration)
    }

    fn emit(&self, task: &Task<Problem>, plan: &Plan) -> Result<Kernel, EmitError> {
        best(task)?.emit(task, plan)
    }
}
