//! Sorts. Elements beyond a size come last, regardless of the comparator.

use fusebox_core::hlo::{BinaryOp, Computation, ComputationId, ElementType, InstrId, Instruction, Op, Shape};

use super::BoundedComputation;
use super::borders::with_more;
use super::size_writer::RewriteResult;
use crate::passes::added_computations::ComputationDraft;

impl<'b> BoundedComputation<'b> {
    /// Adds an operand to the sort that says whether each element is within the size.
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
        let within = self.writer(it).within(&dims, &[(d, size)]);
        let name = format!("{}.within.{}", self.module.computation(to_apply).name, self.added.next().index());
        let comparator = within_first(self.module.computation(to_apply), to_apply, name);
        let to_apply = self.added.add(to_apply, comparator);
        let (static_shape, mut operands) = (it.shape.with_bounds_as_sizes(), self.rebuild.operands(it));
        let count = operands.len();
        let shape = with_more(&static_shape, [Shape::array(ElementType::Pred, dims)]);
        operands.push(within);
        let op = Op::Sort { dimension, is_stable, to_apply };
        let sorted = self.rebuild.add(it, op, shape, operands);
        Ok(self.without_last(it, static_shape, sorted, count))
    }
}

/// Wraps a comparator. The wrapper takes two more parameters: whether each of the two elements is
/// within the size. If only one element is within the size, that element comes first.
fn within_first(old: &Computation, id: ComputationId, name: String) -> Computation {
    let pred = || Shape::array(ElementType::Pred, []);
    let parameters = old.parameters();
    let shapes = parameters.iter().map(|&id| old.instruction(id).shape.clone()).chain([pred(), pred()]);
    let mut made = ComputationDraft::default();
    let elements: Vec<InstrId> = shapes.map(|shape| made.parameter(shape)).collect();
    let (compared, within) = elements.split_at(parameters.len());
    let before = made.add("before", pred(), Op::Call { to_apply: id }, compared.to_vec());
    let differ = made.add("differ", pred(), Op::Binary(BinaryOp::Xor), within.to_vec());
    made.add("first", pred(), Op::Select, vec![differ, within[0], before]);
    made.finish(name, old)
}
