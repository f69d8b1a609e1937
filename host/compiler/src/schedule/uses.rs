//! Until when values are needed: what decides whether a buffer may be written over.

use fusebox_core::hlo::{Computation, InstrId, Instruction, Op};

use super::leaf_count;

/// A leaf of a value where it is made; tuples, reshapes and the like only pass leaves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// Who makes it.
    pub made_by: InstrId,
    /// Number among the array leaves of its maker.
    pub number: usize,
}

/// The leaves of a computation.
#[derive(Debug)]
pub struct Uses {
    /// Per instruction, where its leaves are made.
    leaves: Vec<Vec<Leaf>>,
    /// Per instruction and leaf made there, the last instruction that reads it.
    last: Vec<Vec<Option<InstrId>>>,
    root: InstrId,
}

impl Uses {
    /// Follows every leaf of a computation whose instructions are executed in their order.
    pub fn of(computation: &Computation) -> Uses {
        let mut uses = Uses { leaves: Vec::new(), last: Vec::new(), root: computation.root };
        for (id, instruction) in computation.ids().zip(&computation.instructions) {
            let passed_on = uses.passed_on(computation, instruction);
            if passed_on.is_none() {
                let read: Vec<Leaf> =
                    instruction.operands.iter().flat_map(|o| uses.leaves[o.index()].clone()).collect();
                read.iter().for_each(|leaf| uses.last[leaf.made_by.index()][leaf.number] = Some(id));
            }
            let made = if passed_on.is_none() { leaf_count(&instruction.shape) } else { 0 };
            let own = || (0..made).map(|number| Leaf { made_by: id, number }).collect();
            uses.leaves.push(passed_on.unwrap_or_else(own));
            uses.last.push(vec![None; made]);
        }
        uses
    }

    /// The leaves that an instruction gives without making them.
    fn passed_on(&self, computation: &Computation, instruction: &Instruction) -> Option<Vec<Leaf>> {
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

    /// Where the leaves of an instruction's value are made.
    pub fn leaves(&self, id: InstrId) -> &[Leaf] {
        &self.leaves[id.index()]
    }

    /// Where the leaves of the result are made.
    pub fn result(&self) -> &[Leaf] {
        self.leaves(self.root)
    }

    /// Whether a leaf is read after `id`, by the computation's caller if by nobody else.
    pub fn is_needed_after(&self, leaf: Leaf, id: InstrId) -> bool {
        self.last[leaf.made_by.index()][leaf.number] > Some(id) || self.result().contains(&leaf)
    }

    /// The same, a read by `id` itself included.
    pub fn is_needed_from(&self, leaf: Leaf, id: InstrId) -> bool {
        self.last[leaf.made_by.index()][leaf.number] >= Some(id) || self.result().contains(&leaf)
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
        let uses = Uses::of(main);
        let (x, y) = (uses.leaves(id("x"))[0], uses.leaves(id("y"))[0]);
        assert_eq!(uses.leaves(id("r")), [x]);
        assert_eq!(uses.result(), [y, Leaf { made_by: id("n"), number: 0 }]);
        assert!(uses.is_needed_from(x, id("n")) && !uses.is_needed_after(x, id("n")));
        assert!(uses.is_needed_after(x, id("r")) && uses.is_needed_after(y, id("o")));
    }
}
