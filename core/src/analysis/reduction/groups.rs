//! Groups the reductions that one pass over the operands computes.

use std::collections::{BTreeMap, BTreeSet};

use super::hero::ReductionHero;
use super::problem::{ReductionProblem, position_map};
use super::roots::{Found, reduce_heroes};
use crate::emitter::{Analysis, Decline, Fusion};
use crate::hlo::{ArrayShape, Computation, InstrId, Op, Shape};
use crate::indexing::{IndexingMap, linearize};

/// A fusion with reduce heroes.
#[derive(Clone, Debug, PartialEq)]
pub struct ReductionFusion {
    /// The groups. Different blocks compute different groups.
    pub groups: Vec<ReductionGroup>,
    /// For each root, the reason for the choice of its heroes; then a description of each group.
    /// `explain` prints the reasons and the descriptions.
    pub reasons: Vec<String>,
}

/// Reductions with the same canonical problem and common operands, computed in one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct ReductionGroup {
    /// The canonical problem that all heroes have.
    pub problem: ReductionProblem,
    /// The reductions, in instruction order. Every group has at least one reduction.
    pub heroes: Vec<ReductionHero>,
    /// The roots that the kernel writes after the reductions are complete. Every group has at least
    /// one root.
    pub roots: Vec<ReducedRoot>,
    /// The roots that are written while the operands are read.
    pub sides: Vec<SideOutput>,
}

/// A root with one element per result of the reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct ReducedRoot {
    /// The root.
    pub instruction: InstrId,
    /// Indices of the root's heroes in [`ReductionGroup::heroes`]. The root's epilogue uses only
    /// the values of the root's heroes. If the root has no heroes, the kernel computes the root
    /// from the parameters alone.
    pub heroes: Vec<usize>,
    /// Pairs `(output, leaf)`: the kernel writes leaf number `leaf` of the root to its output
    /// number `output`.
    pub outputs: Vec<(usize, usize)>,
    /// Map from the [kept coordinates](ReductionProblem::kept_dims) to the root's index.
    pub from_kept: IndexingMap,
}

/// A root that has one element for each element of the operands. The kernel writes the root while
/// it reads the operands.
#[derive(Clone, Debug, PartialEq)]
pub struct SideOutput {
    /// The root.
    pub instruction: InstrId,
    /// Pairs `(output, leaf)`: the kernel writes leaf number `leaf` of the root to its output
    /// number `output`.
    pub outputs: Vec<(usize, usize)>,
    /// Map from the problem's coordinates to the root's index.
    pub from_canonical: IndexingMap,
}

/// A root that is not yet in a group.
struct Root {
    instruction: InstrId,
    outputs: Vec<(usize, usize)>,
    dims: Vec<i64>,
    found: Found,
}

/// Analyses a fusion whose roots have reduce heroes.
///
/// # Errors
/// Fails if no root has a reduce hero. Also fails if a root without hero fits no group. A root fits
/// a group if the group's operands or results have as many elements as the root. The error tells
/// the user the reason.
pub fn reductions(fusion: &Fusion) -> Result<ReductionFusion, Decline> {
    let computation = fusion.computation();
    let roots = roots(fusion)?;
    let mut reasons: Vec<String> = roots
        .iter()
        .map(|root| format!("{}: {}", computation.instruction(root.instruction).name, root.found.reason))
        .collect();
    let mut groups = grouped(computation, &roots);
    if groups.is_empty() {
        return Err(Decline::new(reasons.join("; ")));
    }
    for root in roots.iter().filter(|root| root.found.heroes.is_empty()) {
        attach(computation, &mut groups, root)?;
    }
    for group in &groups {
        reasons.push(group.describe(computation));
    }
    Ok(ReductionFusion { groups, reasons })
}

impl Analysis for ReductionFusion {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        reductions(fusion)
    }
}

/// Returns the distinct roots, with their outputs.
fn roots(fusion: &Fusion) -> Result<Vec<Root>, Decline> {
    let computation = fusion.computation();
    let mut roots: Vec<Root> = Vec::new();
    let mut output = 0;
    for &id in &fusion.roots {
        let instruction = computation.instruction(id);
        let leaves = instruction.shape.leaves();
        let arrays: Vec<&ArrayShape> = leaves.iter().filter_map(|leaf| leaf.as_array()).collect();
        let dims = arrays.first().map(|array| array.dims.clone()).unwrap_or_default();
        if arrays.len() != leaves.len() || arrays.is_empty() || arrays.iter().any(|array| array.dims != dims) {
            let reason = "a result is neither an array nor a tuple of arrays of equal dimensions".to_owned();
            return Err(Decline::at(instruction, reason));
        }
        let outputs = (0..leaves.len()).map(|leaf| (output + leaf, leaf));
        match roots.iter_mut().find(|root| root.instruction == id) {
            Some(known) => known.outputs.extend(outputs),
            None => {
                let found = reduce_heroes(&fusion.module, computation, id);
                roots.push(Root { instruction: id, outputs: outputs.collect(), dims, found });
            }
        }
        output += leaves.len();
    }
    Ok(roots)
}

/// Groups the heroes. Two heroes are in one group if they belong to the same root, or if they have
/// the same problem and common operands.
fn grouped(computation: &Computation, roots: &[Root]) -> Vec<ReductionGroup> {
    let mut heroes: BTreeMap<InstrId, ReductionHero> = BTreeMap::new();
    for hero in roots.iter().flat_map(|root| &root.found.heroes) {
        heroes.entry(hero.instruction).or_insert_with(|| hero.clone());
    }
    let mut sets: Vec<BTreeSet<InstrId>> = heroes.keys().map(|&id| BTreeSet::from([id])).collect();
    for root in roots {
        join(&mut sets, &root.found.heroes.iter().map(|hero| hero.instruction).collect::<Vec<_>>());
    }
    let read: BTreeMap<InstrId, BTreeSet<InstrId>> =
        heroes.values().map(|hero| (hero.instruction, shared_by(computation, hero))).collect();
    for (a, one) in &heroes {
        for (b, other) in heroes.range(..a) {
            if one.problem == other.problem && !read[a].is_disjoint(&read[b]) {
                join(&mut sets, &[*a, *b]);
            }
        }
    }
    sets.into_iter().filter_map(|members| group(&members, &heroes, roots)).collect()
}

/// Merges all sets that contain any of the members.
fn join(sets: &mut Vec<BTreeSet<InstrId>>, members: &[InstrId]) {
    let touched: Vec<BTreeSet<InstrId>> =
        sets.extract_if(.., |set| members.iter().any(|member| set.contains(member))).collect();
    if let Some(joined) = touched.into_iter().reduce(|mut all, set| {
        all.extend(set);
        all
    }) {
        sets.push(joined);
        sets.sort();
    }
}

/// Returns a reduction's operands and the instructions from which these operands are computed.
/// Leaves out instructions with a single element and instructions that can be duplicated at no
/// cost.
fn shared_by(computation: &Computation, hero: &ReductionHero) -> BTreeSet<InstrId> {
    let mut read = BTreeSet::new();
    let mut pending: Vec<InstrId> = hero.values.iter().map(|value| value.operand).collect();
    while let Some(id) = pending.pop() {
        let instruction = computation.instruction(id);
        let is_large =
            instruction.shape.leaves().iter().any(|leaf| leaf.as_array().is_none_or(|array| array.element_count() > 1));
        if is_large && !instruction.op.is_generated() && read.insert(id) {
            pending.extend(&instruction.operands);
        }
    }
    read
}

fn group(
    members: &BTreeSet<InstrId>,
    heroes: &BTreeMap<InstrId, ReductionHero>,
    roots: &[Root],
) -> Option<ReductionGroup> {
    let heroes: Vec<ReductionHero> = members.iter().filter_map(|id| heroes.get(id).cloned()).collect();
    let problem = heroes.first()?.problem;
    let place = |hero: &ReductionHero| heroes.iter().position(|other| other.instruction == hero.instruction);
    let own =
        roots.iter().filter(|root| root.found.heroes.first().is_some_and(|hero| members.contains(&hero.instruction)));
    let roots = own
        .map(|root| ReducedRoot {
            instruction: root.instruction,
            heroes: root.found.heroes.iter().filter_map(place).collect(),
            outputs: root.outputs.clone(),
            from_kept: problem.kept_to(&root.dims),
        })
        .collect();
    Some(ReductionGroup { problem, heroes, roots, sides: Vec::new() })
}

/// Adds a root without hero to a group whose operands or results have as many elements as the root.
/// Prefers a group that reads the instructions from which the root is computed.
fn attach(computation: &Computation, groups: &mut [ReductionGroup], root: &Root) -> Result<(), Decline> {
    let count: i64 = root.dims.iter().product();
    let shares = |group: &ReductionGroup| {
        let above = ancestors(computation, root.instruction);
        group.heroes.iter().any(|hero| !shared_by(computation, hero).is_disjoint(&above))
    };
    let of_operands: Vec<usize> = (0..groups.len()).filter(|&g| groups[g].problem.element_count() == count).collect();
    if let Some(&chosen) = of_operands.iter().find(|&&g| shares(&groups[g])).or(of_operands.first()) {
        let group = &mut groups[chosen];
        let from_canonical = group.positions_in(computation, &root.dims);
        group.sides.push(SideOutput { instruction: root.instruction, outputs: root.outputs.clone(), from_canonical });
        return Ok(());
    }
    let of_results: Vec<usize> = (0..groups.len()).filter(|&g| groups[g].problem.kept_count() == count).collect();
    if let Some(&chosen) = of_results.first() {
        let from_kept = groups[chosen].problem.kept_to(&root.dims);
        let outputs = root.outputs.clone();
        groups[chosen].roots.push(ReducedRoot {
            instruction: root.instruction,
            heroes: Vec::new(),
            outputs,
            from_kept,
        });
        return Ok(());
    }
    let instruction = computation.instruction(root.instruction);
    let reason = format!(
        "{} has {count} elements, neither as many as a reduction's results nor as its operands ({})",
        instruction.name, root.found.reason
    );
    Err(Decline::at(instruction, reason))
}

fn ancestors(computation: &Computation, root: InstrId) -> BTreeSet<InstrId> {
    let mut reached = BTreeSet::from([root]);
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        pending.extend(computation.instruction(id).operands.iter().filter(|operand| reached.insert(**operand)));
    }
    reached
}

impl ReductionGroup {
    /// Returns the map from the problem's coordinates to an index in an array of dimensions `dims`.
    /// In row-major order, the index has the position that the coordinates have in the first hero's
    /// operand.
    fn positions_in(&self, computation: &Computation, dims: &[i64]) -> IndexingMap {
        let Some(first) = self.heroes.first() else { return IndexingMap::default() };
        let operand = first.operand_dims(computation);
        if operand == dims {
            return first.to_operand.clone();
        }
        let position = linearize(&first.to_operand.results, operand);
        position_map(&self.problem.dims, &position, dims)
    }

    /// Returns the parameters and side outputs that have as many elements as the problem. In one
    /// pass over the operands, the kernel reads the returned parameters and writes the returned
    /// side outputs.
    pub fn large_arrays<'c>(&self, computation: &'c Computation) -> Vec<&'c ArrayShape> {
        let count = self.problem.element_count();
        let heroes = self.heroes.iter().flat_map(|hero| &hero.values).map(|value| value.operand);
        let sides = self.sides.iter().map(|side| side.instruction);
        let mut reached: BTreeSet<InstrId> = heroes.chain(sides).collect();
        for id in reached.clone() {
            reached.extend(ancestors(computation, id));
        }
        let parameters =
            reached.into_iter().filter(|&id| matches!(computation.instruction(id).op, Op::Parameter { .. }));
        let sides = self.sides.iter().map(|side| side.instruction);
        let leaves = parameters.chain(sides).flat_map(|id| computation.instruction(id).shape.leaves());
        leaves.filter_map(Shape::as_array).filter(|array| array.element_count() == count).collect()
    }

    fn describe(&self, computation: &Computation) -> String {
        let names: Vec<&str> =
            self.heroes.iter().map(|hero| computation.instruction(hero.instruction).name.as_str()).collect();
        format!("one pass for {}: {}", names.join(", "), self.problem)
    }
}
