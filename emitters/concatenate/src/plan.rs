//! The plan of a kernel.

use fusebox_core::emitter::{Configuration, EmitError, OutputPlan, Plan, Task, Visit};
use fusebox_core::indexing::{Expr, IndexingMap, dim_exprs};
use fusebox_core::launch::{Dealing, Nest};

use crate::joined::{Epilogue, Joined, Results};
use crate::visits::{Work, Write, work};

/// Returns the work and its distribution over threads and blocks.
pub fn dealt<'r>(task: &Task<'r, Results>, configuration: &Configuration) -> Result<(Work<'r>, Dealing), EmitError> {
    let work = work(task.problem, task.fusion.computation(), task.device);
    let nests: Vec<Nest> = work.visits.iter().map(|visit| visit.nest.clone()).collect();
    let dealing = Dealing::new(&nests, task.device, configuration)?;
    Ok((work, dealing))
}

/// Returns the plan: launch, maps and knobs.
pub fn plan(task: &Task<Results>, configuration: &Configuration) -> Result<Plan, EmitError> {
    let (work, dealing) = dealt(task, configuration)?;
    let mut maps: Vec<Vec<IndexingMap>> = vec![Vec::new(); task.fusion.output_shapes().len()];
    let mut visits = Vec::new();
    for (visit, share) in work.visits.iter().zip(&dealing.shares) {
        for bundle in &visit.bundles {
            let to_value = share.then(&bundle.index)?;
            visits.push(Visit { map: to_value.clone(), values: bundle.values.clone(), given: Vec::new() });
            visits.extend(bundle.writes.iter().flat_map(|&write| behind(work.joined, write, &to_value)));
            for &write in &bundle.writes {
                for (output, map) in written(work.joined, write, &to_value) {
                    maps[output].push(map);
                }
            }
        }
    }
    let outputs = maps.into_iter().map(OutputPlan::unique_parts).collect();
    Ok(Plan { visits, ..dealing.plan(outputs, notes(&work)) })
}

/// Returns the visits of the epilogues that read a value that is an element of a concatenate.
fn behind(joined: &[Joined], write: Write, to_value: &IndexingMap) -> Vec<Visit> {
    let Write::Element { joined: number, offset, .. } = write else { return Vec::new() };
    let joined = &joined[number];
    let to_hero = shifted(to_value, joined.dimension, offset);
    let visit = |epilogue: &Epilogue| Visit {
        map: to_hero.then(&epilogue.from_hero).unwrap_or_default().simplify(),
        values: epilogue.roots.clone(),
        given: vec![joined.hero],
    };
    joined.epilogues.iter().map(visit).collect()
}

/// Returns the outputs to which the kernel writes a value, and the map to the index in each.
/// `to_value` is the map to the value's index.
fn written(joined: &[Joined], write: Write, to_value: &IndexingMap) -> Vec<(usize, IndexingMap)> {
    match write {
        Write::Output { output, .. } => vec![(output, to_value.clone())],
        Write::Element { joined: number, offset, .. } => {
            let joined = &joined[number];
            let to_hero = shifted(to_value, joined.dimension, offset);
            let direct = joined.direct.iter().map(|&output| (output, to_hero.clone()));
            let behind = joined.epilogues.iter().flat_map(|epilogue| {
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

/// Returns the map that adds an offset to one dimension, for indices of these sizes.
pub fn shift(dims: &[i64], dimension: usize, offset: i64) -> IndexingMap {
    let mut results: Vec<Expr> = dim_exprs(dims.len());
    results[dimension] = results[dimension].clone() + offset;
    IndexingMap::from_tensor_sizes(results, dims, &[])
}

fn notes(work: &Work<'_>) -> Vec<String> {
    let operands = |joined: &Joined| joined.operands.len();
    let operands: usize = work.joined.iter().map(operands).sum();
    vec![format!("{operands} operands in {} loop nests", work.visits.len())]
}
