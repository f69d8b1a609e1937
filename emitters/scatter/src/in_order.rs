//! The emitter for those who want updates of one element combined in the same order in every run, whatever that
//! costs: no schedule of its own, but the best one that keeps the order.

use fusebox_core::emitter::{Configuration, Decline, EmitError, Kernel, Plan, Strategy, Task, predict};

use crate::gathered::Gathered;
use crate::owned::Owned;
use crate::problem::Problem;
use crate::runs::Runs;
use crate::schedule::Scatter;
use crate::slabs::Slabs;
use crate::updates::Updates;

/// The emitter.
pub struct InOrder;

type AnySchedule = dyn Strategy<Problem = Problem>;

/// The schedules that keep the order, as far as it makes a difference.
fn suitable(task: &Task<Problem>) -> Vec<&'static AnySchedule> {
    if task.device.is_single_threaded_block() {
        return vec![&Scatter::<Slabs>::EMITTER];
    }
    let keep: [&AnySchedule; 2] = [&Scatter::<Gathered>::EMITTER, &Scatter::<Owned>::EMITTER];
    let free: [&AnySchedule; 2] = [&Scatter::<Runs>::EMITTER, &Scatter::<Updates>::EMITTER];
    let free = free.into_iter().filter(|_| task.problem.is_order_free());
    keep.into_iter().chain(free).filter(|it| it.check(task).is_ok()).collect()
}

/// The one of them that is predicted to take the least time.
fn best(task: &Task<Problem>) -> Result<&'static AnySchedule, EmitError> {
    let mut best: Option<(f64, &AnySchedule)> = None;
    for schedule in suitable(task) {
        let plan = schedule.plan(task, &Configuration::default())?;
        let seconds = predict(&plan, task.fusion, task.device).seconds;
        if best.is_none_or(|(least, _)| seconds < least) {
            best = Some((seconds, schedule));
        }
    }
    best.map(|(_, it)| it).ok_or_else(|| EmitError::new("no schedule keeps the order of updates"))
}

impl Strategy for InOrder {
    type Problem = Problem;

    fn is_on_request(&self) -> bool {
        true
    }

    fn check(&self, task: &Task<Problem>) -> Result<(), Decline> {
        match suitable(task).is_empty() {
            true => Err(Decline::new("no schedule keeps the order of updates")),
            false => Ok(()),
        }
    }

    fn plan(&self, task: &Task<Problem>, configuration: &Configuration) -> Result<Plan, EmitError> {
        best(task)?.plan(task, configuration)
    }

    fn emit(&self, task: &Task<Problem>, plan: &Plan) -> Result<Kernel, EmitError> {
        best(task)?.emit(task, plan)
    }
}
