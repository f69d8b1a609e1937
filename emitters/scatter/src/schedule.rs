//! The common code of the scatter emitters. A schedule distributes the work, and this distribution
//! determines the launch, the maps and the code.

use std::marker::PhantomData;

use fusebox_core::analysis::ScatterShape;
use fusebox_core::builder::{KernelBuilder, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Blocks, Configuration, Decline, EmitError, Kernel, LaunchDimensions, OutputPlan, Plan, Strategy, Task, Visit, Work,
};
use fusebox_core::hlo::InstrId;
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};

use crate::body::ScatterBody;
use crate::problem::ScatterProblem;

/// Number of threads of a block. Four warps per block hide latency, and a core still has room for
/// other blocks.
pub const THREADS: i64 = 128;
/// Maximum number of blocks of a grid dimension on every GPU. If the work needs more blocks, each
/// thread processes several units in a loop.
pub const MOST_BLOCKS: i64 = (1 << 31) - 1;

/// A distribution of the work over threads.
pub trait ScatterSchedule: Sized {
    /// Kind of blocks that the schedule supports.
    const BLOCKS: Blocks = Blocks::OfManyThreads;

    /// See [`Strategy::check`].
    fn check(_problem: &ScatterProblem, _device: &DeviceDescription) -> Result<(), Decline> {
        Ok(())
    }

    /// Chooses all sizes that the configuration does not set.
    fn new(
        problem: &ScatterProblem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError>;

    fn launch(&self) -> LaunchDimensions;

    /// Returns the map `(th, bl)[…]{starts…} -> index of the output`. The map has a point for every
    /// update, or for every element of the output.
    fn map(&self, shape: &ScatterShape) -> IndexingMap;

    /// Returns the plan of an output whose initial value is parameter `initial`.
    fn output(&self, shape: &ScatterShape, initial: u32) -> OutputPlan {
        OutputPlan::updates(self.map(shape), initial)
    }

    fn configuration(&self) -> Configuration {
        Configuration::default()
    }

    /// Returns alternative settings of the knobs, which the tuner can measure.
    fn alternatives(&self) -> Vec<Configuration> {
        Vec::new()
    }

    /// Returns a description of the schedule for users.
    fn note(&self) -> String;

    /// Returns the number of adjacent updates that a thread processes at once.
    fn lanes(&self) -> i64 {
        1
    }

    /// Returns the visits. Threads read each update once.
    fn visits(&self, problem: &ScatterProblem) -> Vec<Visit> {
        let of = |&update: &InstrId| evenly(self.launch(), update, &problem.shape.updates);
        problem.updates.iter().map(of).collect()
    }

    /// Returns the work, without the reads.
    fn work(&self, problem: &ScatterProblem) -> Work;

    /// Returns the number of bytes of shared memory of a block.
    fn shared_bytes(&self, _problem: &ScatterProblem) -> u32 {
        0
    }

    /// Emits the loops.
    fn emit(&self, kernel: &mut KernelBuilder, body: &ScatterBody, outputs: &[Value]) -> Vec<Value>;
}

/// The emitter of a schedule.
pub struct ScatterEmitter<S>(PhantomData<fn() -> S>);

impl<S> ScatterEmitter<S> {
    /// The only value of this type.
    pub const EMITTER: Self = ScatterEmitter(PhantomData);
}

impl<S: ScatterSchedule> Strategy for ScatterEmitter<S> {
    type Problem = ScatterProblem;

    fn blocks(&self) -> Blocks {
        S::BLOCKS
    }

    fn check(&self, task: &Task<ScatterProblem>) -> Result<(), Decline> {
        S::check(task.problem, task.device)
    }

    fn plan(&self, task: &Task<ScatterProblem>, configuration: &Configuration) -> Result<Plan, EmitError> {
        let Task { problem, device, .. } = *task;
        let schedule = S::new(problem, device, configuration)?;
        let outputs = problem.initial.iter().map(|&initial| schedule.output(&problem.shape, initial)).collect();
        Ok(Plan {
            shared_bytes: schedule.shared_bytes(problem),
            visits: schedule.visits(problem),
            work: schedule.work(problem),
            vector_lanes: schedule.lanes() as u32,
            configuration: schedule.configuration(),
            alternatives: schedule.alternatives(),
            notes: vec![schedule.note()],
            ..Plan::new(schedule.launch(), outputs)
        })
    }

    fn emit(&self, task: &Task<ScatterProblem>, plan: &Plan) -> Result<Kernel, EmitError> {
        let Task { problem, fusion, device } = *task;
        let schedule = S::new(problem, device, &plan.configuration)?;
        let mut kernel = KernelBuilder::new(fusion);
        let body = ScatterBody::new(&mut kernel, problem, device);
        let outputs = kernel.outputs().to_vec();
        let written = schedule.emit(&mut kernel, &body, &outputs);
        kernel.finish(&written)
    }
}

/// Returns a visit of an array whose elements are distributed evenly. A thread visits elements
/// `thread + threads * (block + blocks * step)`.
pub fn evenly(launch: LaunchDimensions, array: InstrId, dims: &[i64]) -> Visit {
    let (threads, blocks) = (i64::from(launch.threads_per_block), launch.blocks as i64);
    let count: i64 = dims.iter().product();
    let steps = ceil_div(count, threads.saturating_mul(blocks)).max(1);
    // A block of one thread visits contiguous elements.
    let (of_block, of_step) = if threads == 1 { (steps, 1) } else { (threads, threads * blocks) };
    let element = Expr::range(0) * of_step + Expr::dim(1) * of_block + Expr::dim(0);
    let map = IndexingMap {
        dims: vec![Variable::named("th", threads), Variable::named("bl", blocks)],
        ranges: vec![Variable::named("step", steps)],
        results: delinearize(&element, dims),
        ..IndexingMap::default()
    };
    let map = map.with_constraint(element, Interval::from_size(count));
    Visit { map, values: vec![array], given: Vec::new() }
}

/// Adds a runtime variable for each component of an index vector. The range of the variable
/// contains only starts of slices that fit.
pub fn runtime_starts(map: &mut IndexingMap, shape: &ScatterShape) -> Vec<Expr> {
    let start = |(number, &dim): (usize, &usize)| {
        let bounds = Interval::new(0, shape.operand[dim].last_start());
        map.runtime.push(Variable { bounds, ..Variable::named(&format!("start{dim}"), 1) });
        Expr::runtime(number as u32)
    };
    shape.components.iter().enumerate().map(start).collect()
}
