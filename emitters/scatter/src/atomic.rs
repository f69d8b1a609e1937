//! A schedule for blocks of many threads. Each thread applies a few adjacent updates of one slice.

use fusebox_core::analysis::ScatterShape;
use fusebox_core::builder::{KernelBuilder, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions, Work};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};

use crate::body::ScatterBody;
use crate::problem::ScatterProblem;
use crate::schedule::{MOST_BLOCKS, ScatterSchedule, THREADS, runtime_starts};

/// Distribution of updates over threads. A thread processes the units
/// `thread + threads * (block + blocks * chunk)`. A unit consists of `lanes` adjacent updates.
pub struct AtomicScatter {
    threads: i64,
    blocks: i64,
    chunks: i64,
    units: i64,
    lanes: i64,
    most_lanes: i64,
    /// The operand dimension along which the updates of a unit are adjacent.
    lane_dim: Option<usize>,
    atomic: bool,
}

impl ScatterSchedule for AtomicScatter {
    fn check(problem: &ScatterProblem, _: &DeviceDescription) -> Result<(), Decline> {
        problem.check_atomic()
    }

    fn new(
        problem: &ScatterProblem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        let (most_lanes, lane_dim) = most_lanes(problem, device);
        let updates = problem.update_elements();
        let lanes = match configuration.knob("lanes", 1..=most_lanes)? {
            Some(lanes) if most_lanes % lanes != 0 => {
                let message = format!("knob lanes is {lanes}, it must divide {most_lanes}");
                return Err(EmitError::new(message));
            }
            Some(lanes) => lanes,
            None => default_lanes(updates, most_lanes, device),
        };
        let units = updates / lanes;
        let threads = THREADS.min(i64::from(device.max_threads_per_block)).min(units.max(1));
        let wanted_blocks = ceil_div(units, threads).max(1);
        let chunks = ceil_div(wanted_blocks, MOST_BLOCKS);
        let blocks = ceil_div(wanted_blocks, chunks);
        let atomic = !problem.shape.unique;
        Ok(AtomicScatter { threads, blocks, chunks, units, lanes, most_lanes, lane_dim, atomic })
    }

    fn launch(&self) -> LaunchDimensions {
        LaunchDimensions { blocks: self.blocks as u64, threads_per_block: self.threads as u32 }
    }

    /// Returns the map `(th, bl)[chunk, lane]{starts…} -> index of the output`.
    fn map(&self, shape: &ScatterShape) -> IndexingMap {
        let mut map = self.first_updates(shape);
        let update = std::mem::take(&mut map.results);
        let starts = runtime_starts(&mut map, shape);
        let slice: Vec<Expr> = shape.scatter_dims.iter().map(|&(dim, _)| update[dim].clone()).collect();
        let mut window: Vec<Expr> = shape
            .operand
            .iter()
            .map(|dim| dim.update_dim.map_or(Expr::constant(0), |dim| update[dim].clone()))
            .collect();
        if let Some(dim) = self.lane_dim.filter(|_| self.lanes > 1) {
            map.ranges.push(Variable::named("lane", self.lanes));
            window[dim] = window[dim].clone() + Expr::range(map.ranges.len() as u32 - 1);
        }
        map.results = shape.landing(&slice, &window, &starts);
        map
    }

    fn configuration(&self) -> Configuration {
        [("lanes", self.lanes)].into()
    }

    fn alternatives(&self) -> Vec<Configuration> {
        let lanes = std::iter::successors(Some(self.most_lanes), |&lanes| (lanes > 1).then_some(lanes / 2));
        lanes.filter(|&lanes| lanes != self.lanes).map(|lanes| [("lanes", lanes)].into()).collect()
    }

    fn note(&self) -> String {
        if self.atomic {
            "a thread combines its updates into the output by atomic operations".into()
        } else {
            "indices are unique: a thread combines its updates into the output alone".into()
        }
    }

    fn work(&self, problem: &ScatterProblem) -> Work {
        problem.atomically(1)
    }

    fn lanes(&self) -> i64 {
        self.lanes
    }

    fn emit(&self, kernel: &mut KernelBuilder, body: &ScatterBody, outputs: &[Value]) -> Vec<Value> {
        let point = [kernel.thread(), kernel.block()];
        let shape = &body.problem.shape;
        let map = self.first_updates(shape);
        kernel.indexed_loop(&map, &point, outputs, &[], |b, _, update, outputs| {
            let slice: Vec<Value> = shape.scatter_dims.iter().map(|&(dim, _)| update[dim]).collect();
            let zero = b.index(0);
            let window: Vec<Value> =
                shape.operand.iter().map(|dim| dim.update_dim.map_or(zero, |dim| update[dim])).collect();
            let vector = body.index_vector(b, &slice);
            let fits = body.fits(b, &vector);
            let types = b.types_of(outputs);
            b.scf_if(
                fits,
                &types,
                |b| {
                    let starts = body.starts(b, &slice, &vector);
                    // All reads precede the first write, so that one wide access can do all reads.
                    let lanes: Vec<(Vec<Value>, Vec<Value>)> = (0..self.lanes)
                        .map(|lane| {
                            let mut window = window.clone();
                            if let Some(dim) = self.lane_dim.filter(|_| lane > 0) {
                                let lane = b.index(lane);
                                window[dim] = b.addi(window[dim], lane);
                            }
                            (body.landing(b, &starts, &window), body.updates(b, &slice, &window))
                        })
                        .collect();
                    if self.atomic {
                        lanes.iter().fold(outputs.to_vec(), |outputs, (at, updates)| {
                            body.update_atomically(b, &outputs, at, updates)
                        })
                    } else {
                        body.update_all(b, outputs, &lanes)
                    }
                },
                |_| outputs.to_vec(),
            )
        })
    }
}

impl AtomicScatter {
    /// Returns the map `(th, bl)[chunk] -> index of the first update` of a thread.
    fn first_updates(&self, shape: &ScatterShape) -> IndexingMap {
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", self.threads), Variable::named("bl", self.blocks)],
            ..IndexingMap::default()
        };
        let mut unit = Expr::dim(1) * self.threads + Expr::dim(0);
        if self.chunks > 1 {
            unit = Expr::range(0) * (self.blocks * self.threads) + unit;
            map.ranges.push(Variable::named("chunk", self.chunks));
        }
        if self.units < self.threads * self.blocks * self.chunks {
            map.constraints.push(Constraint { expr: unit.clone(), bounds: Interval::from_size(self.units) });
        }
        let mut sizes = shape.updates.clone();
        if let Some(last) = sizes.last_mut() {
            *last /= self.lanes;
        }
        map.results = delinearize(&unit, &sizes);
        if let Some(last) = map.results.pop() {
            map.results.push(last * self.lanes);
        }
        map
    }
}

/// Returns the largest number of contiguous updates of a slice that one access can hold, and the
/// operand dimension along which these updates are contiguous. The number is a power of two.
pub fn most_lanes(problem: &ScatterProblem, device: &DeviceDescription) -> (i64, Option<usize>) {
    let shape = &problem.shape;
    let minor = shape.updates.len().wrapping_sub(1);
    let lane_dim = shape.operand.iter().position(|dim| dim.update_dim == Some(minor));
    let (Some(_), Some(&size)) = (lane_dim, shape.updates.last()) else { return (1, None) };
    let limit = (i64::from(device.vector_bytes) / problem.widest_element()).max(1);
    let fits = |&lanes: &i64| lanes <= limit && size > 0 && size % lanes == 0;
    ((0..7).map(|exponent| 1 << exponent).take_while(fits).last().unwrap_or(1), lane_dim)
}

/// Returns the largest number of lanes with which every core has a full block.
fn default_lanes(updates: i64, most_lanes: i64, device: &DeviceDescription) -> i64 {
    let enough = i64::from(device.core_count) * THREADS;
    let fits = |lanes: &i64| updates / lanes >= enough || *lanes == 1;
    std::iter::successors(Some(most_lanes), |lanes| Some(lanes / 2)).find(fits).unwrap_or(1)
}
