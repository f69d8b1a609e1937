//! What the kernel will do.

use fusebox_core::analysis::ScatterShape;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, Fusion, LaunchDimensions, OutputPlan, Plan};
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable};

use crate::owned::Owned;
use crate::problem::Problem;
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
        let deterministic = match knob(configuration, "deterministic", 0..=1)? {
            Some(0) if must_be_ordered(problem) => {
                let message = "knob deterministic is 0, but no atomic operation does what these updates need".into();
                return Err(EmitError { message, instruction: None });
            }
            Some(value) => value == 1,
            None => must_be_ordered(problem) || is_cheap_to_walk(problem),
        };
        if deterministic && !problem.is_order_free() {
            return Ok(Schedule::Owned(Owned::new(problem, device)));
        }
        Updates::new(problem, device, configuration).map(Schedule::Updates)
    }

    fn launch(&self) -> LaunchDimensions {
        match self {
            Schedule::Slabs(slabs) => slabs.launch(),
            Schedule::Updates(updates) => updates.launch(),
            Schedule::Owned(owned) => owned.launch(),
        }
    }

    fn output(&self, shape: &ScatterShape, initial: u32) -> OutputPlan {
        match self {
            Schedule::Slabs(slabs) => OutputPlan::updates(slabs.map(shape), initial),
            Schedule::Updates(updates) => OutputPlan::updates(updates.map(shape), initial),
            Schedule::Owned(owned) => OutputPlan::in_place(owned.map(shape), initial),
        }
    }

    fn configuration(&self) -> Configuration {
        match self {
            Schedule::Slabs(slabs) => slabs.configuration(),
            Schedule::Updates(updates) => updates.configuration(),
            Schedule::Owned(owned) => owned.configuration(),
        }
    }

    fn alternatives(&self, problem: &Problem) -> Vec<Configuration> {
        let deterministic = |value| Configuration([("deterministic".to_owned(), value)].into());
        match self {
            Schedule::Slabs(slabs) => slabs.alternatives(),
            Schedule::Updates(updates) if problem.is_order_free() => updates.alternatives(),
            Schedule::Updates(updates) => [updates.alternatives(), vec![deterministic(1)]].concat(),
            Schedule::Owned(_) if must_be_ordered(problem) => Vec::new(),
            Schedule::Owned(_) => vec![deterministic(0)],
        }
    }

    fn note(&self) -> String {
        match self {
            Schedule::Slabs(slabs) => slabs.note(),
            Schedule::Updates(updates) => updates.note(),
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
            Schedule::Updates(_) | Schedule::Owned(_) => 0,
        },
        outputs: problem.initial.iter().map(|&initial| schedule.output(&problem.shape, initial)).collect(),
        vector_lanes: match &schedule {
            Schedule::Updates(updates) => updates.lanes() as u32,
            Schedule::Slabs(_) | Schedule::Owned(_) => 1,
        },
        configuration: schedule.configuration(),
        alternatives: schedule.alternatives(&problem),
        notes: vec![schedule.note()],
    })
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

/// The knob of that name, if the configuration sets it.
///
/// # Errors
/// If the value is outside of `allowed`.
pub fn knob(
    configuration: &Configuration,
    name: &str,
    allowed: std::ops::RangeInclusive<i64>,
) -> Result<Option<i64>, EmitError> {
    match configuration.0.get(name) {
        Some(value) if !allowed.contains(value) => Err(EmitError {
            message: format!("knob {name} is {value}, it must be {} to {}", allowed.start(), allowed.end()),
            instruction: None,
        }),
        value => Ok(value.copied()),
    }
}

/// `a / b`, rounded up; both positive and far from overflow.
pub fn ceil_div(a: i64, b: i64) -> i64 {
    a / b + i64::from(a % b != 0)
}
