//! Merges kernels that read the same values into one kernel with several results. Merging must save
//! memory traffic. Kernels that take hardly more time than their launches are also merged to save
//! launches.
//!
//! One pass over elements must be able to compute the merged kernel. There are two kinds of passes
//! over elements. A hero's pass computes heroes of equal form whose claims describe a pass. A
//! hero's pass may also compute elementwise results with the dimensions of the pass's operands. An
//! elementwise pass computes elementwise kernels of equal dimensions. If one of the kernels reads a
//! result of the other, the merged kernel writes this result to a buffer only if a further step
//! reads it too. Two kernels are not merged if a third kernel depends on the first and feeds the
//! second. Finally, [`HorizontalFusion`] combines the remaining small elementwise kernels.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use fusebox_core::cost::{CACHED_BYTES, bytes, first_array, is_heavy};
use fusebox_core::hlo::{Computation, InstrId};

use super::decide::Decisions;
use super::horizontal::HorizontalFusion;
use super::predictor::KernelPredictor;
use super::reads::{ReadIndex, read};
use super::region::Region;
use super::step_graph::{SequenceStep, StepGraph};

/// Limits of a merged kernel.
struct Limits {
    results: usize,
    instructions: usize,
    /// Number of values that the kernel reads.
    inputs: usize,
}

/// Limits of a kernel that is merged from kernels with common operands. The kernels with common
/// operands spend their time on memory traffic.
const SMALL: Limits = Limits { results: 8, instructions: 120, inputs: 24 };
/// Limits of a merged kernel that is predicted to take less time than the separate kernels.
const LARGE: Limits = Limits { results: 24, instructions: 400, inputs: 40 };
/// A merged kernel may have at most `1 / ALIKE` (an eighth) more instructions than the larger of
/// the two kernels. If the merged kernel is within this limit, kernels of any size are merged.
const ALIKE: usize = 8;
/// Largest number of readers of one value that are compared with each other.
const MOST_READERS: usize = 32;

/// Largest number of points in the iteration space of a kernel that is merged only to save a
/// launch.
const MOST_POINTS: i64 = CACHED_BYTES / 4;
/// Largest number of points in the iteration space of a kernel that [`HorizontalFusion`] combines
/// with others. Each combined kernel visits its own points.
const MOST_POINTS_HORIZONTAL: i64 = 8 * MOST_POINTS;

/// Whether a kernel is within limits.
fn is_within(region: &Region, most: &Limits) -> bool {
    region.roots.len() <= most.results
        && region.members.len() <= most.instructions
        && region.operands().count() <= most.inputs
}

/// The iteration space of a kernel. The kernel visits each point once.
#[derive(Clone, Debug)]
struct IterationSpace {
    /// Dimensions of the space.
    dims: Vec<i64>,
    /// The hero whose pass visits the space. `None` for an elementwise kernel.
    hero: Option<InstrId>,
}

impl IterationSpace {
    /// Whether the values at all points of the space fit into the nearer caches.
    fn is_small(&self) -> bool {
        self.points() <= MOST_POINTS
    }

    fn points(&self) -> i64 {
        self.dims.iter().fold(1i64, |points, &dim| points.saturating_mul(dim))
    }
}

/// Merges steps that an emitter computes in one pass. If launches take time, also combines small
/// independent kernels.
pub fn merge<'m>(
    computation: &'m Computation,
    decisions: &'m Decisions,
    steps: Vec<SequenceStep>,
    mut predictor: KernelPredictor<'m, '_, '_>,
    launches_count: bool,
) -> Vec<SequenceStep> {
    let spaces = steps.iter().map(|step| space(computation, decisions, step)).collect();
    let graph = StepGraph::new(computation, steps);
    let mut merger = Merger { computation, decisions, graph, spaces, predictor: &mut predictor };
    let mut values: Vec<InstrId> = computation.ids().collect();
    values.sort_by_key(|&id| Reverse(bytes(computation.instruction(id))));
    values.iter().for_each(|&value| merger.merge_readers(value));
    values.iter().for_each(|&value| merger.merge_around(value));
    let Merger { mut graph, spaces, .. } = merger;
    if launches_count {
        let may_be_combined =
            |space: &IterationSpace| space.hero.is_none() && (1..=MOST_POINTS_HORIZONTAL).contains(&space.points());
        let candidates = spaces.iter().enumerate().filter(|(_, space)| space.as_ref().is_some_and(may_be_combined));
        let candidates = candidates.map(|(step, _)| step).collect();
        HorizontalFusion::new(computation, decisions, &mut predictor).join(&mut graph, candidates);
    }
    graph.into_steps()
}

/// Returns the iteration space of a kernel. `None` if the kernel must not be merged. All expensive
/// operations of a merged kernel must be heroes of the same form.
fn space(computation: &Computation, decisions: &Decisions, step: &SequenceStep) -> Option<IterationSpace> {
    let SequenceStep::Kernel(region) = step else { return None };
    let root = *region.roots.first()?;
    let dims = &computation.instruction(root).shape.as_array()?.dims;
    let hero = decisions.hero_of.get(&root).copied();
    let dims = match hero {
        None => dims,
        Some(hero) => &decisions.heroes.claim(hero)?.pass.as_ref()?.dims,
    };
    let mut heavy = region.members.iter().filter(|&&id| is_heavy(&computation.instruction(id).op));
    let is_served = |&id: &InstrId| hero.is_some_and(|hero| decisions.heroes.go_together(id, hero));
    heavy.all(is_served).then(|| IterationSpace { dims: dims.clone(), hero })
}

struct Merger<'p, 'm, 'c, 'a> {
    computation: &'m Computation,
    decisions: &'m Decisions,
    graph: StepGraph,
    /// Space of each step of the graph.
    spaces: Vec<Option<IterationSpace>>,
    predictor: &'p mut KernelPredictor<'m, 'c, 'a>,
}

impl Merger<'_, '_, '_, '_> {
    /// Merges kernels that read or compute `value`, where possible.
    fn merge_readers(&mut self, value: InstrId) {
        let is_large = bytes(self.computation.instruction(value)) > CACHED_BYTES;
        let mut candidates: Vec<usize> =
            self.graph.producer(value).into_iter().chain(self.graph.readers(value).iter().copied()).collect();
        candidates.retain(|&step| self.spaces[step].as_ref().is_some_and(|space| is_large || space.is_small()));
        candidates.truncate(MOST_READERS);
        let mut kept: Vec<usize> = Vec::new();
        for step in candidates {
            match kept.iter().copied().find(|&other| self.merge_pair(other, step)) {
                Some(_) => {}
                None => kept.push(step),
            }
        }
    }

    /// Merges the second step into the first, if possible.
    fn merge_pair(&mut self, a: usize, b: usize) -> bool {
        let is_one =
            self.common_space(a, b).is_some() && self.has_room(&self.merged(&[a, b]), a, b) && self.go_together(a, b);
        if is_one {
            self.join(a, b);
        }
        is_one
    }

    /// Whether the merged kernel is small, or hardly larger than the larger of the two kernels. A
    /// merged kernel is hardly larger if the two kernels mostly compute the same instructions.
    fn has_room(&self, merged: &Region, a: usize, b: usize) -> bool {
        let regions = [a, b].map(|step| self.graph.region(step));
        let largest = |of: &dyn Fn(&Region) -> usize| regions.into_iter().flatten().map(of).max().unwrap_or(0);
        let (instructions, inputs) =
            (largest(&|region| region.members.len()), largest(&|region| region.operands().count()));
        let alike = Limits { instructions: instructions + instructions / ALIKE, inputs, results: SMALL.results };
        is_within(merged, &SMALL) || is_within(merged, &alike)
    }

    /// Whether one pass over elements can compute both steps. At each point of the iteration space,
    /// a step may read only those results of the other step that are computed at this point. No
    /// third step may be on a path between `a` and `b`.
    fn go_together(&self, a: usize, b: usize) -> bool {
        self.reads_at_point(a, b) && self.reads_at_point(b, a) && self.graph.may_join(a, b)
    }

    /// Merges the kernel that computes a large value with all readers of the value, so that the
    /// value needs no buffer. The merged kernel may be large, but must be predicted to take less
    /// time than the separate kernels.
    fn merge_around(&mut self, value: InstrId) {
        let Some(producer) = self.graph.producer(value) else { return };
        let readers = self.graph.readers(value).to_vec();
        let is_read_here = (1..MOST_READERS).contains(&readers.len()) && value != self.computation.root;
        let is_large = bytes(self.computation.instruction(value)) > CACHED_BYTES;
        if !is_read_here || !is_large || !readers.iter().all(|&reader| self.may_be_around(producer, reader)) {
            return;
        }
        let steps: Vec<usize> = [&[producer], readers.as_slice()].concat();
        if !self.pays(&steps) {
            return;
        }
        let (graph, spaces) = (self.graph.clone(), self.spaces.clone());
        let is_done = readers.iter().all(|&reader| {
            let goes = self.go_together(producer, reader);
            if goes {
                self.join(producer, reader);
            }
            goes
        });
        if !is_done {
            (self.graph, self.spaces) = (graph, spaces);
        }
    }

    /// Whether both steps are elementwise kernels over the same points, and can be merged.
    fn may_be_around(&self, producer: usize, reader: usize) -> bool {
        let space = self.common_space(producer, reader);
        producer != reader && space.is_some_and(|space| space.hero.is_none()) && self.go_together(producer, reader)
    }

    /// Whether one merged kernel is predicted to take less time than the kernels of these steps.
    fn pays(&mut self, steps: &[usize]) -> bool {
        let merged = self.merged(steps);
        if !is_within(&merged, &LARGE) {
            return false;
        }
        let mut separate = 0.0;
        for region in steps.iter().filter_map(|&step| self.graph.region(step)) {
            match self.predictor.seconds(region.computation(self.computation)) {
                Some(seconds) => separate += seconds,
                None => return false,
            }
        }
        self.predictor.seconds(merged.computation(self.computation)).is_some_and(|combined| combined < separate)
    }

    /// Returns the merged kernel of several steps.
    fn merged(&self, steps: &[usize]) -> Region {
        let regions: Vec<&Region> = steps.iter().filter_map(|&step| self.graph.region(step)).collect();
        let mut merged = Region::together(self.computation, &regions, self.decisions);
        merged.roots.retain(|&value| self.is_read_elsewhere(value, steps));
        merged.roots.sort_unstable();
        merged
    }

    /// Joins the second step to the first.
    fn join(&mut self, a: usize, b: usize) {
        let space = self.common_space(a, b);
        let merged = self.merged(&[a, b]);
        self.graph.join(a, b, merged);
        self.spaces[a] = space;
        self.spaces[b] = None;
    }

    /// Whether a value needs a buffer after these steps are merged. The value needs a buffer if it
    /// is the root, if a step outside the merged steps reads it, or if no step at all reads it.
    fn is_read_elsewhere(&self, value: InstrId, steps: &[usize]) -> bool {
        let readers = self.graph.readers(value);
        value == self.computation.root || readers.is_empty() || readers.iter().any(|reader| !steps.contains(reader))
    }

    /// Returns the space of the merged kernel. An elementwise kernel that is merged into a hero's
    /// pass gets the hero's space.
    fn common_space(&self, a: usize, b: usize) -> Option<IterationSpace> {
        let (one, other) = (self.spaces[a].as_ref()?, self.spaces[b].as_ref()?);
        let is_common = match (one.hero, other.hero) {
            (Some(one), Some(other)) => self.decisions.heroes.go_together(one, other),
            _ => one.dims == other.dims,
        };
        is_common.then(|| IterationSpace { hero: one.hero.or(other.hero), ..one.clone() })
    }

    /// Whether `reader` reads each result of `producer` only at the point where the result is
    /// computed.
    fn reads_at_point(&self, reader: usize, producer: usize) -> bool {
        let (Some(reader), Some(producer), Some(space)) =
            (self.graph.region(reader), self.graph.region(producer), &self.spaces[reader])
        else {
            return false;
        };
        let made: BTreeSet<InstrId> = reader.operands().filter(|id| producer.roots.contains(id)).collect();
        if made.is_empty() {
            return true;
        }
        let at_point = self.at_point(reader, space.hero);
        reader.members.iter().all(|&member| {
            let instruction = self.computation.instruction(member);
            (0..instruction.operands.len()).filter(|&p| made.contains(&instruction.operands[p])).all(|position| {
                at_point.get(&member).copied().unwrap_or(false) && self.is_at_point(member, position, space.hero)
            })
        })
    }

    /// Returns, for each member of a kernel, whether the kernel computes one element of the member
    /// at each point of its space. The roots of an elementwise kernel, and the heroes of a pass,
    /// are computed at each point. An operand is computed at each point if all members that read
    /// the operand are computed at each point and read it at their own point.
    fn at_point(&self, region: &Region, hero: Option<InstrId>) -> HashMap<InstrId, bool> {
        let mut at_point: HashMap<InstrId, bool> = HashMap::new();
        for &id in region.members.iter().rev() {
            let is_here = match at_point.get(&id) {
                _ if self.is_served(id, hero) => true,
                Some(&by_users) => by_users,
                None => hero.is_none(),
            };
            at_point.insert(id, is_here);
            for (position, operand) in self.computation.instruction(id).operands.iter().enumerate() {
                let passes_on = is_here && self.is_at_point(id, position, hero);
                at_point.entry(*operand).and_modify(|all| *all &= passes_on).or_insert(passes_on);
            }
        }
        at_point
    }

    fn is_served(&self, id: InstrId, hero: Option<InstrId>) -> bool {
        hero.is_some_and(|hero| self.decisions.heroes.go_together(id, hero))
    }

    /// Whether an instruction that is computed at a point reads the operand at the same point. A
    /// hero reads an operand of its pass at each point of the pass.
    fn is_at_point(&self, id: InstrId, position: usize, hero: Option<InstrId>) -> bool {
        let pass = self.decisions.heroes.claim(id).and_then(|claim| claim.pass.as_ref());
        if let Some(pass) = pass.filter(|_| self.is_served(id, hero)) {
            return position < pass.operands;
        }
        let instruction = self.computation.instruction(id);
        let same_dims = first_array(self.computation.instruction(instruction.operands[position]))
            .zip(first_array(instruction))
            .is_some_and(|(from, to)| from.dims == to.dims);
        same_dims && read(self.computation, instruction, position).index == ReadIndex::Own
    }
}
