//! Orders instructions so that an in-place update of an array executes after all other readers of
//! the old array.
//!
//! If a reader executed after the in-place update, the program would have to copy the old array
//! before the update. The body of a loop updates the loop's state in the same way.

use std::collections::{HashMap, HashSet};

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op};

use super::donation::Donations;
use super::effects::is_ordered;
use super::uses::{LeafUses, ValueLeaf};
use super::{PlannedFusion, leaf_bytes};
use crate::kernels::Kernels;
use crate::roles::{Role, roles};

/// Least size, in bytes, of an array for which a copy takes longer than the search for an order
/// that avoids the copy.
const LEAST_COPIED: u64 = 4 << 10;

/// Largest number of instructions that an update is moved past. The time of the search is linear in
/// this number.
const FARTHEST: usize = 512;

/// For each instruction of a computation, the operand leaves whose buffers the instruction would
/// overwrite with a result.
pub type Updates = HashMap<InstrId, Vec<ValueLeaf>>;

/// Returns the updates of every computation that thunks execute. Returns no updates for other
/// computations.
pub fn of_module(module: &Module, kernels: &Kernels, planned: &[PlannedFusion]) -> Vec<Updates> {
    let roles = roles(module);
    let of = |(number, computation): (usize, &Computation)| match roles[number] {
        Role::Sequence => updates(module, ComputationId(number as u32), computation, kernels, planned),
        _ => Updates::new(),
    };
    module.computations.iter().enumerate().map(of).collect()
}

fn updates(
    module: &Module,
    id: ComputationId,
    computation: &Computation,
    kernels: &Kernels,
    planned: &[PlannedFusion],
) -> Updates {
    let uses = LeafUses::in_program_order(computation);
    let is_entry = module.entry == Some(id);
    let donations = if is_entry { Some(Donations::of(module, computation)) } else { None };
    let borrowed_leaves =
        donations.iter().flat_map(|donations| borrowed_leaves(computation, &uses, donations)).collect::<HashSet<_>>();
    let wanted = wanted(computation, &uses, donations.as_ref());
    let mut updates = Updates::new();
    for (instr, instruction) in computation.ids().zip(&computation.instructions) {
        let of_operand = |number: usize| Some(*uses.leaves(*instruction.operands.get(number)?).first()?);
        let mut overwritten: Vec<ValueLeaf> =
            match (&instruction.op, kernels.of.get(&(id, instr)).and_then(|&unit| planned.get(unit))) {
                (Op::While { .. } | Op::Conditional { .. }, _) => uses.reads(instr).to_vec(),
                (_, Some(planned)) => {
                    let initial = planned.plan.outputs.iter().filter_map(|output| of_operand(output.initial? as usize));
                    let in_place = planned.pairs.iter().filter_map(|pair| {
                        let (old, new) = (of_operand(pair.parameter)?, *uses.leaves(instr).get(pair.output)?);
                        wanted.contains(&(old, new)).then_some(old)
                    });
                    initial.chain(in_place).collect()
                }
                _ => continue,
            };
        overwritten.retain(|leaf| !borrowed_leaves.contains(leaf));
        if !overwritten.is_empty() {
            updates.insert(instr, overwritten);
        }
    }
    updates
}

/// Returns the leaves of a program's parameters that its caller has not donated.
fn borrowed_leaves(entry: &Computation, uses: &LeafUses, donations: &Donations) -> Vec<ValueLeaf> {
    let leaves = entry.parameters().into_iter().flat_map(|id| uses.leaves(id));
    leaves.enumerate().filter(|(number, _)| !donations.donated.contains(number)).map(|(_, &leaf)| leaf).collect()
}

/// Returns pairs of leaves: a leaf of a parameter, and the leaf of the result that should be in the
/// same buffer. For the entry, the pairs are donated inputs and the results that reuse them. For
/// the body of a loop, the pairs are elements of the state and of the next state.
fn wanted(
    computation: &Computation,
    uses: &LeafUses,
    donations: Option<&Donations>,
) -> HashSet<(ValueLeaf, ValueLeaf)> {
    let leaves: Vec<ValueLeaf> = computation.parameters().into_iter().flat_map(|id| uses.leaves(id)).copied().collect();
    let place = |number: usize| match donations {
        Some(donations) => donations.input_of.get(number).copied().flatten(),
        None => Some(number),
    };
    let results = uses.result().iter().enumerate();
    results.filter_map(|(number, &new)| Some((*leaves.get(place(number)?)?, new))).collect()
}

/// Moves each update, and all instructions that need its result, behind the other readers of the
/// updated array. Returns the new order. `has_effect` states, for each computation, whether its
/// execution has an effect.
pub fn after_readers(
    computation: &Computation,
    order: Vec<InstrId>,
    updates: &Updates,
    has_effect: &[bool],
) -> Vec<InstrId> {
    if updates.is_empty() {
        return order;
    }
    let uses = LeafUses::in_program_order(computation);
    let mut readers: HashMap<ValueLeaf, Vec<InstrId>> = HashMap::new();
    for id in computation.ids() {
        uses.reads(id).iter().for_each(|&leaf| readers.entry(leaf).or_default().push(id));
    }
    let mut positions = vec![0; computation.instructions.len()];
    order.iter().enumerate().for_each(|(place, id)| positions[id.index()] = place);
    let mut moving = MovableOrder { computation, order, positions };
    let mut updating: Vec<InstrId> = updates.keys().copied().collect();
    updating.sort_unstable();
    for id in updating {
        for leaf in &updates[&id] {
            let bytes = leaf_bytes(&computation.instruction(leaf.producer).shape).nth(leaf.number);
            if bytes.is_some_and(|bytes| bytes >= LEAST_COPIED) && !uses.result().contains(leaf) {
                moving.behind(id, &readers[leaf], has_effect);
            }
        }
    }
    moving.order
}

/// An order that is being changed, and the position of each instruction in this order.
struct MovableOrder<'a> {
    computation: &'a Computation,
    order: Vec<InstrId>,
    positions: Vec<usize>,
}

impl MovableOrder<'_> {
    /// Moves `id`, and the instructions that wait for it, behind the last of `readers`. Does
    /// nothing if one of the readers also waits for `id`.
    fn behind(&mut self, id: InstrId, readers: &[InstrId], has_effect: &[bool]) {
        let first = self.positions[id.index()];
        let last = readers.iter().map(|reader| self.positions[reader.index()]).max().unwrap_or(first);
        if last <= first || last - first > FARTHEST {
            return;
        }
        let mut moved = HashSet::from([id]);
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for &other in &self.order[first..=last] {
            let instruction = self.computation.instruction(other);
            let predecessors = instruction.extra.iter().flat_map(|extra| &extra.control_predecessors);
            let waits = other == id || instruction.operands.iter().chain(predecessors).any(|it| moved.contains(it));
            if waits && (is_ordered(instruction, has_effect) || (other != id && readers.contains(&other))) {
                return;
            }
            if waits {
                moved.insert(other);
            }
            if waits { &mut behind } else { &mut before }.push(other);
        }
        for (place, other) in (first..).zip(before.into_iter().chain(behind)) {
            self.order[place] = other;
            self.positions[other.index()] = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_core::hlo::parse_module;

    /// Returns the names of the entry's instructions in their order, if `u` updates `old` in-place.
    fn ordered(body: &str) -> Vec<String> {
        let text = format!("HloModule m\nENTRY main {{ p = f32[2048] parameter(0)\n z = s32[] constant(0)\n{body} }}");
        let module = parse_module(&text, "test.hlo").unwrap();
        let main = module.entry_computation().unwrap();
        let named = |name: &str| main.ids().find(|&id| main.instruction(id).name == name).unwrap();
        let updates = Updates::from([(named("u"), vec![ValueLeaf { producer: named("old"), number: 0 }])]);
        let order = after_readers(main, main.ids().collect(), &updates, &vec![false; module.computations.len()]);
        let names = order.into_iter().map(|id| main.instruction(id).name.clone());
        names.filter(|name| !["p", "z"].contains(&name.as_str())).collect()
    }

    #[test]
    fn an_update_waits_for_readers_and_others_wait_for_it() {
        let order = ordered(
            "old = f32[2048] negate(p)
  one = f32[1] slice(p), slice={[0:1]}
  u = f32[2048] dynamic-update-slice(old, one, z)
  n = f32[2048] exponential(u)
  before = f32[2048] sine(old)
  ROOT r = (f32[2048], f32[2048]) tuple(n, before)",
        );
        assert_eq!(order, ["old", "one", "before", "u", "n", "r"]);
    }

    #[test]
    fn readers_that_need_the_update_leave_it_where_it_is() {
        let order = ordered(
            "old = f32[2048] negate(p)
  one = f32[1] slice(p), slice={[0:1]}
  u = f32[2048] dynamic-update-slice(old, one, z)
  n = f32[2048] exponential(u)
  both = f32[2048] add(old, n)
  ROOT r = (f32[2048]) tuple(both)",
        );
        assert_eq!(order, ["old", "one", "u", "n", "both", "r"]);
    }

    #[test]
    fn what_draws_random_numbers_is_not_moved() {
        let order = ordered(
            "old = f32[2048] negate(p)
  one = f32[] constant(1)
  u = f32[2048] rng(old, one), distribution=rng_uniform
  before = f32[2048] sine(old)
  ROOT r = (f32[2048], f32[2048]) tuple(u, before)",
        );
        assert_eq!(order, ["old", "one", "u", "before", "r"]);
    }

    #[test]
    fn small_arrays_are_rather_copied() {
        let order = ordered(
            "old = f32[8] slice(p), slice={[0:8]}
  one = f32[1] slice(p), slice={[0:1]}
  u = f32[8] dynamic-update-slice(old, one, z)
  before = f32[8] sine(old)
  ROOT r = (f32[8], f32[8]) tuple(u, before)",
        );
        assert_eq!(order, ["old", "one", "u", "before", "r"]);
    }
}
