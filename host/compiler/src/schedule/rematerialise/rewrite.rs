//! Copies a computation so that the copy computes some values twice.

use std::collections::{HashMap, HashSet};

use fusebox_core::hlo::{Computation, InstrId, Instruction};

use super::candidates::Rematerialisation;
use crate::schedule::uses::LeafUses;

/// Text between the name of an instruction and the number of its second copy.
const AGAIN: &str = ".again.";

/// A computation under construction. The computation contains copies of an old computation's
/// instructions, in any valid order.
pub struct RematerialisedCopy<'a> {
    pub old: &'a Computation,
    pub new: Vec<Instruction>,
    /// For each old instruction, its copy.
    pub map: Vec<InstrId>,
    /// For each rematerialised instruction, its second copy.
    pub recomputed: HashMap<InstrId, InstrId>,
    /// The second copies of old instructions. Instructions that are copied later read the second
    /// copy of an operand, not its first copy.
    reread: HashMap<InstrId, InstrId>,
    uses: LeafUses,
    names: HashSet<&'a str>,
}

impl<'a> RematerialisedCopy<'a> {
    /// Begins an empty copy.
    pub fn new(old: &'a Computation) -> RematerialisedCopy<'a> {
        RematerialisedCopy {
            old,
            new: Vec::with_capacity(old.instructions.len()),
            map: vec![InstrId(0); old.instructions.len()],
            recomputed: HashMap::new(),
            reread: HashMap::new(),
            uses: LeafUses::in_program_order(old),
            names: old.instructions.iter().map(|it| &*it.name).collect(),
        }
    }

    /// Copies the next instruction.
    pub fn copy(&mut self, id: InstrId) {
        self.pass_on_operands(id);
        let copy = self.mapped(id);
        self.new.push(copy);
        self.map[id.index()] = InstrId(self.new.len() as u32 - 1);
    }

    /// Adds instructions that compute values again, and that execute after the peak. Instructions
    /// that are copied later read the new values.
    pub fn repeat(&mut self, again: &Rematerialisation) {
        for &member in &again.members {
            self.pass_on_operands(member);
            let second = self.second(member);
            let peak = self.map[again.peak.index()];
            let extra = self.new[second.index()].extra.get_or_insert_default();
            if !extra.control_predecessors.contains(&peak) {
                extra.control_predecessors.push(peak);
            }
            self.recomputed.insert(member, second);
        }
    }

    /// Adds second copies of those operands of an instruction that only pass on leaves of
    /// rematerialised values. A tuple of rematerialised values is an example of such an operand.
    fn pass_on_operands(&mut self, id: InstrId) {
        if !self.recomputed.is_empty() {
            let old = self.old;
            old.instruction(id).operands.iter().for_each(|&operand| self.pass_on(operand));
        }
    }

    fn pass_on(&mut self, operand: InstrId) {
        let is_recomputed = self.uses.leaves(operand).iter().any(|leaf| self.recomputed.contains_key(&leaf.producer));
        if is_recomputed && !self.reread.contains_key(&operand) {
            self.pass_on_operands(operand);
            self.second(operand);
        }
    }

    /// Adds a second copy of an instruction. Instructions that are copied later read this copy.
    fn second(&mut self, id: InstrId) -> InstrId {
        let mut copy = self.mapped(id);
        let first = copy.name.split(AGAIN).next().unwrap_or_default();
        let mut number = self.new.len();
        while self.names.contains(format!("{first}{AGAIN}{number}").as_str()) {
            number += 1;
        }
        copy.name = format!("{first}{AGAIN}{number}");
        self.new.push(copy);
        let second = InstrId(self.new.len() as u32 - 1);
        self.reread.insert(id, second);
        second
    }

    fn mapped(&self, id: InstrId) -> Instruction {
        let mut copy = self.old.instruction(id).clone();
        let place = |old: &InstrId| self.reread.get(old).copied().unwrap_or(self.map[old.index()]);
        copy.operands = copy.operands.iter().map(place).collect();
        if let Some(extra) = &mut copy.extra {
            extra.control_predecessors.retain(|&old| old < id);
            extra.control_predecessors.iter_mut().for_each(|old| *old = self.map[old.index()]);
        }
        copy
    }
}
