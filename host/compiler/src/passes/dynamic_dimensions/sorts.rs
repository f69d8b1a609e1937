//! Sorts. A sort moves elements beyond the dynamic size to the end, regardless of the comparator.

use fusebox_core::hlo::{BinaryOp, ComputationId, ElementType, InstrId, Instruction, Op};
use fusebox_edit::Builder;

use super::masks::within;
use super::{BoundedComputation, RewriteResult};

impl<'b> BoundedComputation<'b> {
    /// Adds an operand to the sort. The added operand states, for each element, whether the element
    /// is within the size.
    pub fn sort(
        &mut self,
        it: &'b Instruction,
        dimension: i64,
        is_stable: bool,
        to_apply: ComputationId,
    ) -> RewriteResult {
        let d = dimension as usize;
        let Some(size) = self.common_size(it, it.operands.len(), d) else { return Ok(self.copy(it)) };
        let dims = self.dims(it, 0);
        let within = within(&mut self.edit, &dims, &[(d, size)]);
        let name = format!("{}.within", self.edit.module().computation(to_apply).name);
        let to_apply = self.edit.computation(&name, |edit| within_first(edit, to_apply));
        let mut operands = self.edit.operands(it);
        operands.push(within);
        let sorted = self.edit.add(Op::Sort { dimension, is_stable, to_apply }, operands);
        Ok(self.without_last(it, sorted))
    }
}

/// Wraps a comparator. The wrapper takes two more parameters, one for each of the two compared
/// elements. Each of these parameters tells whether its element is within the size. If only one
/// element is within the size, that element comes first.
fn within_first(edit: &mut Builder, comparator: ComputationId) -> InstrId {
    let old = edit.module().computation(comparator);
    let parameters = old.parameters().into_iter();
    let compared: Vec<InstrId> = parameters.map(|id| edit.parameter(old.instruction(id).shape.clone())).collect();
    let [one, other] = [(); 2].map(|()| edit.array_parameter(ElementType::Pred, &[]));
    let before = edit.splice(old, &compared);
    let differ = edit.binary(BinaryOp::Xor, one, other);
    edit.select(differ, one, before)
}
