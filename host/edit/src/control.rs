//! Tuples, and operations that call computations.

use fusebox_core::hlo::{Computation, ComputationId, ElementType, InstrId, Module, Op, Shape};

use crate::{Builder, EditError, Rewrite, Rewritten};

impl Builder<'_> {
    /// Adds a tuple.
    pub fn tuple(&mut self, elements: impl Into<Vec<InstrId>>) -> InstrId {
        self.add(Op::Tuple, elements)
    }

    /// Reads an element of a tuple. If a `tuple` instruction computes the tuple, returns the
    /// operand of this instruction.
    pub fn element(&mut self, tuple: InstrId, index: usize) -> InstrId {
        let instruction = self.instruction(tuple);
        match (&instruction.op, instruction.operands.get(index)) {
            (Op::Tuple, Some(&element)) => element,
            _ => self.add(Op::GetTupleElement { index: index as i64 }, [tuple]),
        }
    }

    /// Reads all elements of a tuple. If the value is not a tuple, returns only the value.
    pub fn elements(&mut self, tuple: InstrId) -> Vec<InstrId> {
        match self.shape(tuple).as_tuple().map(<[_]>::len) {
            Some(count) => (0..count).map(|index| self.element(tuple, index)).collect(),
            None => vec![tuple],
        }
    }

    /// Reduces dimensions of arrays. There is one initial value per array.
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

    /// Applies a computation on scalars to the elements of arrays.
    pub fn map(&mut self, to_apply: ComputationId, arrays: &[InstrId]) -> InstrId {
        let rank = arrays.first().map_or(0, |&id| self.dims(id).len()) as i64;
        self.add(Op::Map { dimensions: (0..rank).collect(), to_apply }, arrays)
    }

    /// Adds a loop.
    pub fn while_loop(&mut self, condition: ComputationId, body: ComputationId, state: InstrId) -> InstrId {
        self.add(Op::While { condition, body }, [state])
    }

    /// Adds a loop whose state has another shape than the state of the old loop. `changed` returns
    /// a copy of the condition or of the body. The parameter of the copy has the new shape of the
    /// state, see [`Rewrite::with_state`]. The copies replace the condition and the body, so no
    /// other instruction may call these two computations.
    ///
    /// # Errors
    /// The error of `changed`.
    pub fn loop_with_state(
        &mut self,
        [condition, body]: [ComputationId; 2],
        state: InstrId,
        changed: impl Fn(ComputationId, Shape) -> Result<Rewritten, EditError>,
    ) -> Result<InstrId, EditError> {
        for id in [condition, body] {
            let new = changed(id, self.shape(state).clone())?;
            self.replace_computation(id, new);
        }
        Ok(self.while_loop(condition, body, state))
    }

    /// Adds a call.
    pub fn call(&mut self, to_apply: ComputationId, arguments: impl Into<Vec<InstrId>>) -> InstrId {
        self.add(Op::Call { to_apply }, arguments)
    }
}

/// Returns the shape of a tuple with the elements of `shape`, followed by `count` scalars. A shape
/// that is not a tuple counts as one element.
pub fn with_scalars(shape: &Shape, element_type: ElementType, count: usize) -> Shape {
    let elements = shape.as_tuple().unwrap_or(std::slice::from_ref(shape)).iter().cloned();
    Shape::Tuple(elements.chain(std::iter::repeat_n(Shape::array(element_type, []), count)).collect())
}

impl<'m> Rewrite<'m> {
    /// Begins a copy of a loop's condition or body. The copy contains only its parameter: the
    /// loop's state, with shape `state`.
    pub fn with_state(module: &'m Module, old: &'m Computation, state: Shape) -> Self {
        let mut edit = Rewrite::new(module, old);
        for id in old.parameters() {
            edit.set_origin(old.instruction(id));
            edit.replace_shaped(id, Op::Parameter { number: 0 }, state.clone());
        }
        edit
    }
}
