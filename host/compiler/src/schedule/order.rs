//! Computes an execution order for a computation's instructions that keeps little memory alive at
//! once.
//!
//! Among the instructions whose operands are computed, the list scheduler picks the instruction
//! with the largest gain. The gain is the number of bytes that the instruction frees, minus the
//! number of bytes that it allocates. For some programs, the resulting order takes more memory than
//! the order of the program, so [`super::schedule`] compares the two orders.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use fusebox_core::hlo::{Computation, InstrId, Module, Op};

use super::effects::{effects, is_ordered};
use super::late::late;
use super::leaf_bytes;
use super::updates::{Updates, after_readers};
use super::uses::{LeafUses, ValueLeaf};
use crate::roles::{Role, roles};

/// For each computation, its instructions in execution order.
pub type Orders = Vec<Vec<InstrId>>;

/// Returns the instructions of every computation in the order of the program. Moves only updates
/// and instructions without operands.
pub fn of_program(module: &Module, updates: &[Updates]) -> Orders {
    let has_effect = effects(module);
    let in_order = |(computation, updates): (&Computation, &Updates)| {
        late(computation, after_readers(computation, computation.ids().collect(), updates, &has_effect))
    };
    module.computations.iter().zip(updates).map(in_order).collect()
}

/// Returns, for every computation that thunks execute, an order that frees memory early.
pub fn freeing_early(module: &Module, updates: &[Updates]) -> Orders {
    let roles = roles(module);
    let has_effect = effects(module);
    let order = |number: usize| {
        let (computation, updates) = (&module.computations[number], &updates[number]);
        match roles[number] {
            Role::Sequence => {
                let order = ListScheduler::new(computation, &has_effect, updates).list();
                late(computation, after_readers(computation, order, updates, &has_effect))
            }
            _ => computation.ids().collect(),
        }
    };
    (0..module.computations.len()).map(order).collect()
}

/// State of the list scheduler while it orders the instructions of a computation.
struct ListScheduler {
    /// For each instruction, the instructions that wait for it.
    successors: Vec<Vec<InstrId>>,
    /// For each instruction, the number of instructions for which it waits.
    waits_for: Vec<u32>,
    /// For each instruction, the leaves that it reads, without repetition.
    reads: Vec<Vec<usize>>,
    leaves: Vec<LeafReads>,
    /// For each instruction, its gain if it comes next: the number of bytes that it frees, minus
    /// the number of bytes that it allocates.
    gain: Vec<i64>,
    is_done: Vec<bool>,
}

/// A leaf and its readers.
#[derive(Default)]
struct LeafReads {
    /// Bytes that become free after the last reader of the leaf.
    bytes: i64,
    readers: Vec<InstrId>,
    /// Readers that would write a result into the leaf's buffer.
    updated_by: Vec<InstrId>,
    /// Whether the leaf is a parameter or a constant. Only an update can reuse the bytes of a
    /// parameter or constant.
    is_external: bool,
    /// Number of readers not yet in the order.
    pending_readers: usize,
}

impl ListScheduler {
    fn new(computation: &Computation, has_effect: &[bool], updates: &Updates) -> ListScheduler {
        let count = computation.instructions.len();
        let mut listing = ListScheduler {
            successors: vec![Vec::new(); count],
            waits_for: vec![0; count],
            reads: vec![Vec::new(); count],
            leaves: Vec::new(),
            gain: vec![0; count],
            is_done: vec![false; count],
        };
        listing.follow_leaves(computation, updates);
        let mut last_effect = None;
        for (id, instruction) in computation.ids().zip(&computation.instructions) {
            let predecessors = instruction.extra.iter().flat_map(|extra| &extra.control_predecessors);
            instruction.operands.iter().chain(predecessors).for_each(|&before| listing.comes_after(id, before));
            if is_ordered(instruction, has_effect) {
                last_effect.replace(id).into_iter().for_each(|before| listing.comes_after(id, before));
            }
        }
        listing.updates_come_last();
        listing
    }

    /// Records the readers of each leaf, and the bytes that computing the leaf allocates.
    fn follow_leaves(&mut self, computation: &Computation, updates: &Updates) {
        let uses = LeafUses::in_program_order(computation);
        let stays: HashSet<&ValueLeaf> = uses.result().iter().collect();
        let mut numbers: HashMap<ValueLeaf, usize> = HashMap::new();
        for (id, instruction) in computation.ids().zip(&computation.instructions) {
            for &leaf in uses.reads(id) {
                let read = &mut self.leaves[numbers[&leaf]];
                if read.readers.last() != Some(&id) {
                    read.readers.push(id);
                    read.pending_readers += 1;
                    self.reads[id.index()].push(numbers[&leaf]);
                    if updates.get(&id).is_some_and(|taken| taken.contains(&leaf)) {
                        read.updated_by.push(id);
                    }
                }
            }
            let is_external = matches!(instruction.op, Op::Parameter { .. } | Op::Constant(_));
            let own = uses.leaves(id).iter().filter(|leaf| leaf.producer == id);
            for (&leaf, bytes) in own.zip(leaf_bytes(&instruction.shape)) {
                let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
                if !is_external {
                    self.gain[id.index()] = self.gain[id.index()].saturating_sub(bytes);
                }
                numbers.insert(leaf, self.leaves.len());
                let bytes = if stays.contains(&leaf) { 0 } else { bytes };
                self.leaves.push(LeafReads { bytes, is_external, ..LeafReads::default() });
            }
        }
    }

    /// Makes `id` wait for `before`. Ignores a dependence on an instruction that comes later in the
    /// program, so that some instruction is always ready.
    fn comes_after(&mut self, id: InstrId, before: InstrId) {
        if before < id {
            self.successors[before.index()].push(id);
            self.waits_for[id.index()] += 1;
        }
    }

    /// If the program's last reader of a leaf may update the leaf in-place, keeps this reader last.
    fn updates_come_last(&mut self) {
        for leaf in 0..self.leaves.len() {
            let readers = std::mem::take(&mut self.leaves[leaf].readers);
            if let Some((&last, earlier)) = readers.split_last()
                && self.leaves[leaf].updated_by.contains(&last)
            {
                earlier.iter().for_each(|&reader| self.comes_after(last, reader));
            }
            self.leaves[leaf].readers = readers;
        }
    }

    fn list(mut self) -> Vec<InstrId> {
        (0..self.leaves.len()).for_each(|leaf| _ = self.credit_last_reader(leaf));
        let all = (0..self.gain.len() as u32).map(InstrId);
        let mut ready: BinaryHeap<(i64, Reverse<InstrId>)> =
            all.filter(|&id| self.waits_for[id.index()] == 0).map(|id| self.key(id)).collect();
        let mut order = Vec::with_capacity(self.gain.len());
        while let Some((gain, Reverse(id))) = ready.pop() {
            // The entry is outdated: the instruction is in the order already, or its gain has
            // changed and the queue has a newer entry.
            if self.is_done[id.index()] || gain != self.gain[id.index()] {
                continue;
            }
            self.is_done[id.index()] = true;
            order.push(id);
            for leaf in std::mem::take(&mut self.reads[id.index()]) {
                self.leaves[leaf].pending_readers -= 1;
                let reader = self.credit_last_reader(leaf).filter(|reader| self.waits_for[reader.index()] == 0);
                ready.extend(reader.map(|reader| self.key(reader)));
            }
            for successor in std::mem::take(&mut self.successors[id.index()]) {
                self.waits_for[successor.index()] -= 1;
                if self.waits_for[successor.index()] == 0 {
                    ready.push(self.key(successor));
                }
            }
        }
        order
    }

    /// Returns the priority of an instruction. Ties follow the program's order.
    fn key(&self, id: InstrId) -> (i64, Reverse<InstrId>) {
        (self.gain[id.index()], Reverse(id))
    }

    /// If only one reader of a leaf remains, credits this reader with the leaf's bytes.
    fn credit_last_reader(&mut self, leaf: usize) -> Option<InstrId> {
        let LeafReads { bytes, readers, updated_by, is_external, pending_readers: 1 } = &self.leaves[leaf] else {
            return None;
        };
        let reader = readers.iter().copied().find(|reader| !self.is_done[reader.index()])?;
        if *is_external && !updated_by.contains(&reader) {
            return None;
        }
        self.gain[reader.index()] = self.gain[reader.index()].saturating_add(*bytes);
        Some(reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_core::hlo::parse_module;

    /// Returns the names of the entry's instructions, except parameters, in execution order.
    fn listed(body: &str) -> Vec<String> {
        let text = format!("HloModule m\nENTRY main {{ p = f32[8] parameter(0)\n{body} }}");
        let module = parse_module(&text, "test.hlo").unwrap();
        let main = module.entry_computation().unwrap();
        let order = freeing_early(&module, &vec![Updates::new(); module.computations.len()])
            [module.entry.unwrap().index()]
        .clone();
        let names = order.into_iter().map(|id| main.instruction(id).name.clone());
        names.filter(|name| name != "p").collect()
    }

    #[test]
    fn a_large_value_is_used_up_before_the_next_is_made() {
        let order = listed(
            "a = f32[800] pad(p, p), padding=0_792
  b = f32[800] pad(p, p), padding=0_792
  s = f32[8] slice(a), slice={[0:8]}
  t = f32[8] slice(b), slice={[0:8]}
  ROOT r = f32[8] add(s, t)",
        );
        assert_eq!(order, ["a", "s", "b", "t", "r"]);
    }

    /// An update of the caller's array needs no memory for its result.
    #[test]
    fn updates_of_what_is_given_come_before_what_needs_memory() {
        let text = "HloModule m\nENTRY main { p = f32[8] parameter(0)
  state = f32[800] parameter(1)
  a = f32[800] pad(p, p), padding=0_792
  w = f32[400] pad(p, p), padding=0_392
  u = f32[800] add(state, a)
  s = f32[8] slice(a), slice={[0:8]}
  ROOT r = (f32[8], f32[400], f32[800]) tuple(s, w, u) }";
        let module = parse_module(text, "test.hlo").unwrap();
        let main = module.entry_computation().unwrap();
        let named = |name: &str| main.ids().find(|&id| main.instruction(id).name == name).unwrap();
        let of_main = Updates::from([(named("u"), vec![ValueLeaf { producer: named("state"), number: 0 }])]);
        let list = |updates: &Updates| -> Vec<String> {
            let order = ListScheduler::new(main, &[false], updates).list();
            order.into_iter().map(|id| main.instruction(id).name.clone()).collect()
        };
        assert_eq!(list(&of_main), ["p", "state", "w", "a", "u", "s", "r"]);
        assert_eq!(list(&Updates::new()), ["p", "state", "w", "a", "s", "u", "r"]);
    }

    #[test]
    fn what_must_come_in_order_does() {
        let drawn = listed(
            "z = f32[] constant(0)
  o = f32[] constant(1)
  a = f32[800] rng(z, o), distribution=rng_uniform
  b = f32[8] rng(z, o), distribution=rng_uniform
  s = f32[8] slice(a), slice={[0:8]}
  ROOT r = f32[8] add(s, b)",
        );
        let place = |name: &str| drawn.iter().position(|it| it == name);
        assert!(place("a") < place("b"), "{drawn:?}");
        let ordered = listed(
            "a = f32[800] pad(p, p), padding=0_792
  b = f32[8] negate(p), control-predecessors={a}
  s = f32[8] slice(a), slice={[0:8]}
  ROOT r = f32[8] add(s, b)",
        );
        assert_eq!(ordered, ["a", "s", "b", "r"]);
        let control_first = listed(
            "b = f32[8] negate(p)
  a = f32[800] pad(p, p), padding=0_792
  c = f32[8] exponential(b), control-predecessors={a}
  s = f32[8] slice(a), slice={[0:8]}
  ROOT r = f32[8] add(s, c)",
        );
        let place = |name: &str| control_first.iter().position(|it| it == name);
        assert!(place("a") < place("c"), "{control_first:?}");
    }
}
