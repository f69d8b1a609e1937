//! What the kernel will do.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, Fusion, LaunchDimensions, OutputPlan, Plan};
use fusebox_core::indexing::IndexingMap;

use crate::roots::{Group, groups, output_count};
use crate::slabs::Slabs;
use crate::threads::Threads;

/// How points are dealt to blocks and threads. Everything else follows from it: `plan` takes the launch and
/// the maps from it, `emit` the code.
pub enum Schedule {
    /// Many threads, each a few neighbouring points.
    Threads(Threads),
    /// Blocks of one thread, each a contiguous part.
    Slabs(Slabs),
}

impl Schedule {
    /// The schedule for a configuration; what it leaves open is chosen.
    pub fn new(
        fusion: &Fusion,
        groups: &[Group],
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        if device.is_single_threaded_block() {
            return Slabs::new(fusion, groups, device, configuration).map(Schedule::Slabs);
        }
        Threads::new(fusion, groups, device, configuration).map(Schedule::Threads)
    }

    fn launch(&self) -> LaunchDimensions {
        match self {
            Schedule::Threads(threads) => threads.launch(),
            Schedule::Slabs(slabs) => slabs.launch(),
        }
    }

    /// The map of the group of that number.
    fn map(&self, number: usize, group: &Group) -> IndexingMap {
        match self {
            Schedule::Threads(threads) => threads.map(&[group]),
            Schedule::Slabs(slabs) => slabs.map(number, &group.dims),
        }
    }

    fn configuration(&self) -> Configuration {
        match self {
            Schedule::Threads(threads) => threads.configuration(),
            Schedule::Slabs(slabs) => slabs.configuration(),
        }
    }

    fn alternatives(&self, device: &DeviceDescription) -> Vec<Configuration> {
        match self {
            Schedule::Threads(threads) => threads.alternatives(device),
            Schedule::Slabs(slabs) => slabs.alternatives(),
        }
    }
}

/// Launch, maps and knobs.
pub fn plan(fusion: &Fusion, device: &DeviceDescription, configuration: &Configuration) -> Result<Plan, EmitError> {
    let groups = groups(fusion);
    let schedule = Schedule::new(fusion, &groups, device, configuration)?;
    let mut maps = vec![IndexingMap::default(); output_count(&groups)];
    for (number, group) in groups.iter().enumerate() {
        let map = schedule.map(number, group);
        group.outputs.iter().for_each(|&(output, _)| maps[output] = map.clone());
    }
    Ok(Plan {
        launch: schedule.launch(),
        shared_bytes: 0,
        outputs: maps.into_iter().map(OutputPlan::unique).collect(),
        vector_lanes: match &schedule {
            Schedule::Threads(threads) => threads.lanes() as u32,
            Schedule::Slabs(_) => 1,
        },
        configuration: schedule.configuration(),
        alternatives: schedule.alternatives(device),
        notes: notes(&groups),
    })
}

fn notes(groups: &[Group]) -> Vec<String> {
    let mut notes = Vec::new();
    if groups.len() > 1 {
        notes.push(format!("results of {} different shapes, a loop body for each", groups.len()));
    }
    notes
}
