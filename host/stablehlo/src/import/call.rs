//! Passes an operation and the state of the conversion to the code that converts the operation.

use fusebox_core::hlo::{InstrId, Op};
use fusebox_edit::Builder;

use super::Imported;
use super::body::Body;
use super::importer::{Importer, body, one_or_tuple};
use super::location::unsupported;
use crate::program::Operation;

/// An operation that is being converted.
pub(super) struct Call<'c, 'p, 'e, 'm> {
    pub importer: &'c mut Importer<'p>,
    pub edit: &'e mut Builder<'m>,
    pub body: &'c mut Body,
    pub operation: &'p Operation,
    pub operands: Vec<InstrId>,
}

impl Call<'_, '_, '_, '_> {
    /// Adds an instruction with the operation's operands and results.
    pub(super) fn push(&mut self, op: Op) -> Imported<InstrId> {
        let operands = std::mem::take(&mut self.operands);
        match self.importer.shape(self.operation) {
            Ok(shape) => Ok(self.edit.add_shaped(op, shape, operands)),
            Err(error) if !self.importer.is_refining => Err(error),
            // The operands determine the sizes that the program does not state.
            Err(error) => match (&op, self.importer.element_type(self.operation)) {
                (
                    Op::Convert | Op::BitcastConvert | Op::Dot(_) | Op::RaggedDot { .. } | Op::Convolution(_),
                    Some(of),
                ) => Ok(self.edit.add_typed(op, of, operands)),
                (Op::Reshape | Op::Iota { .. } | Op::CustomCall(_) | Op::Rng { .. }, _) => Err(error),
                _ => Ok(self.edit.add(op, operands)),
            },
        }
    }

    /// Returns the elements of an operand, as integers. Fails if the elements are not known when
    /// the program is compiled.
    pub(super) fn known(&self, operand: usize) -> Imported<Vec<i64>> {
        let value = self.operation.operands.get(operand);
        let known = value.and_then(|&value| self.importer.known(self.body, value));
        match known {
            Some(known) => Ok(known.numbers),
            None => self
                .unsupported(format!("operand {operand} determines a size, but is known only when the program runs")),
        }
    }

    /// Calls a function with the operation's operands.
    pub(super) fn call(&mut self, callee: &str) -> Imported<InstrId> {
        if self.importer.is_refining {
            let results = self.inline(callee)?;
            return Ok(one_or_tuple(self.edit, results));
        }
        let to_apply = self.importer.function(callee, self.operation)?;
        self.push(Op::Call { to_apply })
    }

    /// Adds the operations of a function whose sizes depend on the operands.
    fn inline(&mut self, callee: &str) -> Imported<Vec<InstrId>> {
        let Some(&function) = self.importer.functions.get(callee) else {
            return self.unsupported(format!("the program has no function {callee}"));
        };
        let block = body(function)?;
        self.importer.inlining(block, self.operation)?;
        let mut scope = Body::default();
        for ((&argument, &operand), &value) in block.arguments.iter().zip(&self.operands).zip(&self.operation.operands)
        {
            scope.set(argument, operand);
            if let Some(known) = self.importer.known(self.body, value) {
                scope.set_known(argument, known);
            }
        }
        let results = self.importer.block(self.edit, &mut scope, block)?;
        let last = block.operations.last().map_or(&[][..], |last| &last.operands);
        for (&result, &inner) in self.operation.results.iter().zip(last) {
            if let Some(known) = self.importer.known(&scope, inner) {
                self.body.set_known(result, known);
            }
        }
        Ok(results)
    }

    /// Returns the sizes of the result's dimensions.
    pub(super) fn result_dims(&self) -> Imported<Vec<i64>> {
        let shape = self.importer.shape(self.operation)?;
        let array = shape.as_array().ok_or_else(|| unsupported(self.operation, "the result must be an array"))?;
        Ok(array.dims.clone())
    }

    /// Returns the number of dimensions of an operand.
    pub(super) fn rank(&self, operand: usize) -> usize {
        self.operands.get(operand).map_or(0, |&id| self.edit.dims(id).len())
    }

    /// Returns an error that names the operation and its location.
    pub(super) fn unsupported<T>(&self, message: impl Into<String>) -> Imported<T> {
        Err(unsupported(self.operation, message))
    }

    /// Returns the operands as an array. Fails if the operation does not have `N` operands.
    pub(super) fn exactly<const N: usize>(&self) -> Imported<[InstrId; N]> {
        let count = self.operands.len();
        <[InstrId; N]>::try_from(&self.operands[..])
            .or_else(|_| self.unsupported(format!("{N} operands are needed, not {count}")))
    }
}
