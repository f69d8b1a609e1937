//! Reductions for blocks of one thread.
//!
//! ```text
//! tiling.rs      distribution of a group to blocks
//! accumulate.rs  representation of partial results
//! tile.rs        accumulators of several lanes, in memory
//! levels.rs      sums of sums
//! cascade.rs     long sums, as sums of short sums
//! group.rs       state for building a group's part of the kernel
//! row.rs, column.rs  the loops of a block
//! short_rows.rs  many short rows, one per lane
//! ```

mod accumulate;
pub mod cascade;
mod column;
mod group;
mod levels;
mod row;
mod short_rows;
mod tile;
mod tiling;

use fusebox_core::analysis::{ReductionFusion, ReductionKind};
use fusebox_core::builder::KernelBuilder;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Blocks, Configuration, Decline, EmitError, Fusion, Kernel, LaunchDimensions, OutputPlan, Plan, Strategy, Task, Work,
};
use fusebox_core::indexing::IndexingMap;

use crate::body::ReductionBody;
use crate::dispatch::{by_group, first_blocks, over_all_blocks};
use crate::visits::{combinations, group_visits};
pub use accumulate::Accumulators;
use group::GroupKernel;
use tiling::Tiling;

/// Minimum number of elements of a row. For shorter rows, a plain loop over the results is as fast
/// as this emitter's kernel, because lowering unrolls loops of at most four iterations.
const SHORTEST_ROW: i64 = 5;
/// Minimum number of elements of a column. For shorter columns, a plain loop over the results is as
/// fast as this emitter's kernel.
const SHORTEST_COLUMN: i64 = 4;
/// Maximum number of points that the emitter accepts. No memory holds more points. Up to this
/// number of points, the counts in a plan do not overflow.
const MOST_POINTS: i64 = 1 << 48;
/// Name of the knob for the target number of blocks.
const BLOCKS: &str = "blocks";

/// The serial-reduce emitter.
pub struct SerialReduce;

impl Strategy for SerialReduce {
    type Problem = ReductionFusion;

    fn blocks(&self) -> Blocks {
        Blocks::OfOneThread
    }

    fn check(&self, task: &Task<ReductionFusion>) -> Result<(), Decline> {
        let reductions = task.problem;
        let largest = reductions.groups.iter().max_by_key(|group| group.problem.element_count());
        let Some(group) = largest else { return Err(Decline::new("there is no reduction")) };
        let problem = group.problem;
        if problem.element_count() > MOST_POINTS {
            return Err(Decline::new(format!("the reduction has more than {MOST_POINTS} elements")));
        }
        let [_, middle, minor] = problem.dims;
        let is_short = match problem.kind {
            ReductionKind::Row => minor < SHORTEST_ROW,
            ReductionKind::Column => middle < SHORTEST_COLUMN,
        };
        if is_short {
            Err(Decline::new(format!("{problem}: with so few elements per result, a loop over the results is as fast")))
        } else {
            Ok(())
        }
    }

    fn plan(&self, task: &Task<ReductionFusion>, knobs: &Configuration) -> Result<Plan, EmitError> {
        let Task { problem: reductions, fusion, device } = *task;
        let wanted = knobs.checked_knob(BLOCKS, || "positive", |blocks| blocks > 0)?;
        let tilings = tilings(fusion, reductions, device, wanted);
        let counts: Vec<i64> = tilings.iter().map(|tiling| tiling.blocks).collect();
        let (first, total) = first_blocks(&counts);
        let mut maps: Vec<IndexingMap> = Vec::new();
        let mut put = |output: usize, map: &IndexingMap| {
            maps.resize(maps.len().max(output + 1), IndexingMap::default());
            maps[output] = map.clone();
        };
        let (mut visits, mut additions) = (Vec::new(), 0.0);
        for ((group, tiling), &first) in reductions.groups.iter().zip(&tilings).zip(&first) {
            let whole = |map: &IndexingMap| over_all_blocks(map, first, total);
            visits.extend(group_visits(group, &whole(&tiling.visited()), &whole(&tiling.kept())));
            // Accumulators are contiguous, so that one operation combines a vector of accumulators.
            additions += combinations(group) / lanes(device);
            let map = |from: &IndexingMap, to: &IndexingMap| over_all_blocks(&followed(from, to), first, total);
            for root in &group.roots {
                let map = map(&tiling.kept(), &root.from_kept);
                root.outputs.iter().for_each(|&(output, _)| put(output, &map));
            }
            for side in &group.sides {
                let map = map(&tiling.read(), &side.from_canonical);
                side.outputs.iter().for_each(|&(output, _)| put(output, &map));
            }
        }
        let most = wanted.unwrap_or(total);
        let others = [most / 2, most * 2, 1].into_iter().filter(|&blocks| blocks > 0 && blocks != most);
        let outputs = maps.into_iter().map(OutputPlan::unique).collect();
        Ok(Plan {
            visits,
            work: Work { additions, ..Work::default() },
            // Without a knob, `plan` and `emit` choose the same number for each group.
            configuration: wanted.map(|blocks| [(BLOCKS, blocks)].into()).unwrap_or_default(),
            alternatives: others.map(|blocks| [(BLOCKS, blocks)].into()).collect(),
            notes: reductions.reasons.clone(),
            ..Plan::new(LaunchDimensions { blocks: total as u64, threads_per_block: 1 }, outputs)
        })
    }

    fn emit(&self, task: &Task<ReductionFusion>, plan: &Plan) -> Result<Kernel, EmitError> {
        let Task { problem: reductions, fusion, device } = *task;
        let wanted = plan.configuration.checked_knob(BLOCKS, || "positive", |blocks| blocks > 0)?;
        let tilings = tilings(fusion, reductions, device, wanted);
        let counts: Vec<i64> = tilings.iter().map(|tiling| tiling.blocks).collect();
        let mut kernel = KernelBuilder::new(fusion);
        let bodies: Vec<ReductionBody> =
            reductions.groups.iter().map(|group| ReductionBody::declare(&mut kernel, fusion, group)).collect();
        let (block, outputs) = (kernel.block(), kernel.outputs().to_vec());
        let written = by_group(&mut kernel, block, &counts, &outputs, &mut |b, group, block, outputs| {
            GroupKernel::block(b, &bodies[group], &tilings[group], block, outputs)
        });
        kernel.finish(&written)
    }
}

fn tilings(
    fusion: &Fusion,
    reductions: &ReductionFusion,
    device: &DeviceDescription,
    wanted: Option<i64>,
) -> Vec<Tiling> {
    let tiling = |group| Tiling::new(fusion, group, accumulate::state_bytes(group), device, wanted);
    reductions.groups.iter().map(tiling).collect()
}

/// Returns the number of lanes of a vector of four-byte elements.
fn lanes(device: &DeviceDescription) -> f64 {
    f64::from(device.vector_bytes.max(4) / 4)
}

/// Returns the map that applies `first`, then `second`. This map has the variables of `first`.
fn followed(first: &IndexingMap, second: &IndexingMap) -> IndexingMap {
    let results = second.results.iter().map(|expr| expr.substitute(&first.results, &[], &[])).collect();
    IndexingMap { results, ..first.clone() }.simplify()
}
