//! Computes how long values are needed. The lifetimes of the values in a buffer decide whether the
//! buffer may be overwritten.

use fusebox_core::hlo::{Computation, InstrId, Instruction, Op};

use super::leaf_count;

/// An array leaf of a value, identified by the instruction that computes the leaf. Tuples, tuple
/// elements and reshapes only pass on leaves of their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueLeaf {
    /// The instruction that computes the leaf.
    pub producer: InstrId,
    /// Number of the leaf among the array leaves of the producer's value.
    pub number: usize,
}

/// The leaves of a computation.
#[derive(Debug)]
pub struct LeafUses {
    /// For each instruction, the leaves of its value.
    leaves: Vec<Vec<ValueLeaf>>,
    /// For each instruction, the leaves that it reads. Instructions that only pass leaves on read
    /// no leaves.
    reads: Vec<Vec<ValueLeaf>>,
    /// For each instruction, its position in the execution order.
    times: Vec<usize>,
    /// For each instruction and each leaf that it computes, the position of the last reader in the
    /// execution order.
    last: Vec<Vec<Option<usize>>>,
    root: InstrId,
}

impl LeafUses {
    /// Follows every leaf of a computation that executes in program order.
    pub fn in_program_order(computation: &Computation) -> LeafUses {
        LeafUses::of(computation, &computation.ids().collect::<Vec<_>>())
    }

    /// Follows every leaf of a computation that executes in this order.
    pub fn of(computation: &Computation, order: &[InstrId]) -> LeafUses {
        let mut times = vec![0; computation.instructions.len()];
        order.iter().enumerate().for_each(|(time, id)| times[id.index()] = time);
        let (leaves, reads, last) = (Vec::new(), Vec::new(), Vec::new());
        let mut uses = LeafUses { leaves, reads, times, last, root: computation.root };
        for (id, instruction) in computation.ids().zip(&computation.instructions) {
            let passed_on = uses.passed_on(computation, instruction);
            let mut read: Vec<ValueLeaf> = Vec::new();
            if passed_on.is_none() {
                read.extend(instruction.operands.iter().flat_map(|o| &uses.leaves[o.index()]));
            }
            for leaf in &read {
                let last: &mut Option<usize> = &mut uses.last[leaf.producer.index()][leaf.number];
                *last = (*last).max(Some(uses.times[id.index()]));
            }
            uses.reads.push(read);
            let made = if passed_on.is_none() { leaf_count(&instruction.shape) } else { 0 };
            let own = || (0..made).map(|number| ValueLeaf { producer: id, number }).collect();
            uses.leaves.push(passed_on.unwrap_or_else(own));
            uses.last.push(vec![None; made]);
        }
        uses
    }

    /// Returns the leaves that an instruction passes on without computing them.
    fn passed_on(&self, computation: &Computation, instruction: &Instruction) -> Option<Vec<ValueLeaf>> {
        let of = |id: InstrId| &self.leaves[id.index()];
        match instruction.op {
            Op::Tuple | Op::Reshape => Some(instruction.operands.iter().flat_map(|&o| of(o).clone()).collect()),
            Op::GetTupleElement { index } => {
                let operand = instruction.operands[0];
                let elements = computation.instruction(operand).shape.as_tuple().unwrap_or(&[]);
                let first: usize = elements[..index as usize].iter().map(leaf_count).sum();
                Some(of(operand)[first..first + leaf_count(&elements[index as usize])].to_vec())
            }
            _ => None,
        }
    }

    /// Returns the leaves of an instruction's value.
    pub fn leaves(&self, id: InstrId) -> &[ValueLeaf] {
        &self.leaves[id.index()]
    }

    /// Returns the leaves that an instruction reads.
    pub fn reads(&self, id: InstrId) -> &[ValueLeaf] {
        &self.reads[id.index()]
    }

    /// Returns the leaves of the result.
    pub fn result(&self) -> &[ValueLeaf] {
        self.leaves(self.root)
    }

    /// Whether an instruction after `id` reads a leaf. Always true for the leaves of the
    /// computation's result, because the caller reads these leaves.
    pub fn is_needed_after(&self, leaf: ValueLeaf, id: InstrId) -> bool {
        self.last[leaf.producer.index()][leaf.number] > Some(self.times[id.index()]) || self.result().contains(&leaf)
    }

    /// Whether instruction `id` or a later instruction reads a leaf. Always true for the leaves of
    /// the computation's result, because the caller reads these leaves.
    pub fn is_needed_from(&self, leaf: ValueLeaf, id: InstrId) -> bool {
        self.last[leaf.producer.index()][leaf.number] >= Some(self.times[id.index()]) || self.result().contains(&leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_core::hlo::parse_module;

    #[test]
    fn leaves_are_followed_through_tuples_and_reshapes() {
        let module = parse_module(
            "HloModule m
ENTRY main { x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  t = (f32[4], f32[4]) tuple(x, y)
  a = f32[4] get-tuple-element(t), index=0
  b = f32[4] get-tuple-element(t), index=1
  r = f32[2,2] reshape(a)
  n = f32[2,2] negate(r)
  ROOT o = (f32[4], f32[2,2]) tuple(b, n) }",
            "test.hlo",
        )
        .unwrap();
        let main = module.entry_computation().unwrap();
        let id = |name| main.find(name).unwrap();
        let uses = LeafUses::in_program_order(main);
        let (x, y) = (uses.leaves(id("x"))[0], uses.leaves(id("y"))[0]);
        assert_eq!(uses.leaves(id("r")), [x]);
        assert_eq!(uses.result(), [y, ValueLeaf { producer: id("n"), number: 0 }]);
        assert!(uses.is_needed_from(x, id("n")) && !uses.is_needed_after(x, id("n")));
        assert!(uses.is_needed_after(x, id("r")) && uses.is_needed_after(y, id("o")));
    }
}
