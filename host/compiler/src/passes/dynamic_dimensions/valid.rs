//! Reductions by combiners whose identity is unknown. Each element gets a flag that tells whether
//! the element is valid. An element is valid if it is within the sizes.

use fusebox_core::hlo::{BinaryOp, ComputationId, ElementType, InstrId, Instruction, Op, Shape};
use fusebox_edit::Builder;

use super::masks::within;
use super::{BoundedComputation, RewriteResult};

impl<'b> BoundedComputation<'b> {
    /// Rewrites a `reduce` or `reduce-window`. Each pair in `sizes` holds a dimension of the
    /// reduced arrays, and this dimension's dynamic size. The initial values count as valid.
    pub fn reduce_valid(
        &mut self,
        it: &'b Instruction,
        combiner: ComputationId,
        sizes: &[(usize, InstrId)],
    ) -> RewriteResult {
        let name = format!("{}.valid", self.edit.module().computation(combiner).name);
        let to_apply = self.edit.computation(&name, |edit| of_valid(edit, combiner));
        let mut operands = self.edit.operands(it);
        let (dims, arrays) = (self.dims(it, 0), operands.len() / 2);
        operands.insert(arrays, within(&mut self.edit, &dims, sizes));
        operands.push(self.edit.scalar(ElementType::Pred, 1.0));
        let op = match &it.op {
            Op::ReduceWindow { window, .. } => Op::ReduceWindow { window: window.clone(), to_apply },
            Op::Reduce { dimensions, .. } => Op::Reduce { dimensions: dimensions.clone(), to_apply },
            op => return Err(format!("{} is no reduction", op.opcode())),
        };
        let reduced = self.edit.add(op, operands);
        Ok(self.without_last(it, reduced))
    }

    /// Removes the last element of a tuple. The remaining elements of the tuple are the results of
    /// the instruction `it`. Returns a tuple if the instruction yields a tuple, else a single
    /// array.
    pub fn without_last(&mut self, it: &'b Instruction, tuple: InstrId) -> InstrId {
        match &it.shape {
            Shape::Tuple(results) => {
                let kept: Vec<InstrId> = (0..results.len()).map(|index| self.edit.element(tuple, index)).collect();
                self.edit.tuple(kept)
            }
            _ => self.edit.element(tuple, 0),
        }
    }
}

/// Wraps a combiner. The wrapper also takes a validity flag for each of the two values to combine.
/// The wrapper combines the two values if both are valid, and returns the valid value otherwise.
fn of_valid(edit: &mut Builder, combiner: ComputationId) -> InstrId {
    let old = edit.module().computation(combiner);
    let parameters = old.parameters();
    let (before, after) = parameters.split_at(parameters.len() / 2);
    let mut half = |parameters: &[InstrId]| -> (Vec<InstrId>, InstrId) {
        let values = parameters.iter().map(|&id| edit.parameter(old.instruction(id).shape.clone())).collect();
        (values, edit.array_parameter(ElementType::Pred, &[]))
    };
    let ((one, one_counts), (other, other_counts)) = (half(before), half(after));
    let combined = edit.splice(old, &[&one[..], &other].concat());
    let both = edit.binary(BinaryOp::And, one_counts, other_counts);
    let any = edit.binary(BinaryOp::Or, one_counts, other_counts);
    let mut results = edit.elements(combined);
    for (result, (&one, &other)) in results.iter_mut().zip(one.iter().zip(&other)) {
        let single = edit.select(one_counts, one, other);
        *result = edit.select(both, *result, single);
    }
    results.push(any);
    edit.tuple(results)
}
