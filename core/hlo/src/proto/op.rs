//! Converts operations to and from the fields of messages.

use super::literals::read_literal;
use super::text_attributes::other_attributes;
use crate::attribute::{Attribute, InField, Kept, Reader, Writer};
use crate::message::Instruction;
use crate::{ComputationId, Literal, Op, Opcode};

/// Reads the operation of a message. `called` contains the computations that the operation calls,
/// in the message's order.
pub(super) fn read_op(message: &mut Instruction, called: &[ComputationId]) -> Result<Op, String> {
    let opcode: Opcode = message.opcode.parse().map_err(|()| format!("unknown opcode `{}`", message.opcode))?;
    let called = in_message_order(opcode, called.to_vec());
    Op::read(opcode, &mut FromMessage { message, called: &called, opcode })
}

/// Writes the fields of an operation, except for literals and called computations.
pub(super) fn write_op(message: &mut Instruction, op: &Op) {
    op.write(&mut IntoMessage(message));
}

/// Converts an operation's list of computations from the order of [`Op`] to the order of the
/// message, or back. In a message, a loop's body comes before its condition.
pub(super) fn in_message_order(opcode: Opcode, mut called: Vec<ComputationId>) -> Vec<ComputationId> {
    if opcode == Opcode::While && called.len() > 1 {
        called.swap(0, 1);
    }
    called
}

struct FromMessage<'m> {
    message: &'m mut Instruction,
    /// The called computations that the reader has not returned yet.
    called: &'m [ComputationId],
    opcode: Opcode,
}

impl Reader for FromMessage<'_> {
    type Error = String;

    fn attribute<T: InField<F>, F>(&mut self, attribute: Attribute<T, F>) -> Result<T, String> {
        let value = T::get((attribute.field)(self.message));
        value.map_err(|fault| format!("`{}` of {} {fault}", attribute.name, self.opcode))
    }

    fn computation(&mut self, name: &'static str) -> Result<ComputationId, String> {
        let missing = || format!("{} calls no computation that could be its `{name}`", self.opcode);
        let (first, rest) = self.called.split_first().ok_or_else(missing)?;
        self.called = rest;
        Ok(*first)
    }

    fn computations(&mut self, _name: &'static str, _is_needed: bool) -> Result<Vec<ComputationId>, String> {
        Ok(std::mem::take(&mut self.called).to_vec())
    }

    fn literal(&mut self) -> Result<Literal, String> {
        read_literal(self.message.literal.take().ok_or("a constant has no literal")?)
    }

    fn kept(&mut self) -> Result<Kept, String> {
        let name = match self.opcode {
            Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone => "calls",
            _ if self.called.len() > 1 => "called_computations",
            _ => "to_apply",
        };
        let called = self.computations(name, false)?;
        let called = if called.is_empty() { Vec::new() } else { vec![(name.to_owned(), called)] };
        Ok(Kept { called, attributes: other_attributes(self.message) })
    }
}

struct IntoMessage<'m>(&'m mut Instruction);

impl Writer for IntoMessage<'_> {
    fn attribute<T: InField<F>, F>(&mut self, attribute: Attribute<T, F>, value: &T) {
        value.set((attribute.field)(self.0));
    }

    fn computation(&mut self, _name: &str, _id: ComputationId) {}

    fn computations(&mut self, _name: &str, _ids: &[ComputationId]) {}
}
