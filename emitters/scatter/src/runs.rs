//! A schedule for blocks of many threads, for scatters whose consecutive slices often have equal
//! index vectors. Each thread processes a few adjacent updates of several consecutive slices. The
//! thread combines updates with equal index vectors in registers, and writes only when the index
//! vector changes.
//!
//! The result is correct for any indices. The schedule is worthwhile if indices are sorted.

use fusebox_core::analysis::{Combination, ScatterShape, SliceStart};
use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Type, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions, Work};
use fusebox_core::hlo::ElementType;
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};

use crate::atomic::most_lanes;
use crate::body::ScatterBody;
use crate::problem::ScatterProblem;
use crate::schedule::{MOST_BLOCKS, ScatterSchedule, THREADS, runtime_starts};

/// Number of slices whose updates a thread reads before it combines the first update.
const READ_AHEAD: i64 = 4;
/// Cost of comparing index vectors and combining an update, as a number of additions.
const COMPARING: f64 = 4.0;
/// Maximum number of slices of one thread. A thread processes its slices one after the other, so
/// the last slice waits for all previous slices.
const MOST_SLICES: i64 = 32;

/// Distribution of updates over threads. A run is a sequence of consecutive slices. Unit
/// `run * parts + part` consists of part number `part` of each slice of run number `run`.
pub struct RunScatter {
    threads: i64,
    blocks: i64,
    /// Number of slices of a run.
    slices: i64,
    /// Number of parts of each slice. A part has `lanes` updates.
    parts: i64,
    lanes: i64,
    units: i64,
    /// The operand dimension along which the updates of a part are adjacent.
    lane_dim: Option<usize>,
    /// Operand dimensions that updates span, in the order of the updates' dimensions.
    window_dims: Vec<usize>,
}

/// Updates that a thread holds in registers.
#[derive(Clone)]
struct PendingUpdates {
    /// Whether the thread holds updates. The thread holds only updates of slices that are inside
    /// the operand.
    any: Value,
    /// Index vector of the held updates.
    vector: Vec<Value>,
    /// The held updates, per lane and output.
    values: Vec<Vec<Value>>,
}

/// Whether updates of several slices can be combined before they are written.
fn is_possible(problem: &ScatterProblem) -> bool {
    let combines = |c: &Combination| matches!(c, Combination::Binary(_) | Combination::Replace);
    let has_batches = problem.shape.operand.iter().any(|dim| matches!(dim.start, SliceStart::Batch(_)));
    let has_zero = problem.elements.iter().all(|&element| element != ElementType::F8E8M0FNU);
    problem.can_be_atomic() && problem.combinations.iter().all(combines) && !has_batches && has_zero
}

/// Returns the number of consecutive slices per thread with which every core has enough threads.
fn default_slices(problem: &ScatterProblem, device: &DeviceDescription) -> i64 {
    let wanted = i64::from(device.core_count) * i64::from(device.max_threads_per_core);
    let (lanes, _) = most_lanes(problem, device);
    let most = (problem.update_elements() / lanes / wanted.max(1)).clamp(1, MOST_SLICES);
    1 << most.ilog2()
}

impl ScatterSchedule for RunScatter {
    fn check(problem: &ScatterProblem, device: &DeviceDescription) -> Result<(), Decline> {
        problem.check_atomic()?;
        if problem.shape.unique {
            return Err(Decline::new("indices are unique: no two updates have the same index"));
        }
        if !is_possible(problem) {
            return Err(Decline::new("these updates cannot be combined with each other"));
        }
        let runs = RunScatter::new(problem, device, &Configuration::default());
        runs.map(drop).map_err(|error| Decline::new(error.message))
    }

    fn new(
        problem: &ScatterProblem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        let slices = configuration.knob("slices", 2..=MOST_SLICES)?;
        let slices = slices.unwrap_or_else(|| default_slices(problem, device).max(2));
        let shape = &problem.shape;
        let (lanes, lane_dim) = most_lanes(problem, device);
        let parts = shape.window_elements() / lanes;
        let units = ceil_div(shape.slices(), slices) * parts;
        let threads = THREADS.min(i64::from(device.max_threads_per_block)).min(units.max(1));
        let blocks = ceil_div(units, threads).max(1);
        if blocks > MOST_BLOCKS {
            return Err(EmitError::new(format!("{units} parts of slices are more than a grid holds")));
        }
        let mut window_dims = shape.window_dims();
        window_dims.sort_by_key(|&dim| shape.operand[dim].update_dim);
        Ok(RunScatter { threads, blocks, slices, parts, lanes, units, lane_dim, window_dims })
    }

    fn launch(&self) -> LaunchDimensions {
        LaunchDimensions { blocks: self.blocks as u64, threads_per_block: self.threads as u32 }
    }

    /// Returns the map `(th, bl)[slice, lane]{starts…} -> index of the output`.
    fn map(&self, shape: &ScatterShape) -> IndexingMap {
        let mut map = self.places(shape);
        let mut window = map.results.split_off(1);
        let slice = map.results[0].clone() + Expr::range(0);
        map.results.clear();
        let starts = runtime_starts(&mut map, shape);
        map.ranges.push(Variable::named("slice", self.slices));
        if let Some(dim) = self.lane_dim {
            map.ranges.push(Variable::named("lane", self.lanes));
            window[dim] = window[dim].clone() + Expr::range(1);
        }
        if shape.slices() % self.slices != 0 {
            map.constraints.push(Constraint { expr: slice.clone(), bounds: Interval::from_size(shape.slices()) });
        }
        map.results = shape.landing(&[slice], &window, &starts);
        map
    }

    fn configuration(&self) -> Configuration {
        [("slices", self.slices)].into()
    }

    fn alternatives(&self) -> Vec<Configuration> {
        [4, 16].into_iter().filter(|&slices| slices != self.slices).map(|slices| [("slices", slices)].into()).collect()
    }

    fn note(&self) -> String {
        format!(
            "a thread combines its updates of {} slices in a row in registers while their indices are equal",
            self.slices
        )
    }

    /// Returns the work. If slices are sorted, threads combine their updates. If slices are not
    /// sorted, the estimate assumes that threads write each update separately, and that comparisons
    /// of index vectors save no writes.
    fn work(&self, problem: &ScatterProblem) -> Work {
        let meet = problem.shape.sorted && !problem.shape.unique;
        let comparing = COMPARING * problem.combined_elements() as f64;
        let written = problem.atomically(if meet { self.slices } else { 1 });
        Work { additions: written.additions + comparing, waits: 2.0 * self.slices as f64, ..written }
    }

    fn lanes(&self) -> i64 {
        self.lanes
    }

    fn emit(&self, kernel: &mut KernelBuilder, body: &ScatterBody, outputs: &[Value]) -> Vec<Value> {
        let point = [kernel.thread(), kernel.block()];
        let map = self.places(&body.problem.shape);
        kernel.indexed_loop(&map, &point, outputs, &[], |b, _, place, outputs| {
            self.run(b, body, place[0], &place[1..], outputs)
        })
    }
}

impl RunScatter {
    /// Returns the map `(th, bl) -> first slice, window coordinates of the first update` of a
    /// thread.
    fn places(&self, shape: &ScatterShape) -> IndexingMap {
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", self.threads), Variable::named("bl", self.blocks)],
            ..IndexingMap::default()
        };
        let unit = Expr::dim(1) * self.threads + Expr::dim(0);
        if self.units < self.threads * self.blocks {
            map.constraints.push(Constraint { expr: unit.clone(), bounds: Interval::from_size(self.units) });
        }
        let step = |dim: usize| if self.lane_dim == Some(dim) { self.lanes } else { 1 };
        let sizes: Vec<i64> = self.window_dims.iter().map(|&dim| shape.operand[dim].window / step(dim)).collect();
        let part = delinearize(&unit.clone().modulo(self.parts), &sizes);
        let mut window = vec![Expr::constant(0); shape.operand.len()];
        for (&dim, coordinate) in self.window_dims.iter().zip(part) {
            window[dim] = coordinate * step(dim);
        }
        map.results = vec![unit.floor_div(self.parts) * self.slices];
        map.results.extend(window);
        map
    }

    /// Processes all slices of a thread.
    fn run(
        &self,
        b: &mut FunctionBuilder,
        body: &ScatterBody,
        first: Value,
        window: &[Value],
        outputs: &[Value],
    ) -> Vec<Value> {
        let ahead = READ_AHEAD.min(self.slices);
        let (zero, end, step) = (b.index(0), b.index(self.slices), b.index(ahead));
        let nothing = self.nothing(b, body);
        let state = [nothing.all(), outputs.to_vec()].concat();
        let state = b.scf_for(zero, end, step, &state, |b, offset, state| {
            let (mut held, outputs) = self.split(body, state);
            let mut outputs = outputs.to_vec();
            let next = b.addi(first, offset);
            let read: Vec<PendingUpdates> = (0..ahead).map(|k| self.read(b, body, next, k, window)).collect();
            for slice in read {
                (held, outputs) = self.add(b, body, held, slice, window, &outputs);
            }
            [held.all(), outputs].concat()
        });
        let (held, outputs) = self.split(body, &state);
        self.write(b, body, held.any, &held, window, outputs)
    }

    /// Reads the index vector and the updates of slice `first + number`. If this slice does not
    /// exist, reads the last slice instead, and marks the result as empty.
    fn read(
        &self,
        b: &mut FunctionBuilder,
        body: &ScatterBody,
        first: Value,
        number: i64,
        window: &[Value],
    ) -> PendingUpdates {
        let shape = &body.problem.shape;
        let number = b.index(number);
        let mut slice = b.addi(first, number);
        let mut counts = None;
        if shape.slices() % self.slices != 0 {
            let (last, end) = (b.index(shape.slices() - 1), b.index(shape.slices()));
            counts = Some(b.cmpi(IntPredicate::Slt, slice, end));
            slice = b.minsi(slice, last);
        }
        let slice = body.slice(b, slice);
        let vector = body.index_vector(b, &slice);
        let fits = body.fits(b, &vector);
        let any = counts.map_or(fits, |counts| b.andi(fits, counts));
        let values = (0..self.lanes).map(|lane| {
            let window = self.lane(b, window, lane);
            body.updates(b, &slice, &window)
        });
        let values = values.collect();
        PendingUpdates { any, vector, values }
    }

    /// Combines the updates of a slice with the held updates if their index vectors are equal.
    /// Otherwise writes the held updates and holds the updates of the slice.
    fn add(
        &self,
        b: &mut FunctionBuilder,
        body: &ScatterBody,
        held: PendingUpdates,
        slice: PendingUpdates,
        window: &[Value],
        outputs: &[Value],
    ) -> (PendingUpdates, Vec<Value>) {
        let mut same = b.andi(held.any, slice.any);
        for (&before, &now) in held.vector.iter().zip(&slice.vector) {
            let equal = b.cmpi(IntPredicate::Eq, before, now);
            same = b.andi(same, equal);
        }
        let yes = b.bool(true);
        let other = b.xori(same, yes);
        let ends = b.andi(held.any, other);
        let outputs = self.write(b, body, ends, &held, window, outputs);
        let lanes = held.values.iter().zip(&slice.values);
        let values = lanes.map(|(before, now)| {
            let combined = body.combine(b, before, now);
            combined.iter().zip(now).map(|(&combined, &now)| b.select(same, combined, now)).collect()
        });
        let values = values.collect();
        (PendingUpdates { any: slice.any, vector: slice.vector, values }, outputs)
    }

    /// Combines the held updates into the output if `condition` holds.
    fn write(
        &self,
        b: &mut FunctionBuilder,
        body: &ScatterBody,
        condition: Value,
        held: &PendingUpdates,
        window: &[Value],
        outputs: &[Value],
    ) -> Vec<Value> {
        let types = b.types_of(outputs);
        let written = |b: &mut FunctionBuilder| {
            let starts = body.starts(b, &[], &held.vector);
            let mut outputs = outputs.to_vec();
            for (lane, values) in held.values.iter().enumerate() {
                let window = self.lane(b, window, lane as i64);
                let at = body.landing(b, &starts, &window);
                outputs = body.update_atomically(b, &outputs, &at, values);
            }
            outputs
        };
        b.scf_if(condition, &types, written, |_| outputs.to_vec())
    }

    fn lane(&self, b: &mut FunctionBuilder, window: &[Value], lane: i64) -> Vec<Value> {
        let mut window = window.to_vec();
        if let Some(dim) = self.lane_dim.filter(|_| lane > 0) {
            let lane = b.index(lane);
            window[dim] = b.addi(window[dim], lane);
        }
        window
    }

    fn nothing(&self, b: &mut FunctionBuilder, body: &ScatterBody) -> PendingUpdates {
        let component = Type::of_element(body.problem.index_type);
        let vector = body.problem.shape.components.iter().map(|_| b.zero(&component)).collect();
        let values = (0..self.lanes).map(|_| body.element_types().iter().map(|ty| b.zero(ty)).collect()).collect();
        PendingUpdates { any: b.bool(false), vector, values }
    }

    /// Splits a state into the held updates and the outputs. The held updates are the state's first
    /// values.
    fn split<'s>(&self, body: &ScatterBody, state: &'s [Value]) -> (PendingUpdates, &'s [Value]) {
        let (components, arrays) = (body.problem.shape.components.len(), body.problem.shape.arrays);
        let (vector, rest) = state[1..].split_at(components);
        let (values, outputs) = rest.split_at(self.lanes as usize * arrays);
        let values = values.chunks(arrays).map(<[Value]>::to_vec).collect();
        (PendingUpdates { any: state[0], vector: vector.to_vec(), values }, outputs)
    }
}

impl PendingUpdates {
    fn all(&self) -> Vec<Value> {
        [vec![self.any], self.vector.clone(), self.values.concat()].concat()
    }
}
