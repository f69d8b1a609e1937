//! Kernels that read the same values become one with several results, if that saves memory traffic or as good as all they take
//! is to be launched.
//!
//! Merged is what is computed in one pass: heroes of one form whose emitters say so, with elementwise results over what they
//! read written on the way; elementwise kernels of equal dimensions. A value that one of the two computes for the
//! other is then an extra result instead of a kernel. Nothing is merged across a third kernel that needs the one
//! and feeds the other. What small elementwise kernels are left is put [beside](super::beside) each other.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use fusebox_core::cost::{CACHED_BYTES, bytes, first_array, is_heavy};
use fusebox_core::hlo::{Computation, InstrId};

use super::beside::Beside;
use super::decide::Decisions;
use super::order::{Graph, Step};
use super::reads::{Index, read};
use super::region::Region;

/// Most results of a merged kernel.
const MOST_RESULTS: usize = 8;
/// Most instructions of a merged kernel.
const MOST_INSTRUCTIONS: usize = 120;
/// Most values a merged kernel reads.
const MOST_INPUTS: usize = 24;
/// Most kernels that are compared because they read one value.
const MOST_READERS: usize = 32;

/// Most points of kernels that are merged for the sake of their launches alone.
const MOST_POINTS: i64 = CACHED_BYTES / 4;
/// The same of kernels that are put beside each other, each with points of its own.
const MOST_POINTS_BESIDE: i64 = 8 * MOST_POINTS;

/// The points that a kernel goes over once.
#[derive(Clone, Debug)]
struct Space {
    /// Their dimensions.
    dims: Vec<i64>,
    /// The hero whose pass it is; none of an elementwise kernel.
    hero: Option<InstrId>,
}

impl Space {
    /// Whether what is computed at all points is near by.
    fn is_small(&self) -> bool {
        self.points() <= MOST_POINTS
    }

    fn points(&self) -> i64 {
        self.dims.iter().fold(1i64, |points, &dim| points.saturating_mul(dim))
    }
}

/// The steps, those merged that some emitter computes in one pass, or beside each other.
pub fn merge(computation: &Computation, decisions: &Decisions, steps: Vec<Step>, beside: Option<Beside>) -> Vec<Step> {
    let spaces = steps.iter().map(|step| space(computation, decisions, step)).collect();
    let mut merger = Merger { computation, decisions, graph: Graph::new(computation, steps), spaces };
    let mut values: Vec<InstrId> = computation.ids().collect();
    values.sort_by_key(|&id| Reverse(bytes(computation.instruction(id))));
    values.into_iter().for_each(|id| merger.merge_readers(id));
    if let Some(beside) = beside {
        let may_stand_beside =
            |space: &Space| space.hero.is_none() && (1..=MOST_POINTS_BESIDE).contains(&space.points());
        let steps = merger.spaces.iter().enumerate();
        let candidates = steps.filter(|(_, space)| space.as_ref().is_some_and(may_stand_beside));
        let candidates = candidates.map(|(step, _)| step).collect();
        beside.join(&mut merger.graph, candidates);
    }
    merger.graph.into_steps()
}

/// The space of a kernel that may be merged: of expensive operations, it has none but those of the hero's form.
fn space(computation: &Computation, decisions: &Decisions, step: &Step) -> Option<Space> {
    let Step::Kernel(region) = step else { return None };
    let root = *region.roots.first()?;
    let dims = &computation.instruction(root).shape.as_array()?.dims;
    let hero = decisions.hero_of.get(&root).copied();
    let dims = match hero {
        None => dims,
        Some(hero) => &decisions.heroes.claim(hero)?.pass.as_ref()?.dims,
    };
    let mut heavy = region.members.iter().filter(|&&id| is_heavy(&computation.instruction(id).op));
    let is_served = |&id: &InstrId| hero.is_some_and(|hero| decisions.heroes.go_together(id, hero));
    heavy.all(is_served).then(|| Space { dims: dims.clone(), hero })
}

struct Merger<'a> {
    computation: &'a Computation,
    decisions: &'a Decisions,
    graph: Graph,
    /// Per step of the graph.
    spaces: Vec<Option<Space>>,
}

impl Merger<'_> {
    /// Merges what it can among the kernels that read or compute `value`.
    fn merge_readers(&mut self, value: InstrId) {
        let is_large = bytes(self.computation.instruction(value)) > CACHED_BYTES;
        let mut candidates: Vec<usize> =
            self.graph.maker(value).into_iter().chain(self.graph.readers(value).iter().copied()).collect();
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

    /// Merges the second step into the first, if they go together.
    fn merge_pair(&mut self, a: usize, b: usize) -> bool {
        let Some(space) = self.common_space(a, b) else { return false };
        let (Some(one), Some(other)) = (self.graph.region(a), self.graph.region(b)) else { return false };
        let mut roots: Vec<InstrId> = one.roots.iter().chain(&other.roots).copied().collect();
        roots.sort_unstable();
        let merged = Region::of(self.computation, &roots, self.decisions);
        let is_small = roots.len() <= MOST_RESULTS
            && merged.members.len() <= MOST_INSTRUCTIONS
            && merged.operands().count() <= MOST_INPUTS;
        if !is_small || !self.reads_at_point(a, b) || !self.reads_at_point(b, a) || !self.graph.may_join(a, b) {
            return false;
        }
        self.graph.join(a, b, merged);
        self.spaces[a] = Some(space);
        self.spaces[b] = None;
        true
    }

    /// The space of both together. What is written on the way of a hero's pass takes the hero's.
    fn common_space(&self, a: usize, b: usize) -> Option<Space> {
        let (one, other) = (self.spaces[a].as_ref()?, self.spaces[b].as_ref()?);
        let is_common = match (one.hero, other.hero) {
            (Some(one), Some(other)) => self.decisions.heroes.go_together(one, other),
            _ => one.dims == other.dims,
        };
        is_common.then(|| Space { hero: one.hero.or(other.hero), ..one.clone() })
    }

    /// Whether what one kernel computes for the other is read where it is computed: at the same point of both.
    fn reads_at_point(&self, reader: usize, maker: usize) -> bool {
        let (Some(reader), Some(maker), Some(space)) =
            (self.graph.region(reader), self.graph.region(maker), &self.spaces[reader])
        else {
            return false;
        };
        let made: BTreeSet<InstrId> = reader.operands().filter(|id| maker.roots.contains(id)).collect();
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

    /// Per member of a kernel, whether it is computed once per point of the kernel's space, at that point: the roots of an
    /// elementwise kernel and the heroes of a pass, and what they read pointwise.
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

    /// Whether an instruction at a point reads that operand at the same point; a hero, at each point of its pass.
    fn is_at_point(&self, id: InstrId, position: usize, hero: Option<InstrId>) -> bool {
        let pass = self.decisions.heroes.claim(id).and_then(|claim| claim.pass.as_ref());
        if let Some(pass) = pass.filter(|_| self.is_served(id, hero)) {
            return position < pass.operands;
        }
        let instruction = self.computation.instruction(id);
        let same_dims = first_array(self.computation.instruction(instruction.operands[position]))
            .zip(first_array(instruction))
            .is_some_and(|(from, to)| from.dims == to.dims);
        same_dims && read(self.computation, instruction, position).index == Index::Own
    }
}
