//! Reductions on devices whose blocks are one thread.
//!
//! ```text
//! tiling.rs      group -> what a block takes
//! accumulate.rs  how partial results are kept
//! tile.rs        accumulators side by side
//! group.rs       what every point needs
//! row.rs, column.rs  the loops of a block
//! ```

mod accumulate;
mod column;
mod group;
mod row;
mod tile;
mod tiling;

use fusebox_core::analysis::{ReductionFusion, ReductionKind, ReductionProblem};
use fusebox_core::builder::KernelBuilder;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, Fusion, Kernel, LaunchDimensions, OutputPlan, Plan};
use fusebox_core::indexing::IndexingMap;

use crate::body::Body;
use crate::dispatch::{by_group, first_blocks, over_all_blocks};
use crate::knobs::configuration;
use crate::{Form, decline};
pub use accumulate::Accumulators;
use group::Group;
use tiling::Tiling;

/// Far above loop.
const SCORE: u32 = 700;
/// A row below this many elements is computed as fast element by element.
const SHORTEST_ROW: i64 = 8;
/// Rows up to this many elements are short.
const SHORT_ROW: i64 = 64;
/// Up to this many columns are few.
const FEW_COLUMNS: i64 = 64;
/// A column below this many elements is computed as fast element by element.
const SHORTEST_COLUMN: i64 = 4;
/// More points than any memory holds; below it, no count in a plan overflows.
const MOST_POINTS: i64 = 1 << 48;
/// Knob: number of blocks aimed at.
const BLOCKS: &str = "blocks";

/// The score, or why not.
pub fn score(form: Form, _: &Fusion, found: &ReductionFusion, _: &DeviceDescription) -> Result<u32, Decline> {
    let largest = found.groups.iter().max_by_key(|group| group.problem.element_count());
    let Some(problem) = largest.map(|group| group.problem) else { return decline("there is no reduction") };
    if found.groups.iter().any(|group| group.problem.element_count() > MOST_POINTS) {
        return decline(format!("the reduction has more than {MOST_POINTS} elements"));
    }
    match form_of(problem) {
        None => decline(format!("{problem}: results of so few elements are computed as fast one by one")),
        Some(own) if own == form => Ok(SCORE),
        Some(other) => decline(format!("{problem}: {} is for it", other.name())),
    }
}

/// Whose a problem is.
fn form_of(problem: ReductionProblem) -> Option<Form> {
    let [_, middle, minor] = problem.dims;
    match problem.kind {
        ReductionKind::Row if minor < SHORTEST_ROW => None,
        ReductionKind::Row if middle == 1 => Some(Form::Scalar),
        ReductionKind::Row if minor <= SHORT_ROW => Some(Form::MultiRow),
        ReductionKind::Row => Some(Form::Row),
        ReductionKind::Column if middle < SHORTEST_COLUMN => None,
        ReductionKind::Column if minor <= FEW_COLUMNS => Some(Form::SmallColumn),
        ReductionKind::Column => Some(Form::Column),
    }
}

/// Launch, maps and knobs.
pub fn plan(
    _: Form,
    fusion: &Fusion,
    found: &ReductionFusion,
    device: &DeviceDescription,
    knobs: &Configuration,
) -> Result<Plan, EmitError> {
    let wanted = knobs.checked_knob(BLOCKS, || "positive", |blocks| blocks > 0)?;
    let tilings = tilings(fusion, found, device, wanted);
    let counts: Vec<i64> = tilings.iter().map(|tiling| tiling.blocks).collect();
    let (first, total) = first_blocks(&counts);
    let mut maps: Vec<IndexingMap> = Vec::new();
    let mut put = |output: usize, map: &IndexingMap| {
        maps.resize(maps.len().max(output + 1), IndexingMap::default());
        maps[output] = map.clone();
    };
    for ((group, tiling), &first) in found.groups.iter().zip(&tilings).zip(&first) {
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
    Ok(Plan {
        launch: LaunchDimensions { blocks: total as u64, threads_per_block: 1 },
        shared_bytes: 0,
        outputs: maps.into_iter().map(OutputPlan::unique).collect(),
        vector_lanes: 1,
        // Without a knob the number is chosen group by group, in `emit` as here.
        configuration: wanted.map(|blocks| configuration(&[(BLOCKS, blocks)])).unwrap_or_default(),
        alternatives: others.map(|blocks| configuration(&[(BLOCKS, blocks)])).collect(),
        notes: found.reasons.clone(),
    })
}

/// The kernel.
pub fn emit(
    _: Form,
    fusion: &Fusion,
    found: &ReductionFusion,
    device: &DeviceDescription,
    plan: &Plan,
) -> Result<Kernel, EmitError> {
    let wanted = plan.configuration.checked_knob(BLOCKS, || "positive", |blocks| blocks > 0)?;
    let tilings = tilings(fusion, found, device, wanted);
    let counts: Vec<i64> = tilings.iter().map(|tiling| tiling.blocks).collect();
    let mut kernel = KernelBuilder::new(fusion);
    let bodies: Vec<Body> = found.groups.iter().map(|group| Body::declare(&mut kernel, fusion, group)).collect();
    let (block, outputs) = (kernel.block(), kernel.outputs().to_vec());
    let written = by_group(&mut kernel, block, &counts, &outputs, &mut |b, group, block, outputs| {
        Group::block(b, &bodies[group], &tilings[group], block, outputs)
    });
    kernel.finish(&written)
}

fn tilings(fusion: &Fusion, found: &ReductionFusion, device: &DeviceDescription, wanted: Option<i64>) -> Vec<Tiling> {
    let tiling = |group| Tiling::new(fusion, group, accumulate::state_bytes(group), device, wanted);
    found.groups.iter().map(tiling).collect()
}

/// `second` after `first`, as a map over the variables of `first`.
fn followed(first: &IndexingMap, second: &IndexingMap) -> IndexingMap {
    let results = second.results.iter().map(|expr| expr.substitute(&first.results, &[], &[])).collect();
    IndexingMap { results, ..first.clone() }.simplify()
}
