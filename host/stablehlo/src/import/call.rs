//! An operation that is being converted, as the code of each operation sees it.

use fusebox_core::hlo::{InstrId, Op};
use fusebox_edit::Builder;

use super::Imported;
use super::body::Body;
use super::importer::Importer;
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
        let shape = self.importer.shape(self.operation)?;
        let operands = std::mem::take(&mut self.operands);
        Ok(self.edit.add_shaped(op, shape, operands))
    }

    /// Calls a function with the operation's operands.
    pub(super) fn call(&mut self, callee: &str) -> Imported<InstrId> {
        let to_apply = self.importer.function(callee, self.operation)?;
        self.push(Op::Call { to_apply })
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

    /// Returns an error at the operation.
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
