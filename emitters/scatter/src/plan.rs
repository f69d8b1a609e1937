//! What the kernel will do.

use fusebox_core::analysis::ScatterShape;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, Fusion, LaunchDimensions, OutputPlan, Plan};
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable};

use crate::gathered::Gathered;
use crate::owned::Owned;
use crate::problem::Problem;
use crate::runs::{self, Runs};
use crate::slabs::Slabs;
use crate::updates::Updates;

/// Threads of a block: four warps hide latency, and leave cores room for other blocks.
pub const THREADS: i64 = 128;
/// A grid dimension ends here on every GPU; beyond it threads loop.
pub const MOST_BLOCKS: i64 = (1 << 31) - 1;
/// Up to so many looks at an index vector, the deterministic schedule is as good as the other one.
const CHEAP_WALK: i64 = 1 << 24;

/// How the work is dealt. Everything else follows from it: `plan` takes the launch and the maps from it,
/// `emit` the code.
pub enum Schedule {
    /// Blocks of one thread, each with a part of the output.
    Slabs(Slabs),
    /// Many threads, each with a few updates.
    Updates(Updates),
    /// Many threads, each with the same few updates of several slices in a row.
    Runs(Runs),
    /// Blocks that own rows and gather the slices that go there.
    Gathered(Gathered),
    /// Many threads, each with an element of the output.
    Owned(Owned),
}

impl Schedule {
    /// The schedule for a configuration; what it leaves open is chosen.
    pub fn new(
        problem: &Problem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        if device.is_single_threaded_block() {
            return Slabs::new(problem, device, configuration).map(Schedule::Slabs);
        }
        let deterministic = match configuration.knob("deterministic", 0..=1)? {
            Some(0) if must_be_ordered(problem) => {
                let message = "knob deterministic is 0, but no atomic operation does what these updates need".into();
                return Err(EmitError { message, instruction: None });
            }
            Some(value) => value == 1,
            None => must_be_ordered(problem) || is_cheap_to_walk(problem),
        };
        if deterministic && !problem.is_order_free() {
            return Ok(match Gathered::new(problem, device) {
                Some(gathered) if !is_cheap_to_walk(problem) => Schedule::Gathered(gathered),
                _ => Schedule::Owned(Owned::new(problem, device)),
            });
        }
        let is_possible = runs::is_possible(problem);
        let slices = match Runs::slices(configuration)? {
            Some(slices) if slices > 1 && !is_possible => {
                let message = "knob slices is above 1, but these updates cannot be combined with each other".into();
                return Err(EmitError { message, instruction: None });
            }
            Some(slices) => slices,
            None if is_possible && problem.shape.sorted && !problem.shape.unique => {
                runs::default_slices(problem, device)
            }
            None => 1,
        };
        match slices {
            1 => Updates::new(problem, device, configuration).map(Schedule::Updates),
            _ => Runs::new(problem, device, slices).map(Schedule::Runs),
        }
    }

    fn launch(&self) -> LaunchDimensions {
        match self {
            Schedule::Slabs(slabs) => slabs.launch(),
            Schedule::Updates(updates) => updates.launch(),
            Schedule::Runs(runs) => runs.launch(),
            Schedule::Gathered(gathered) => gathered.launch(),
            Schedule::Owned(owned) => owned.launch(),
        }
    }

    fn output(&self, shape: &ScatterShape, initial: u32) -> OutputPlan {
        match self {
            Schedule::Slabs(slabs) => OutputPlan::updates(slabs.map(shape), initial),
            Schedule::Updates(updates) => OutputPlan::updates(updates.map(shape), initial),
            Schedule::Runs(runs) => OutputPlan::updates(runs.map(shape), initial),
            Schedule::Gathered(gathered) => OutputPlan::updates(gathered.map(shape), initial),
            Schedule::Owned(owned) => OutputPlan::in_place(owned.map(shape), initial),
        }
    }

    fn configuration(&self) -> Configuration {
        match self {
            Schedule::Slabs(slabs) => slabs.configuration(),
            Schedule::Updates(updates) => updates.configuration(),
            Schedule::Runs(runs) => runs.configuration(),
            Schedule::Gathered(gathered) => gathered.configuration(),
            Schedule::Owned(owned) => owned.configuration(),
        }
    }

    fn alternatives(&self, problem: &Problem, device: &DeviceDescription) -> Result<Vec<Configuration>, EmitError> {
        let knobs = |knobs: &[(&str, i64)]| Configuration(knobs.iter().map(|&(n, v)| (n.to_owned(), v)).collect());
        let others = Updates::new(problem, device, &Configuration::default())?;
        let mut all = match self {
            Schedule::Slabs(slabs) => return Ok(slabs.alternatives()),
            Schedule::Updates(updates) => updates.alternatives(),
            Schedule::Runs(_) | Schedule::Gathered(_) | Schedule::Owned(_) if must_be_ordered(problem) => Vec::new(),
            Schedule::Runs(_) | Schedule::Gathered(_) | Schedule::Owned(_) => vec![others.configuration()],
        };
        if runs::is_possible(problem) && !problem.shape.unique {
            all.extend([4, 16].map(|slices| knobs(&[("deterministic", 0), ("slices", slices)])));
        }
        if !problem.is_order_free() {
            all.push(knobs(&[("deterministic", 1)]));
        }
        let own = self.configuration();
        all.retain(|other| *other != own);
        Ok(all)
    }

    fn note(&self) -> String {
        match self {
            Schedule::Slabs(slabs) => slabs.note(),
            Schedule::Updates(updates) => updates.note(),
            Schedule::Runs(runs) => runs.note(),
            Schedule::Gathered(gathered) => gathered.note(),
            Schedule::Owned(_) => "each thread owns an element and walks all slices in order".into(),
        }
    }
}

/// Launch, maps and knobs.
pub fn plan(fusion: &Fusion, device: &DeviceDescription, configuration: &Configuration) -> Result<Plan, EmitError> {
    let problem = Problem::accepted(fusion)?;
    let schedule = Schedule::new(&problem, device, configuration)?;
    Ok(Plan {
        launch: schedule.launch(),
        shared_bytes: match &schedule {
            Schedule::Slabs(slabs) => slabs.shared_bytes(&problem),
            Schedule::Gathered(gathered) => gathered.shared_bytes(),
            _ => 0,
        },
        outputs: problem.initial.iter().map(|&initial| schedule.output(&problem.shape, initial)).collect(),
        vector_lanes: match &schedule {
            Schedule::Updates(updates) => updates.lanes() as u32,
            Schedule::Runs(runs) => runs.lanes() as u32,
            _ => 1,
        },
        configuration: schedule.configuration(),
        alternatives: schedule.alternatives(&problem, device)?,
        notes: vec![schedule.note()],
    })
}

/// The same, with the order of updates kept wherever it matters.
pub fn plan_in_order(
    fusion: &Fusion,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<Plan, EmitError> {
    let is_order_free = Problem::accepted(fusion)?.is_order_free();
    let keeps = |configuration: &Configuration| is_order_free || configuration.0.get("deterministic") != Some(&0);
    if !keeps(configuration) {
        let message = "knob deterministic is 0, but this emitter keeps the order of updates".into();
        return Err(EmitError { message, instruction: None });
    }
    let mut asked = configuration.clone();
    if !is_order_free && !device.is_single_threaded_block() {
        asked.0.insert("deterministic".into(), 1);
    }
    let mut plan = plan(fusion, device, &asked)?;
    plan.alternatives.retain(keeps);
    Ok(plan)
}

/// Whether updates of one element cannot be combined by an atomic operation.
fn must_be_ordered(problem: &Problem) -> bool {
    !problem.is_order_free() && !problem.can_be_atomic()
}

fn is_cheap_to_walk(problem: &Problem) -> bool {
    problem.shape.operand_elements().saturating_mul(problem.shape.slices()) <= CHEAP_WALK
}

/// Adds a runtime variable for each component of an index vector, as if slices that do not fit were moved inside.
pub fn runtime_starts(map: &mut IndexingMap, shape: &ScatterShape) -> Vec<Expr> {
    let start = |(number, &dim): (usize, &usize)| {
        let bounds = Interval::new(0, shape.operand[dim].last_start());
        map.runtime.push(Variable { bounds, ..Variable::named(&format!("start{dim}"), 1) });
        Expr::runtime(number as u32)
    };
    shape.components.iter().enumerate().map(start).collect()
}
