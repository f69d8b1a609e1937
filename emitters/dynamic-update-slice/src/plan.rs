//! Computation of a kernel's plan.

use fusebox_core::cost::is_cached;
use fusebox_core::emitter::{Configuration, EmitError, OutputPlan, Plan, Task, Visit};
use fusebox_core::hlo::InstrId;
use fusebox_core::indexing::{IndexingMap, ceil_div};
use fusebox_core::launch::{Dealing, Nest, Share, cost_per_point, lanes_along};

use crate::updates::{Update, UpdateFusion};

/// Returns the distribution of the work over threads and blocks: first the updates, then the other
/// results.
pub fn distributed(task: &Task<UpdateFusion>, configuration: &Configuration) -> Result<Dealing, EmitError> {
    let (work, computation) = (task.problem, task.fusion.computation());
    let nest = |values: &[InstrId], dims: &[i64], lengths: &[i64]| Nest {
        dims: dims.to_vec(),
        cost: cost_per_point(computation, values),
        lanes: lanes_along(computation, values, lengths, task.device),
    };
    let updates =
        work.updates.iter().map(|update| nest(&[update.slice], &update.dims, &update.alignments(computation)));
    let others =
        work.others.iter().map(|other| nest(&[other.root], &other.dims, &[other.dims.last().copied().unwrap_or(1)]));
    let nests: Vec<Nest> = updates.chain(others).collect();
    let spread = work.updates.iter().map(|update| spread(task, update)).sum();
    Dealing::of_updates(&nests, spread, task.device, configuration)
}

/// Returns the number of bytes of the cache lines that an update writes, or 0 if these cache lines
/// are not distributed over the caches of all cores. The cache lines are distributed over all cores
/// if the array is larger than one core's cache and the slice spans the array's outermost
/// dimension.
fn spread(task: &Task<UpdateFusion>, update: &Update) -> i64 {
    let instruction = task.fusion.computation().instruction(update.instruction);
    let Some(array) = instruction.shape.as_array() else { return 0 };
    let outermost = array.dims.iter().zip(&update.dims).find(|(size, _)| **size > 1);
    if is_cached(array.byte_size()) || outermost.is_none_or(|(size, written)| size != written) {
        return 0;
    }
    let row = update.dims.last().map_or(1, |row| row * array.element_type.byte_size() as i64);
    let line = i64::from(task.device.cache_line_bytes.max(1));
    let rows = update.element_count() / update.dims.last().copied().unwrap_or(1).max(1);
    rows.saturating_mul(ceil_div(row, line) * line)
}

/// Returns the plan: launch, maps and knobs.
pub fn plan(task: &Task<UpdateFusion>, configuration: &Configuration) -> Result<Plan, EmitError> {
    let (work, dealing) = (task.problem, distributed(task, configuration)?);
    let mut outputs: Vec<(usize, OutputPlan)> = Vec::new();
    let values = work.updates.iter().map(|update| update.slice).chain(work.others.iter().map(|other| other.root));
    let visit =
        |(value, share): (InstrId, &Share)| Visit { map: share.map.clone(), values: vec![value], given: Vec::new() };
    let visits = values.zip(&dealing.shares).map(visit).collect();
    let (of_updates, of_others) = dealing.shares.split_at(work.updates.len());
    for (update, share) in work.updates.iter().zip(of_updates) {
        let to_whole = share.then(&update.to_whole())?;
        for (output, to_root) in &update.outputs {
            let map = to_whole.then(to_root).unwrap_or_default().simplify();
            let maps: Vec<IndexingMap> = if update.element_count() == 0 { Vec::new() } else { vec![map] };
            let plan = OutputPlan::in_place_parts(maps, update.parameter);
            outputs.push((*output, plan));
        }
    }
    for (other, share) in work.others.iter().zip(of_others) {
        outputs.extend(other.outputs.iter().map(|&output| (output, OutputPlan::unique(share.map.clone()))));
    }
    outputs.sort_by_key(|(output, _)| *output);
    let outputs = outputs.into_iter().map(|(_, plan)| plan).collect();
    Ok(Plan { visits, ..dealing.plan(outputs, vec!["only the updated parts are written".into()]) })
}
