//! Distributes nests to blocks of many threads. Each thread computes `lanes` adjacent points of its
//! block's nest.

use super::{BlockRange, Dealing, Nest, Share};
use crate::device::DeviceDescription;
use crate::emitter::{Configuration, EmitError, LaunchDimensions};
use crate::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};

/// Default number of threads of a block: four warps. Four warps are enough to hide latency, and few
/// enough that the last wave of blocks is short.
const THREADS: i64 = 128;
/// Largest number of blocks that every GPU allows in a grid dimension. If the nests need more
/// blocks, each thread loops over several chunks of its nest.
const MOST_BLOCKS: i64 = (1 << 31) - 1;
/// Upper limit for the lanes of a thread. No nest requests more lanes.
const MOST_LANES: i64 = 64;

pub(super) fn deal(
    nests: &[Nest],
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<Dealing, EmitError> {
    let most_threads = i64::from(device.max_threads_per_block);
    let most_lanes = nests.iter().map(|nest| nest.lanes).max().unwrap_or(1).clamp(1, MOST_LANES);
    let lanes = match configuration.knob("lanes", 1..=most_lanes)? {
        Some(lanes) if !(lanes as u64).is_power_of_two() => {
            let message = format!("knob lanes is {lanes}, it must be a power of two");
            return Err(EmitError { message, instruction: None });
        }
        Some(lanes) => lanes,
        None => default_lanes(nests, device, most_lanes),
    };
    let units = |nest: &Nest| ceil_div(nest.points(), lanes.min(nest.lanes).max(1));
    let most_units = nests.iter().map(units).max().unwrap_or(1).max(1);
    let threads = match configuration.knob("threads", 1..=most_threads)? {
        Some(threads) => threads,
        None => THREADS.min(most_threads).min(most_units),
    };
    let wanted: i64 = nests.iter().map(|nest| ceil_div(units(nest), threads).max(1)).sum();
    let chunks = ceil_div(wanted, MOST_BLOCKS - nests.len() as i64).max(1);
    let mut ranges = Vec::with_capacity(nests.len());
    let mut first = 0;
    for nest in nests {
        let count = ceil_div(ceil_div(units(nest), threads), chunks).max(1);
        ranges.push(BlockRange { first, count });
        first += count;
    }
    let total = first.max(1);
    let grid = Grid { threads, total, chunks, lanes };
    let chosen = knobs(lanes, threads);
    Ok(Dealing {
        launch: LaunchDimensions { blocks: total as u64, threads_per_block: threads as u32 },
        shares: nests.iter().zip(&ranges).map(|(nest, range)| grid.share(nest, range)).collect(),
        lanes,
        alternatives: alternatives(device, most_lanes).into_iter().filter(|other| *other != chosen).collect(),
        configuration: chosen,
    })
}

struct Grid {
    threads: i64,
    total: i64,
    chunks: i64,
    lanes: i64,
}

impl Grid {
    /// Returns `(th, bl)[chunk, lane] -> point`, without the variables that have a single value.
    fn share(&self, nest: &Nest, blocks: &BlockRange) -> Share {
        let lanes = self.lanes.min(nest.lanes).max(1);
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", self.threads), Variable::named("bl", self.total)],
            ..IndexingMap::default()
        };
        let (block, in_range) = blocks.local(self.total);
        map.constraints.extend(in_range);
        let mut unit = block * self.threads + Expr::dim(0);
        if self.chunks > 1 {
            unit = Expr::range(0) * (blocks.count * self.threads) + unit;
            map.ranges.push(Variable::named("chunk", self.chunks));
        }
        let lane = (lanes > 1).then_some(map.ranges.len());
        map.ranges.extend(lane.map(|_| Variable::named("lane", lanes)));
        let reached = self.threads * blocks.count * self.chunks;
        match lane.filter(|_| nest.points() % lanes != 0) {
            // The last thread computes fewer points.
            Some(lane) => {
                let point = unit.clone() * lanes + Expr::range(lane as u32);
                map.constraints.push(Constraint::new(point, Interval::from_size(nest.points())));
            }
            None if nest.points() / lanes < reached => {
                map.constraints.push(Constraint::new(unit.clone(), Interval::from_size(nest.points() / lanes)));
            }
            None => {}
        }
        map.results = match (lane, nest.dims.split_last()) {
            (Some(lane), Some((&last, outer))) => {
                let mut index = delinearize(&unit, &[outer, &[ceil_div(last, lanes)]].concat());
                if let Some(last) = index.pop() {
                    index.push(last * lanes + Expr::range(lane as u32));
                }
                index
            }
            _ => delinearize(&unit, &nest.dims),
        };
        Share { map, lane }
    }
}

/// Returns the default number of lanes: the largest number with which there is still a full block
/// for every core. If there is no such number of lanes, returns 1.
fn default_lanes(nests: &[Nest], device: &DeviceDescription, most_lanes: i64) -> i64 {
    let enough = i64::from(device.core_count) * THREADS;
    let units = |lanes: i64| nests.iter().map(|nest| nest.points() / lanes.min(nest.lanes).max(1)).sum::<i64>();
    let candidates = std::iter::successors(Some(most_lanes), |lanes| (*lanes > 1).then_some(lanes / 2));
    candidates.into_iter().find(|&lanes| units(lanes) >= enough).unwrap_or(1)
}

fn alternatives(device: &DeviceDescription, most_lanes: i64) -> Vec<Configuration> {
    let lanes = std::iter::successors(Some(most_lanes), |&lanes| (lanes > 1).then_some(lanes / 2));
    let threads = [THREADS, 2 * THREADS].map(|threads| threads.min(i64::from(device.max_threads_per_block)));
    let mut all: Vec<Configuration> = lanes.flat_map(|lanes| threads.map(|threads| knobs(lanes, threads))).collect();
    all.dedup();
    all
}

fn knobs(lanes: i64, threads: i64) -> Configuration {
    Configuration([("lanes".to_owned(), lanes), ("threads".to_owned(), threads)].into())
}
