//! Combines small independent kernels into one launch.
//!
//! The optimiser of a training step updates each array of a model with a separate kernel. Each
//! update kernel needs a launch, and no update kernel is large enough to occupy the whole machine.
//! One kernel can compute results of different shapes: each update gets separate blocks of the same
//! launch.
//!
//! ```text
//! candidates   short elementwise kernels, sorted by form, so that groups of equal kernels give equal kernels
//! group        as many as the limits of one kernel allow; none reads another's result
//! predict      seconds of the combined kernel against the sum over the separate ones
//! join         kernels between which no path leads through a third kernel
//! ```

use std::collections::{HashMap, HashSet};

use fusebox_core::cost::{self, LAUNCH_SECONDS};
use fusebox_core::hlo::{Computation, InstrId, canonical_text};

use super::decide::Decisions;
use super::predictor::{GAIN_PER_COPY, KernelPredictor};
use super::region::Region;
use super::step_graph::StepGraph;

/// Largest number of results of a combined kernel.
const MOST_RESULTS: usize = 48;
/// Largest number of inputs of a combined kernel.
const MOST_INPUTS: usize = 80;
/// Largest number of instructions of a combined kernel.
const MOST_INSTRUCTIONS: usize = 480;
/// Largest number of steps that are searched for a path from one kernel to another.
const MOST_BEHIND: usize = 256;
/// Largest time of a kernel that is combined with others. The unit is the time of one launch. The
/// launch is only a small part of a longer kernel's time, and a longer kernel occupies the whole
/// machine.
const MOST_LAUNCHES: f64 = 6.0;
/// Least seconds that a combined kernel must be predicted to save. Smaller gains do not pay for
/// compiling a larger kernel.
const LEAST_GAIN: f64 = LAUNCH_SECONDS / 2.0;
/// Least fraction of the separate kernels' time that a combined kernel must be predicted to save.
/// Smaller gains do not pay for compiling a larger kernel.
const LEAST_PART: f64 = 0.25;

/// Kernels that may be combined.
#[derive(Default)]
struct LaunchGroup {
    steps: Vec<usize>,
    written: HashSet<InstrId>,
    read: HashSet<InstrId>,
    instructions: usize,
    bytes: i64,
}

/// Combines kernels of one computation.
pub struct HorizontalFusion<'p, 'm, 'c, 'a> {
    computation: &'m Computation,
    decisions: &'m Decisions,
    predictor: &'p mut KernelPredictor<'m, 'c, 'a>,
}

impl<'p, 'm, 'c, 'a> HorizontalFusion<'p, 'm, 'c, 'a> {
    /// Prepares horizontal fusion in a computation. `predictor` must predict kernels of the same
    /// module.
    pub fn new(
        computation: &'m Computation,
        decisions: &'m Decisions,
        predictor: &'p mut KernelPredictor<'m, 'c, 'a>,
    ) -> Self {
        HorizontalFusion { computation, decisions, predictor }
    }

    /// Combines candidates if the combined kernel is predicted to save enough time. The candidates
    /// are steps of the graph. Predicts nothing if there is only one candidate.
    pub fn join(mut self, graph: &mut StepGraph, mut candidates: Vec<usize>) {
        if candidates.len() < 2 {
            return;
        }
        let device = self.predictor.device();
        let most = MOST_LAUNCHES * (device.launch_seconds + device.share_seconds);
        let is_short = |seconds: Option<f64>| seconds.is_some_and(|seconds| seconds <= most);
        candidates.retain(|&step| graph.region(step).is_some_and(|region| is_short(self.seconds(region))));
        candidates.sort_by_cached_key(|&step| self.form(graph, step));
        while let Some(group) = self.next_group(graph, &mut candidates) {
            if group.len() > 1 && self.pays(graph, &group) == Some(true) {
                self.join_group(graph, &group);
            }
        }
    }

    /// Returns a sort key that is equal for equal kernels.
    fn form(&self, graph: &StepGraph, step: usize) -> (Vec<i64>, usize, usize) {
        let Some(region) = graph.region(step) else { return (Vec::new(), 0, 0) };
        let shape = region.roots.first().and_then(|&root| self.computation.instruction(root).shape.as_array());
        (shape.map_or(Vec::new(), |shape| shape.dims.clone()), region.members.len(), region.operands().count())
    }

    /// Whether one kernel for the whole group is predicted to save enough time, compared with the
    /// separate kernels.
    fn pays(&mut self, graph: &StepGraph, group: &[usize]) -> Option<bool> {
        let regions: Vec<&Region> = group.iter().filter_map(|&step| graph.region(step)).collect();
        let joined = self.combined(&regions);
        let combined = self.seconds(&joined)?;
        let mut separate = 0.0;
        let mut compiled: HashMap<String, usize> = HashMap::new();
        for region in regions {
            separate += self.seconds(region)?;
            compiled.insert(
                canonical_text(&self.predictor.alone(region.computation(self.computation))),
                region.members.len(),
            );
        }
        let copies = joined.members.len().saturating_sub(compiled.values().sum());
        Some(separate - combined >= LEAST_GAIN.max(separate * LEAST_PART).max(copies as f64 * GAIN_PER_COPY))
    }

    fn combined(&self, regions: &[&Region]) -> Region {
        Region::together(self.computation, regions, self.decisions)
    }

    /// Predicts the seconds of a kernel with its best emitter. `None` if no emitter plans the
    /// kernel.
    fn seconds(&mut self, region: &Region) -> Option<f64> {
        self.predictor.seconds(region.computation(self.computation))
    }

    fn join_group(&self, graph: &mut StepGraph, group: &[usize]) {
        let Some((&first, others)) = group.split_first() else { return };
        for &other in others {
            if !graph.may_join_within(first, other, MOST_BEHIND) {
                continue;
            }
            let (Some(one), Some(two)) = (graph.region(first), graph.region(other)) else { continue };
            let merged = self.combined(&[one, two]);
            graph.join(first, other, merged);
        }
    }

    /// Removes and returns the first candidate, and all later candidates that fit into the same
    /// kernel.
    fn next_group(&self, graph: &StepGraph, candidates: &mut Vec<usize>) -> Option<Vec<usize>> {
        let mut group = LaunchGroup::default();
        let is_left = |step: &usize| graph.region(*step).is_some_and(|region| !self.admit(&mut group, *step, region));
        *candidates = candidates.drain(..).filter(is_left).collect();
        (!group.steps.is_empty()).then_some(group.steps)
    }

    /// Adds a kernel to a group if the kernel fits, and if no dependence exists between the kernel
    /// and the group's kernels. The group's values must fit into the caches, because a common
    /// launch does not speed up reads from memory.
    fn admit(&self, group: &mut LaunchGroup, step: usize, region: &Region) -> bool {
        let new: Vec<InstrId> = region.operands().filter(|operand| !group.read.contains(operand)).collect();
        let values = new.iter().chain(&region.roots);
        let bytes =
            values.map(|&id| cost::bytes(self.computation.instruction(id))).fold(group.bytes, i64::saturating_add);
        let instructions = group.instructions + region.members.len();
        let fits = group.written.len() + region.roots.len() <= MOST_RESULTS
            && group.read.len() + new.len() <= MOST_INPUTS
            && instructions <= MOST_INSTRUCTIONS
            && !self.predictor.device().exceeds_core_caches(bytes as u64);
        let is_independent = !region.operands().any(|operand| group.written.contains(&operand))
            && !region.roots.iter().any(|root| group.read.contains(root));
        let is_admitted = group.steps.is_empty() || fits && is_independent;
        if is_admitted {
            group.steps.push(step);
            group.written.extend(&region.roots);
            group.read.extend(new);
            (group.instructions, group.bytes) = (instructions, bytes);
        }
        is_admitted
    }
}
