//! Reductions for blocks of many threads.
//!
//! ```text
//! limits.rs         properties that the heuristics use
//! rows.rs           row problems       ─┐
//! columns.rs        column problems     ├─> schedule.rs: the work of each thread
//! small_columns.rs  few columns        ─┘
//! axis.rs           distribution of a dimension to threads
//! banks.rs          bank conflicts in shared memory
//! short_sums.rs     a thread's long sum as a sum of short ones
//! emit.rs           schedule -> entry function
//! ```
//!
//! The largest group decides the form of the fusion: row, multi-row, column, small-column or
//! scalar. For every other group, the emitter chooses the form that suits this group.

mod axis;
mod banks;
mod columns;
mod emit;
mod limits;
mod rows;
mod schedule;
mod short_sums;
mod small_columns;

use fusebox_core::analysis::{ReductionFusion, ReductionGroup, ReductionKind};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Blocks, Configuration, Decline, EmitError, Fusion, Kernel, LaunchDimensions, OutputPlan, Plan, Strategy, Task, Work,
};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval};

use crate::dispatch::{first_blocks, over_all_blocks};
use crate::visits::{applied, combinations, group_visits};
use limits::GroupLimits;
use schedule::GroupSchedule;

/// Maximum number of blocks of a grid.
const MOST_BLOCKS: i64 = (1 << 31) - 1;

/// Distribution of a reduction over threads. Each variant is a separate emitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReductionForm {
    /// One or more warps reduce each row.
    Row,
    /// Each warp reduces several short rows.
    MultiRow,
    /// Each block reduces a tile of columns.
    Column,
    /// For problems with at most as many columns as a warp has threads. Each block reads all its
    /// rows as one line.
    SmallColumn,
    /// One block computes the only result.
    Scalar,
}

impl Strategy for ReductionForm {
    type Problem = ReductionFusion;

    fn blocks(&self) -> Blocks {
        Blocks::OfManyThreads
    }

    fn check(&self, task: &Task<ReductionFusion>) -> Result<(), Decline> {
        let Task { problem: reductions, fusion, device } = *task;
        let limits = GroupLimits::new(fusion, primary(reductions).1, device);
        match refusal(*self, &limits).or_else(|| too_large(fusion, reductions, device)) {
            Some(reason) => Err(Decline::new(reason)),
            None => Ok(()),
        }
    }

    fn plan(&self, task: &Task<ReductionFusion>, configuration: &Configuration) -> Result<Plan, EmitError> {
        let Task { problem: reductions, fusion, device } = *task;
        let (chief, _) = primary(reductions);
        let schedules = schedules(Some(*self), fusion, reductions, device, configuration)?;
        let counts: Vec<i64> = schedules.iter().map(|schedule| schedule.blocks).collect();
        let (first, blocks) = first_blocks(&counts);
        let mut outputs: Vec<(usize, OutputPlan)> = Vec::new();
        let (mut visits, mut work) = (Vec::new(), Work::default());
        for ((group, schedule), &first) in reductions.groups.iter().zip(&schedules).zip(&first) {
            let whole = |map: &IndexingMap| over_all_blocks(map, first, blocks);
            visits.extend(group_visits(group, &whole(&schedule.walk), &whole(&schedule.kept)));
            work.additions += combinations(group) + schedule.exchanges();
            work.waits = f64::max(work.waits, if schedule.tile.is_some() { 1.0 } else { 0.0 });
            for (output, map) in output_maps(group, schedule) {
                outputs.push((output, OutputPlan::unique(over_all_blocks(&map, first, blocks))));
            }
        }
        outputs.sort_by_key(|(output, _)| *output);
        let threads = schedules.iter().map(|schedule| schedule.walk.dims[0].bounds.size()).max().unwrap_or(1);
        let notes = reductions.reasons.iter().cloned().chain(schedules.iter().map(|schedule| schedule.note.clone()));
        let launch = LaunchDimensions { blocks: blocks as u64, threads_per_block: threads as u32 };
        Ok(Plan {
            shared_bytes: shared_bytes(reductions, &schedules) as u32,
            visits,
            work,
            vector_lanes: schedules[chief].vector as u32,
            configuration: schedules[chief].knobs.iter().copied().collect(),
            alternatives: schedules[chief].alternatives.iter().map(|knobs| knobs.iter().copied().collect()).collect(),
            notes: notes.collect(),
            ..Plan::new(launch, outputs.into_iter().map(|(_, plan)| plan).collect())
        })
    }

    fn emit(&self, task: &Task<ReductionFusion>, plan: &Plan) -> Result<Kernel, EmitError> {
        let Task { problem: reductions, fusion, device } = *task;
        let schedules = schedules(Some(*self), fusion, reductions, device, &plan.configuration)?;
        emit::emit(fusion, reductions, &schedules)
    }
}

/// Returns the group with the most elements. If several groups have the most elements, returns the
/// first.
fn primary(reductions: &ReductionFusion) -> (usize, &ReductionGroup) {
    let mut largest = (0, &reductions.groups[0]);
    for (number, group) in reductions.groups.iter().enumerate() {
        if group.problem.element_count() > largest.1.problem.element_count() {
            largest = (number, group);
        }
    }
    largest
}

fn refusal(form: ReductionForm, limits: &GroupLimits) -> Option<String> {
    match (limits.group.problem.kind, form) {
        (ReductionKind::Row, _) => rows::refusal(form, limits),
        (ReductionKind::Column, ReductionForm::Column) => None,
        (ReductionKind::Column, ReductionForm::SmallColumn) => small_columns::refusal(limits),
        (ReductionKind::Column, _) => Some(format!("{}: the minor dimension is kept", limits.group.problem)),
    }
}

fn natural_form(limits: &GroupLimits) -> ReductionForm {
    match limits.group.problem.kind {
        ReductionKind::Row => rows::natural_form(limits),
        ReductionKind::Column if small_columns::is_natural(limits) => ReductionForm::SmallColumn,
        ReductionKind::Column => ReductionForm::Column,
    }
}

fn too_large(fusion: &Fusion, reductions: &ReductionFusion, device: &DeviceDescription) -> Option<String> {
    let results: i64 = reductions.groups.iter().map(|group| group.problem.kept_count()).sum();
    let elements = reductions.groups.iter().map(|group| group.problem.element_count()).max().unwrap_or(0);
    if results > MOST_BLOCKS || elements > 1 << 48 {
        return Some(format!("{results} results of {elements} elements are more than a grid has blocks"));
    }
    if reductions.groups.len() == 1 {
        // The schedule of a single group chooses a tile that fits.
        return None;
    }
    let shared = schedules(None, fusion, reductions, device, &Configuration::default());
    let shared = shared.map(|schedules| shared_bytes(reductions, &schedules)).unwrap_or(0);
    (shared > i64::from(device.shared_bytes_per_block))
        .then(|| format!("the groups together take {shared} bytes of shared memory"))
}

fn shared_bytes(reductions: &ReductionFusion, schedules: &[GroupSchedule]) -> i64 {
    let bytes = |group: &ReductionGroup| group.heroes.iter().map(|hero| hero.accumulator_bytes()).sum();
    schedules.iter().zip(&reductions.groups).map(|(schedule, group)| schedule.shared_bytes(bytes(group))).sum()
}

/// Returns a schedule for each group. `form` and `configuration` apply only to the largest group.
fn schedules(
    form: Option<ReductionForm>,
    fusion: &Fusion,
    reductions: &ReductionFusion,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<Vec<GroupSchedule>, EmitError> {
    let (chief, _) = primary(reductions);
    let own = Configuration::default();
    let schedule = |(number, group): (usize, &ReductionGroup)| {
        let limits = GroupLimits::new(fusion, group, device);
        let form = form.filter(|_| number == chief).unwrap_or_else(|| natural_form(&limits));
        let configuration = if number == chief { configuration } else { &own };
        match form {
            ReductionForm::Row | ReductionForm::MultiRow | ReductionForm::Scalar => {
                rows::schedule(form, &limits, configuration)
            }
            ReductionForm::Column => columns::schedule(&limits, configuration),
            ReductionForm::SmallColumn => small_columns::schedule(&limits, configuration),
        }
    };
    let mut schedules = reductions.groups.iter().enumerate().map(schedule).collect::<Result<Vec<_>, _>>()?;
    let warp = i64::from(device.warp_size);
    let most = schedules.iter().map(|schedule| schedule.threads).max().unwrap_or(1);
    let launched = (most + warp - 1) / warp * warp;
    schedules.iter_mut().for_each(|schedule| schedule.launch(launched));
    Ok(schedules)
}

impl GroupSchedule {
    /// Adapts the schedule to a launch with `launched` threads per block. The additional threads
    /// only take part in barriers and shuffles.
    fn launch(&mut self, launched: i64) {
        if launched == self.threads {
            return;
        }
        let own = Interval::from_size(self.threads);
        let widen = |map: &mut IndexingMap, constrain: bool| {
            map.dims[0].bounds = Interval::from_size(launched);
            if constrain {
                map.constraints.insert(0, Constraint::new(Expr::dim(0), own));
            }
        };
        widen(&mut self.walk, true);
        widen(&mut self.kept, true);
        if let Some(tile) = &mut self.tile {
            widen(&mut tile.write, true);
            widen(&mut tile.read, false);
        }
    }
}

/// Returns the index map of each output of a group, over the group's own blocks.
fn output_maps(group: &ReductionGroup, schedule: &GroupSchedule) -> Vec<(usize, IndexingMap)> {
    let mut maps = Vec::new();
    for root in &group.roots {
        let map = applied(&schedule.kept, &root.from_kept);
        maps.extend(root.outputs.iter().map(|&(output, _)| (output, map.clone())));
    }
    for side in &group.sides {
        let map = applied(&schedule.walk, &side.from_canonical);
        maps.extend(side.outputs.iter().map(|&(output, _)| (output, map.clone())));
    }
    maps
}
