//! An emitter that combines the updates of one element in the same order in every run, even if this
//! takes longer. The emitter has no separate schedule. It uses the best schedule that keeps the
//! order.

use fusebox_core::emitter::{Configuration, Decline, EmitError, Kernel, Plan, Strategy, Task, predict};

use crate::atomic::AtomicScatter;
use crate::gathered::GatheredScatter;
use crate::owned::OwnedScatter;
use crate::problem::ScatterProblem;
use crate::runs::RunScatter;
use crate::schedule::ScatterEmitter;
use crate::slabs::SlabScatter;

/// The scatter-in-order emitter.
pub struct InOrder;

type AnySchedule = dyn Strategy<Problem = ScatterProblem>;

/// Returns the schedules that keep the order, or whose results do not depend on the order.
fn suitable(task: &Task<ScatterProblem>) -> Vec<&'static AnySchedule> {
    if task.device.is_single_threaded_block() {
        return vec![&ScatterEmitter::<SlabScatter>::EMITTER];
    }
    let keep: [&AnySchedule; 2] =
        [&ScatterEmitter::<GatheredScatter>::EMITTER, &ScatterEmitter::<OwnedScatter>::EMITTER];
    let free: [&AnySchedule; 2] = [&ScatterEmitter::<RunScatter>::EMITTER, &ScatterEmitter::<AtomicScatter>::EMITTER];
    let free = free.into_iter().filter(|_| task.problem.is_order_free());
    keep.into_iter().chain(free).filter(|it| it.check(task).is_ok()).collect()
}

/// Returns the suitable schedule with the least predicted time.
fn best(task: &Task<ScatterProblem>) -> Result<&'static AnySchedule, EmitError> {
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
    type Problem = ScatterProblem;

    fn is_on_request(&self) -> bool {
        true
    }

    fn check(&self, task: &Task<ScatterProblem>) -> Result<(), Decline> {
        if suitable(task).is_empty() { Err(Decline::new("no schedule keeps the order of updates")) } else { Ok(()) }
    }

    fn plan(&self, task: &Task<ScatterProblem>, configuration: &Configuration) -> Result<Plan, EmitError> {
        best(task)?.plan(task, configuration)
    }

    fn emit(&self, task: &Task<ScatterProblem>, plan: &Plan) -> Result<Kernel, EmitError> {
        best(task)?.emit(task, plan)
    }
}
