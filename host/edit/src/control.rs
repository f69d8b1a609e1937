//! Tuples, and operations that call computations.

use fusebox_core::hlo::{ComputationId, InstrId, Op};

use crate::Builder;

impl Builder<'_> {
    /// Adds a tuple.
    pub fn tuple(&mut self, elements: impl Into<Vec<InstrId>>) -> InstrId {
        self.add(Op::Tuple, elements)
    }

    /// Reads an element of a tuple. If the tuple is an instruction `tuple`, returns its operand.
    pub fn element(&mut self, tuple: InstrId, index: usize) -> InstrId {
        let instruction = self.instruction(tuple);
        match (&instruction.op, instruction.operands.get(index)) {
            (Op::Tuple, Some(&element)) => element,
            _ => self.add(Op::GetTupleElement { index: index as i64 }, [tuple]),
        }
    }

    /// Reads all elements of a tuple. Returns other values themselves.
    pub fn elements(&mut self, tuple: InstrId) -> Vec<InstrId> {
        match self.shape(tuple).as_tuple().map(<[_]>::len) {
            Some(count) => (0..count).map(|index| self.element(tuple, index)).collect(),
            None => vec![tuple],
        }
    }

    /// Reduces dimensions of arrays. The initial values are as many as the arrays.
    pub fn reduce(
        &mut self,
        arrays: &[InstrId],
        initial: &[InstrId],
        dimensions: &[i64],
        to_apply: ComputationId,
    ) -> InstrId {
        let op = Op::Reduce { dimensions: dimensions.to_vec(), to_apply };
        self.add(op, [arrays, initial].concat())
    }

    /// Applies a computation of scalars to the elements of arrays.
    pub fn map(&mut self, to_apply: ComputationId, arrays: &[InstrId]) -> InstrId {
        let rank = arrays.first().map_or(0, |&id| self.dims(id).len()) as i64;
        self.add(Op::Map { dimensions: (0..rank).collect(), to_apply }, arrays)
    }

    /// Adds a loop.
    pub fn while_loop(&mut self, condition: ComputationId, body: ComputationId, state: InstrId) -> InstrId {
        self.add(Op::While { condition, body }, [state])
    }

    /// Adds a call.
    pub fn call(&mut self, to_apply: ComputationId, arguments: impl Into<Vec<InstrId>>) -> InstrId {
        self.add(Op::Call { to_apply }, arguments)
    }
}
