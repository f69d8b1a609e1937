//! The schedule for many threads: each takes `lanes` neighbouring points, a block the next `threads * lanes`.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, Fusion, LaunchDimensions};
use fusebox_core::hlo::ArrayShape;
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};

use crate::roots::{Group, output_shapes, parameter_shapes, reads_per_point};

/// Four warps: enough to hide latency, small enough that the last wave is short.
const THREADS: i64 = 128;
/// A grid dimension ends here on every GPU; beyond it threads loop.
const MOST_BLOCKS: i64 = (1 << 31) - 1;
/// A thread that reads more than this per point gains nothing from several points.
const MOST_READS_WITH_LANES: i64 = 8;
/// Vectors of the widest type one thread may hold per operand.
const MOST_VECTORS: i64 = 4;

/// Points dealt to threads. Point `lane + lanes * (thread + threads * (block + blocks * chunk))`.
pub struct Threads {
    threads: i64,
    blocks: i64,
    chunks: i64,
    lanes: i64,
    most_lanes: i64,
}

impl Threads {
    /// Chooses what the configuration leaves open.
    pub fn new(
        fusion: &Fusion,
        groups: &[Group],
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        let most_threads = i64::from(device.max_threads_per_block);
        let points = groups.iter().map(Group::element_count).max().unwrap_or(0);
        let most_lanes = most_lanes(fusion, groups, device);
        let lanes = match configuration.knob("lanes", 1..=most_lanes)? {
            Some(lanes) if most_lanes % lanes != 0 => {
                let message = format!("knob lanes is {lanes}, it must divide {most_lanes}");
                return Err(EmitError { message, instruction: None });
            }
            Some(lanes) => lanes,
            None => default_lanes(fusion, device, points, most_lanes),
        };
        let units = ceil_div(points, lanes);
        let threads = match configuration.knob("threads", 1..=most_threads)? {
            Some(threads) => threads,
            None => THREADS.min(most_threads).min(units.max(1)),
        };
        let wanted_blocks = ceil_div(units, threads).max(1);
        let chunks = ceil_div(wanted_blocks, MOST_BLOCKS);
        let blocks = ceil_div(wanted_blocks, chunks);
        Ok(Threads { threads, blocks, chunks, lanes, most_lanes })
    }

    /// The grid.
    pub fn launch(&self) -> LaunchDimensions {
        LaunchDimensions { blocks: self.blocks as u64, threads_per_block: self.threads as u32 }
    }

    /// Neighbouring points of one thread.
    pub fn lanes(&self) -> i64 {
        self.lanes
    }

    /// Range variable of the lanes in the maps, to be unrolled.
    pub fn lane_variable(&self) -> Option<usize> {
        (self.lanes > 1).then_some(usize::from(self.chunks > 1))
    }

    /// `(th, bl)[chunk, lane] -> indices`: for each group the index of the point. The groups have equally
    /// many points. Variables that would take one value only are left out.
    pub fn map(&self, groups: &[&Group]) -> IndexingMap {
        let points = groups.first().map_or(0, |group| group.element_count());
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", self.threads), Variable::named("bl", self.blocks)],
            ..IndexingMap::default()
        };
        let mut unit = Expr::dim(1) * self.threads + Expr::dim(0);
        if self.chunks > 1 {
            unit = Expr::range(0) * (self.blocks * self.threads) + unit;
            map.ranges.push(Variable::named("chunk", self.chunks));
        }
        let lane = self.lane_variable().map(|variable| Expr::range(variable as u32));
        if lane.is_some() {
            map.ranges.push(Variable::named("lane", self.lanes));
        }
        // Whether a thread has work does not depend on the lane: the lanes divide the points.
        let units = points / self.lanes;
        if units < self.threads * self.blocks * self.chunks {
            map.constraints.push(Constraint { expr: unit.clone(), bounds: Interval::from_size(units) });
        }
        map.results = groups.iter().flat_map(|group| self.index(&unit, lane.as_ref(), &group.dims)).collect();
        map
    }

    /// The index of a unit's lane in an array.
    fn index(&self, unit: &Expr, lane: Option<&Expr>, dims: &[i64]) -> Vec<Expr> {
        let Some(lane) = lane else { return delinearize(unit, dims) };
        match dims.split_last() {
            // A thread's points are neighbours in one row.
            Some((&minor, outer)) if minor % self.lanes == 0 => {
                let rows_of_units = [outer, &[minor / self.lanes]].concat();
                let mut index = delinearize(unit, &rows_of_units);
                if let Some(last) = index.pop() {
                    index.push(last * self.lanes + lane.clone());
                }
                index
            }
            _ => delinearize(&(unit.clone() * self.lanes + lane.clone()), dims),
        }
    }

    /// The knobs' values.
    pub fn configuration(&self) -> Configuration {
        configuration(self.lanes, self.threads)
    }

    /// Other lanes and threads.
    pub fn alternatives(&self, device: &DeviceDescription) -> Vec<Configuration> {
        let lanes = std::iter::successors(Some(self.most_lanes), |&lanes| (lanes > 1).then_some(lanes / 2));
        let threads = [THREADS, 2 * THREADS].map(|threads| threads.min(i64::from(device.max_threads_per_block)));
        let mut all: Vec<Configuration> =
            lanes.flat_map(|lanes| threads.map(|threads| configuration(lanes, threads))).collect();
        all.dedup();
        all.retain(|other| *other != self.configuration());
        all
    }
}

fn configuration(lanes: i64, threads: i64) -> Configuration {
    Configuration([("lanes".to_owned(), lanes), ("threads".to_owned(), threads)].into())
}

/// The largest power of two that divides every group's number of points and makes accesses to the smallest
/// type one full vector wide, and to the widest not more than a few.
fn most_lanes(fusion: &Fusion, groups: &[Group], device: &DeviceDescription) -> i64 {
    let points: Vec<i64> = groups.iter().map(Group::element_count).collect();
    let sizes: Vec<i64> = output_shapes(fusion)
        .into_iter()
        .chain(parameter_shapes(fusion).into_iter().filter(|shape| points.contains(&shape.element_count())))
        .map(|shape: &ArrayShape| shape.element_type.byte_size() as i64)
        .collect();
    let (Some(&smallest), Some(&widest)) = (sizes.iter().min(), sizes.iter().max()) else { return 1 };
    let vector = i64::from(device.vector_bytes).max(1);
    let limit = (vector / smallest).min(MOST_VECTORS * vector / widest).max(1);
    let fits = |&lanes: &i64| lanes <= limit && points.iter().all(|points| points % lanes == 0);
    (0..7).map(|exponent| 1 << exponent).take_while(fits).last().unwrap_or(1)
}

/// Several lanes only if every core still gets a full block, and reads are cheap.
fn default_lanes(fusion: &Fusion, device: &DeviceDescription, points: i64, most_lanes: i64) -> i64 {
    if reads_per_point(fusion) > MOST_READS_WITH_LANES {
        return 1;
    }
    let enough = i64::from(device.core_count) * THREADS;
    let fits = |lanes: &i64| points / lanes >= enough || *lanes == 1;
    std::iter::successors(Some(most_lanes), |lanes| Some(lanes / 2)).find(fits).unwrap_or(1)
}
