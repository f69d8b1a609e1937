//! Computation of a kernel's plan.

use fusebox_core::emitter::{Configuration, EmitError, OutputPlan, Plan, Task, Visit};
use fusebox_core::indexing::{Expr, IndexingMap, dim_exprs};
use fusebox_core::launch::{Dealing, Nest};

use crate::bundles::ValueTarget;
use crate::concatenates::{ConcatenateHero, ConcatenateResults, EpilogueGroup};
use crate::visits::{KernelVisits, work};

/// Returns the loop nests and their distribution over threads and blocks.
pub fn distributed<'r>(
    task: &Task<'r, ConcatenateResults>,
    configuration: &Configuration,
) -> Result<(KernelVisits<'r>, Dealing), EmitError> {
    let work = work(task.problem, task.fusion.computation(), task.device);
    let nests: Vec<Nest> = work.visits.iter().map(|visit| visit.nest.clone()).collect();
    let dealing = Dealing::new(&nests, task.device, configuration)?;
    Ok((work, dealing))
}

/// Returns the plan: launch, maps and knobs.
pub fn plan(task: &Task<ConcatenateResults>, configuration: &Configuration) -> Result<Plan, EmitError> {
    let (work, dealing) = distributed(task, configuration)?;
    let mut maps: Vec<Vec<IndexingMap>> = vec![Vec::new(); task.fusion.output_shapes().len()];
    let mut visits = Vec::new();
    for (visit, share) in work.visits.iter().zip(&dealing.shares) {
        for bundle in &visit.bundles {
            let to_value = share.then(&bundle.index)?;
            visits.push(Visit { map: to_value.clone(), values: bundle.values.clone(), given: Vec::new() });
            visits.extend(bundle.writes.iter().flat_map(|&write| behind(work.concatenates, write, &to_value)));
            for &write in &bundle.writes {
                for (output, map) in written(work.concatenates, write, &to_value) {
                    maps[output].push(map);
                }
            }
        }
    }
    let outputs = maps.into_iter().map(OutputPlan::unique_parts).collect();
    Ok(Plan { visits, ..dealing.plan(outputs, notes(&work)) })
}

/// If a value is an element of a concatenate, returns the visits of the epilogues that read the
/// value. Otherwise returns no visits.
fn behind(concatenates: &[ConcatenateHero], write: ValueTarget, to_value: &IndexingMap) -> Vec<Visit> {
    let ValueTarget::Element { concatenate: number, offset, .. } = write else { return Vec::new() };
    let concatenate = &concatenates[number];
    let to_hero = shifted(to_value, concatenate.dimension, offset);
    let visit = |epilogue: &EpilogueGroup| Visit {
        map: to_hero.then(&epilogue.from_hero).unwrap_or_default().simplify(),
        values: epilogue.roots.clone(),
        given: vec![concatenate.hero],
    };
    concatenate.epilogues.iter().map(visit).collect()
}

/// Returns the outputs to which the kernel writes a value. For each output, also returns the map
/// from threads and blocks to the index of the write. `to_value` is the map from threads and blocks
/// to the index of the value.
fn written(concatenates: &[ConcatenateHero], write: ValueTarget, to_value: &IndexingMap) -> Vec<(usize, IndexingMap)> {
    match write {
        ValueTarget::Output { output, .. } => vec![(output, to_value.clone())],
        ValueTarget::Element { concatenate: number, offset, .. } => {
            let concatenate = &concatenates[number];
            let to_hero = shifted(to_value, concatenate.dimension, offset);
            let direct = concatenate.direct.iter().map(|&output| (output, to_hero.clone()));
            let behind = concatenate.epilogues.iter().flat_map(|epilogue| {
                let map = to_hero.then(&epilogue.from_hero).unwrap_or_default().simplify();
                epilogue.outputs.iter().map(move |&(output, _)| (output, map.clone())).collect::<Vec<_>>()
            });
            direct.chain(behind).collect()
        }
    }
}

fn shifted(map: &IndexingMap, dimension: usize, offset: i64) -> IndexingMap {
    let mut map = map.clone();
    if let Some(result) = map.results.get_mut(dimension) {
        *result = result.clone() + offset;
    }
    map
}

/// Returns the map that adds an offset to one dimension of an index. `dims` are the dimensions of
/// the array to which the index belongs.
pub fn shift(dims: &[i64], dimension: usize, offset: i64) -> IndexingMap {
    let mut results: Vec<Expr> = dim_exprs(dims.len());
    results[dimension] = results[dimension].clone() + offset;
    IndexingMap::from_tensor_sizes(results, dims, &[])
}

fn notes(work: &KernelVisits<'_>) -> Vec<String> {
    let operands = |concatenate: &ConcatenateHero| concatenate.operands.len();
    let operands: usize = work.concatenates.iter().map(operands).sum();
    vec![format!("{operands} operands in {} loop nests", work.visits.len())]
}
