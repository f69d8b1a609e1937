//! Kernels that read the same large values become one with several results.
//!
//! Merged is what some emitter computes in one pass: reductions of one form, with elementwise results over what they
//! read written on the way; elementwise kernels of equal dimensions. A value that one of the two computes for the
//! other is then an extra result instead of a kernel. Nothing is merged across a third kernel that needs the one
//! and feeds the other.

use std::collections::{BTreeSet, HashMap};

use fusebox_core::cost::{CACHED_BYTES, bytes, first_array, is_heavy};
use fusebox_core::hlo::{Computation, InstrId, Op};

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

/// The iteration space of a kernel, as far as merging goes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// Elements of these dimensions.
    Elements(Vec<i64>),
    /// A reduction of an array of these dimensions over some of them.
    Reduction(Vec<i64>, Vec<i64>),
}

/// The steps, those merged that some emitter computes in one pass.
pub fn merge(computation: &Computation, decisions: &Decisions, steps: Vec<Step>) -> Vec<Step> {
    let forms = steps.iter().map(|step| form(computation, decisions, step)).collect();
    let mut merger = Merger { computation, decisions, graph: Graph::new(computation, steps), forms };
    let large = computation.ids().filter(|&id| bytes(computation.instruction(id)) > CACHED_BYTES);
    for id in large.collect::<Vec<_>>() {
        merger.merge_readers(id);
    }
    merger.graph.steps()
}

/// The form of a kernel that may be merged: of expensive operations, none but reductions of the hero's form.
fn form(computation: &Computation, decisions: &Decisions, step: &Step) -> Option<Form> {
    let Step::Kernel(region) = step else { return None };
    let root = *region.roots.first()?;
    let dims = &computation.instruction(root).shape.as_array()?.dims;
    let form = match decisions.claims.get(&root) {
        None => Form::Elements(dims.clone()),
        Some(claim) => reduction(computation, claim.hero)?,
    };
    let mut heavy = region.members.iter().filter(|&&id| is_heavy(&computation.instruction(id).op));
    heavy.all(|&id| reduction(computation, id).as_ref() == Some(&form)).then_some(form)
}

fn reduction(computation: &Computation, id: InstrId) -> Option<Form> {
    let reduce = computation.instruction(id);
    let Op::Reduce { dimensions, .. } = &reduce.op else { return None };
    let operand = first_array(computation.instruction(reduce.operands[0]))?;
    let mut dimensions = dimensions.clone();
    dimensions.sort_unstable();
    Some(Form::Reduction(operand.dims.clone(), dimensions))
}

struct Merger<'a> {
    computation: &'a Computation,
    decisions: &'a Decisions,
    graph: Graph,
    /// Per step of the graph.
    forms: Vec<Option<Form>>,
}

impl Merger<'_> {
    /// Merges what it can among the kernels that read or compute `value`.
    fn merge_readers(&mut self, value: InstrId) {
        let mut candidates: Vec<usize> = self.graph.maker(value).into_iter().chain(self.graph.readers(value)).collect();
        candidates.retain(|&step| self.forms[step].is_some());
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
        let Some(form) = self.common_form(a, b) else { return false };
        let (Some(one), Some(other)) = (self.graph.region(a), self.graph.region(b)) else { return false };
        let mut roots: Vec<InstrId> = one.roots.iter().chain(&other.roots).copied().collect();
        roots.sort_unstable();
        let merged = Region::of(self.computation, &roots, self.decisions);
        let is_small = roots.len() <= MOST_RESULTS
            && merged.members.len() <= MOST_INSTRUCTIONS
            && merged.operands().count() <= MOST_INPUTS;
        if !is_small || !self.reads_in_step(one, other) || !self.graph.may_join(a, b) {
            return false;
        }
        self.graph.join(a, b, merged);
        self.forms[a] = Some(form);
        self.forms[b] = None;
        true
    }

    /// The form of both together. What is written while reading for a reduction takes the reduction's.
    fn common_form(&self, a: usize, b: usize) -> Option<Form> {
        match (self.forms[a].as_ref()?, self.forms[b].as_ref()?) {
            (one, other) if one == other => Some(one.clone()),
            (Form::Elements(dims), reduction @ Form::Reduction(operand, _))
            | (reduction @ Form::Reduction(operand, _), Form::Elements(dims))
                if dims == operand =>
            {
                Some(reduction.clone())
            }
            _ => None,
        }
    }

    /// Whether what either computes for the other is read where it is computed: at the same point of both.
    fn reads_in_step(&self, one: &Region, other: &Region) -> bool {
        self.reads_at_point(one, other) && self.reads_at_point(other, one)
    }

    fn reads_at_point(&self, reader: &Region, maker: &Region) -> bool {
        let made: BTreeSet<InstrId> = reader.operands().filter(|id| maker.roots.contains(id)).collect();
        if made.is_empty() {
            return true;
        }
        let at_point = self.at_point(reader);
        reader.members.iter().all(|&member| {
            let instruction = self.computation.instruction(member);
            (0..instruction.operands.len())
                .filter(|&p| made.contains(&instruction.operands[p]))
                .all(|position| at_point.get(&member).copied().unwrap_or(false) && self.is_at_point(member, position))
        })
    }

    /// Per member of a kernel, whether it is computed once per point of the kernel's space, at that point: the roots of an
    /// elementwise kernel and the reduces of a reduction, and what they read pointwise.
    fn at_point(&self, region: &Region) -> HashMap<InstrId, bool> {
        let is_reduction = |id: InstrId| matches!(self.computation.instruction(id).op, Op::Reduce { .. });
        let has_reduction = region.members.iter().any(|&id| is_reduction(id));
        let mut at_point: HashMap<InstrId, bool> = HashMap::new();
        for &id in region.members.iter().rev() {
            let is_here = match at_point.get(&id) {
                _ if has_reduction && is_reduction(id) => true,
                Some(&by_users) => by_users,
                None => !has_reduction,
            };
            at_point.insert(id, is_here);
            for (position, operand) in self.computation.instruction(id).operands.iter().enumerate() {
                let passes_on = is_here && self.is_at_point(id, position);
                at_point.entry(*operand).and_modify(|all| *all &= passes_on).or_insert(passes_on);
            }
        }
        at_point
    }

    /// Whether an instruction at a point reads that operand at the same point; a reduction, at each point it covers.
    fn is_at_point(&self, id: InstrId, position: usize) -> bool {
        let instruction = self.computation.instruction(id);
        match instruction.op {
            Op::Reduce { .. } => position < instruction.operands.len() / 2,
            _ => {
                let same_dims = first_array(self.computation.instruction(instruction.operands[position]))
                    .zip(first_array(instruction))
                    .is_some_and(|(from, to)| from.dims == to.dims);
                same_dims && read(self.computation, instruction, position).index == Index::Own
            }
        }
    }
}
