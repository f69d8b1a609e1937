//! Computation of a kernel's plan.

use fusebox_core::emitter::{Configuration, EmitError, OutputPlan, Plan, Task};
use fusebox_core::indexing::IndexingMap;
use fusebox_core::launch::{Dealing, Nest};

use crate::roots::LoopResults;
use crate::visits::{LoopVisit, visits};

/// Returns the loop nests and their distribution over threads and blocks.
pub fn distributed(
    task: &Task<LoopResults>,
    configuration: &Configuration,
) -> Result<(Vec<LoopVisit>, Dealing), EmitError> {
    let visits = visits(&task.problem.groups, task.fusion, task.device);
    let nests: Vec<Nest> = visits.iter().map(|visit| visit.nest.clone()).collect();
    let dealing = Dealing::new(&nests, task.device, configuration)?;
    Ok((visits, dealing))
}

/// Returns the plan: launch, maps and knobs.
pub fn plan(task: &Task<LoopResults>, configuration: &Configuration) -> Result<Plan, EmitError> {
    let (visits, dealing) = distributed(task, configuration)?;
    let mut maps: Vec<Vec<IndexingMap>> = vec![Vec::new(); task.fusion.output_shapes().len()];
    for (visit, share) in visits.iter().zip(&dealing.shares) {
        for member in &visit.members {
            let map = share.then(&member.from_point)?;
            member.group.outputs.iter().for_each(|&(output, _)| maps[output].push(map.clone()));
        }
    }
    let outputs = maps.into_iter().map(OutputPlan::unique_parts).collect();
    Ok(dealing.plan(outputs, notes(&visits)))
}

fn notes(visits: &[LoopVisit]) -> Vec<String> {
    let groups: usize = visits.iter().map(|visit| visit.members.len()).sum();
    let several = || format!("results of {groups} different shapes in {} loop nests", visits.len());
    (groups > 1).then(several).into_iter().collect()
}
