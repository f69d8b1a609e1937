//! Computation of a kernel's plan.

use fusebox_core::emitter::{self, Configuration, EmitError, OutputPlan, Plan, Task};
use fusebox_core::indexing::IndexingMap;
use fusebox_core::launch::{Dealing, Nest};

use crate::slices::Slices;
use crate::visits::{SliceVisit, visits};

/// Returns the loop nests and their distribution over threads and blocks.
pub fn distributed(
    task: &Task<Slices>,
    configuration: &Configuration,
) -> Result<(Vec<SliceVisit>, Dealing), EmitError> {
    let visits = visits(&task.problem.slices, task.fusion.computation(), task.device);
    let nests: Vec<Nest> = visits.iter().map(|visit| visit.nest.clone()).collect();
    let dealing = Dealing::new(&nests, task.device, configuration)?;
    Ok((visits, dealing))
}

/// Returns the plan: launch, maps and knobs.
pub fn plan(task: &Task<Slices>, configuration: &Configuration) -> Result<Plan, EmitError> {
    let (visits, dealing) = distributed(task, configuration)?;
    let mut maps: Vec<Vec<IndexingMap>> = vec![Vec::new(); task.fusion.output_shapes().len()];
    let mut computed = Vec::new();
    for (visit, share) in visits.iter().zip(&dealing.shares) {
        computed.push(emitter::Visit {
            map: share.then(&visit.index)?,
            values: visit.arrays.clone(),
            given: Vec::new(),
        });
        for member in &visit.members {
            let to_slice = share.then(&member.from_point)?;
            for (output, _, to_root) in &member.slice.outputs {
                maps[*output].push(to_slice.then(to_root).unwrap_or_default().simplify());
            }
        }
    }
    let slices: usize = visits.iter().map(|visit| visit.members.len()).sum();
    let outputs = maps.into_iter().map(OutputPlan::unique_parts).collect();
    let notes = vec![format!("{slices} slices in {} loop nests", visits.len())];
    Ok(Plan { visits: computed, ..dealing.plan(outputs, notes) })
}
