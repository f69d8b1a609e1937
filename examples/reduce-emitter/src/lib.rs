//! `simple-reduce`: a reduce emitter. On a GPU, a warp computes one result; on the cpu, a thread
//! computes several results.
//!
//! The file is best read from top to bottom: description, accepted fusions, plan (reads and
//! writes), code.
//!
//! ```text
//! result   = (block * warps + warp) * each + i
//! position = step * lanes + lane                    of the elements that become one result
//! ```

#![forbid(unsafe_code)]

use fusebox_core::analysis::{ReducedRoot, ReductionGroup, ReductionHero, ReductionKind, Start, reductions};
use fusebox_core::builder::KernelBuilder;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, LaunchDimensions, OutputPlan, Plan,
    StaticDescriptor, Verdict, Visit, Work,
};
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable, ceil_div, compose, delinearize};

/// The emitter.
pub struct SimpleReduce;

const SIMPLE_REDUCE: StaticDescriptor =
    StaticDescriptor { kind: "reduce", name: "simple-reduce", version: env!("CARGO_PKG_VERSION") };

fusebox_core::export_emitters!(SIMPLE_REDUCE => SimpleReduce);

/// Largest number of elements to reduce. Up to this limit, no number in a plan overflows.
const MOST_ELEMENTS: i64 = 1 << 40;
/// Number of blocks per core if blocks have one thread. With this number, all cores finish at about
/// the same time.
const BLOCKS_PER_CORE: i64 = 8;

impl Emitter for SimpleReduce {
    fn descriptor(&self) -> Descriptor {
        SIMPLE_REDUCE.into()
    }

    fn consider(&self, fusion: &Fusion, _device: &DeviceDescription) -> Verdict {
        Problem::of(fusion).map(|_| ()).into()
    }

    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        let problem = Problem::of(fusion)?;
        let schedule = Schedule::new(&problem, device, configuration)?;
        let launch = LaunchDimensions { blocks: schedule.blocks as u64, threads_per_block: schedule.threads() as u32 };
        let of_launch = |map: &IndexingMap| compose(map, &schedule.results(&problem)).unwrap_or_default();
        let (reading, written) = (of_launch(&schedule.elements(&problem)), of_launch(&schedule.written(&problem)));
        let hero = &problem.hero;
        let visits = vec![
            Visit { map: reading, values: vec![hero.values[0].operand], given: Vec::new() },
            Visit { map: written.clone(), values: vec![problem.root.instruction], given: vec![hero.instruction] },
        ];
        let combined = hero.problem.element_count() + schedule.lanes * problem.results();
        Ok(Plan {
            visits,
            work: Work { additions: combined as f64, ..Work::default() },
            configuration: schedule.configuration(),
            alternatives: schedule.alternatives(device),
            notes: vec![format!("{} lanes for each result of {}", schedule.lanes, hero.problem)],
            ..Plan::new(launch, vec![OutputPlan::unique(written)])
        })
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let problem = Problem::of(fusion)?;
        let schedule = Schedule::new(&problem, device, &plan.configuration)?;
        let (hero, root) = (&problem.hero, &problem.root);
        let mut kernel = KernelBuilder::new(fusion);
        // The host generates these functions. The kernel only calls them.
        let initial = kernel.values(&[hero.values[0].initial]);
        let operand = kernel.values(&[hero.values[0].operand]);
        let combiner = kernel.combiner(hero.instruction);
        let epilogue = kernel.epilogue(&[root.instruction], &[hero.instruction]);

        let (thread, block) = (kernel.thread(), kernel.block());
        let outputs = kernel.outputs().to_vec();
        let start = kernel.call_subgraph(&initial, &[], &[]);
        let written = kernel.indexed_loop(
            &schedule.results(&problem),
            &[thread, block],
            &outputs,
            &[],
            |b, _, point, outputs| {
                let total = b.indexed_loop(&schedule.elements(&problem), point, &start, &[], |b, _, index, total| {
                    let element = b.call_subgraph(&operand, index, &[]);
                    b.call_subgraph(&combiner, &[], &[total[0], element[0]])
                });
                // The first lane gets the combination of all lanes of its warp.
                let total = match schedule.lanes {
                    1 => total,
                    lanes => b.shuffle_reduce(combiner.symbol(), &total, lanes / 2),
                };
                b.indexed_loop(&schedule.written(&problem), point, outputs, &[], |b, _, index, outputs| {
                    let value = b.call_subgraph(&epilogue, index, &total);
                    vec![b.insert(value[0], outputs[0], index)]
                })
            },
        );
        kernel.finish(&written)
    }
}

/// A reduction of one array. The fusion's only result is an elementwise function of the reduction.
struct Problem {
    hero: ReductionHero,
    root: ReducedRoot,
}

impl Problem {
    /// # Errors
    /// Returns the reason why the emitter declines the fusion, as a text for the fusion's author.
    fn of(fusion: &Fusion) -> Result<Problem, Decline> {
        let mut found = reductions(fusion)?;
        let one = "takes one reduction of one array, with one result";
        let (Some(group), true) = (found.groups.pop(), found.groups.is_empty()) else { return Err(Decline::new(one)) };
        let ReductionGroup { heroes, roots, sides, .. } = group;
        let ([hero], [root], []) = (heroes.as_slice(), roots.as_slice(), sides.as_slice()) else {
            return Err(Decline::new(one));
        };
        if hero.values.len() != 1 || root.outputs.len() != 1 || root.heroes != [0] {
            return Err(Decline::new(one));
        }
        if hero.start != Start::Initial {
            return Err(Decline::new("each lane starts from the initial value, which would be combined several times"));
        }
        if hero.problem.element_count() > MOST_ELEMENTS {
            return Err(Decline::new(format!("takes at most {MOST_ELEMENTS} elements")));
        }
        Ok(Problem { hero: hero.clone(), root: root.clone() })
    }

    fn results(&self) -> i64 {
        self.hero.problem.kept_count()
    }

    /// Returns the index of an element in the operand. The element is at `position` among the
    /// elements that are reduced to `result`.
    fn operand_index(&self, result: &Expr, position: &Expr) -> Vec<Expr> {
        let problem = self.hero.problem;
        let [_, _, minor] = problem.dims;
        let (major, minor) = match problem.kind {
            ReductionKind::Row => (position.clone().floor_div(minor), position.clone().modulo(minor)),
            ReductionKind::Column => (result.clone().floor_div(minor), result.clone().modulo(minor)),
        };
        let middle = if problem.kind == ReductionKind::Row { result } else { position };
        substituted(&self.hero.to_operand, &[major, middle.clone(), minor])
    }

    /// Returns the root's index for the result with this number.
    fn root_index(&self, result: &Expr) -> Vec<Expr> {
        substituted(&self.root.from_kept, &delinearize(result, &self.hero.problem.kept_dims()))
    }
}

fn substituted(map: &IndexingMap, point: &[Expr]) -> Vec<Expr> {
    map.results.iter().map(|result| result.substitute(point, &[], &[])).collect()
}

/// The distribution of the work over threads.
struct Schedule {
    /// Threads per result.
    lanes: i64,
    /// Warps per block.
    warps: i64,
    /// Number of results that a warp computes one after another.
    each: i64,
    blocks: i64,
}

impl Schedule {
    fn new(
        problem: &Problem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Schedule, EmitError> {
        let lanes = i64::from(device.warp_size);
        let most = Schedule::most_warps(device);
        let warps = configuration.knob("warps", 1..=most)?.unwrap_or(most.min(4));
        let each = match device.is_single_threaded_block() {
            true => ceil_div(problem.results(), BLOCKS_PER_CORE * i64::from(device.core_count)).max(1),
            false => 1,
        };
        Ok(Schedule { lanes, warps, each, blocks: ceil_div(problem.results(), warps * each).max(1) })
    }

    fn most_warps(device: &DeviceDescription) -> i64 {
        i64::from((device.max_threads_per_block / device.warp_size).max(1))
    }

    fn configuration(&self) -> Configuration {
        Configuration::from([("warps", self.warps)])
    }

    /// Returns other configurations that are worth measuring.
    fn alternatives(&self, device: &DeviceDescription) -> Vec<Configuration> {
        let possible = [1, 2, 8, 16].into_iter().filter(|&warps| warps <= Schedule::most_warps(device));
        self.configuration().others(possible.map(|warps| Configuration::from([("warps", warps)])))
    }

    fn threads(&self) -> i64 {
        self.lanes * self.warps
    }

    /// Returns the map `(th, bl)[i] -> (th, result)`, which enumerates the results of a thread.
    fn results(&self, problem: &Problem) -> IndexingMap {
        let warp = Expr::dim(1) * self.warps + Expr::dim(0).floor_div(self.lanes);
        let result = warp * self.each + Expr::range(0);
        IndexingMap {
            dims: vec![Variable::named("th", self.threads()), Variable::named("bl", self.blocks)],
            ranges: vec![Variable::named("i", self.each)],
            results: vec![Expr::dim(0), result.clone()],
            ..IndexingMap::default()
        }
        .with_constraint(result, Interval::from_size(problem.results()))
    }

    /// Returns the map `(th, result)[step] -> operand's index`, which enumerates the elements that
    /// a lane reads for a result.
    fn elements(&self, problem: &Problem) -> IndexingMap {
        let count = problem.hero.problem.reduced_count();
        let position = Expr::range(0) * self.lanes + Expr::dim(0).modulo(self.lanes);
        IndexingMap {
            dims: self.thread_and_result(problem),
            ranges: vec![Variable::named("step", ceil_div(count, self.lanes))],
            results: problem.operand_index(&Expr::dim(1), &position),
            ..IndexingMap::default()
        }
        .with_constraint(position, Interval::from_size(count))
    }

    /// Returns the map `(th, result) -> root's index` to the element that the first lane writes.
    fn written(&self, problem: &Problem) -> IndexingMap {
        IndexingMap {
            dims: self.thread_and_result(problem),
            results: problem.root_index(&Expr::dim(1)),
            ..IndexingMap::default()
        }
        .with_constraint(Expr::dim(0).modulo(self.lanes), Interval::from_size(1))
    }

    fn thread_and_result(&self, problem: &Problem) -> Vec<Variable> {
        vec![Variable::named("th", self.threads()), Variable::named("result", problem.results())]
    }
}
