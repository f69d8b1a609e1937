//! Scans. Slices beyond the dynamic size of the scanned dimension leave the carries unchanged.

use fusebox_core::hlo::{ComputationId, ElementType, InstrId, Instruction, Op};
use fusebox_edit::Builder;

use super::masks::within;
use super::{BoundedComputation, RewriteResult};

impl<'b> BoundedComputation<'b> {
    /// Adds an input that tells each step whether its slices are within the size.
    pub fn scan(&mut self, it: &'b Instruction) -> RewriteResult {
        let Op::Scan { dimension, num_carries, is_reverse, to_apply, .. } = it.op else {
            return Err(format!("{} is no scan", it.opcode()));
        };
        let inputs = it.operands.len().saturating_sub(num_carries as usize);
        let d = dimension as usize;
        if (0..it.operands.len())
            .any(|operand| self.dynamic(it, operand).iter().any(|&(of, _)| operand >= inputs || of != d))
        {
            return Err(format!(
                "a scan along dimension {d} cannot take slices or carries of dynamic size; pass static arrays, with \
                 elements beyond the sizes that do not change the result"
            ));
        }
        let Some(size) = self.common_size(it, inputs, d) else { return Ok(self.copy(it)) };
        let name = format!("{}.within", self.edit.module().computation(to_apply).name);
        let to_apply = self.edit.computation(&name, |edit| where_within(edit, to_apply, inputs, d));
        let mut operands = self.edit.operands(it);
        let bound = self.dims(it, 0)[d];
        let within = within(&mut self.edit, &[bound], &[(0, size)]);
        // As an input of the scan, the mask must have the scanned dimension at the same position as
        // the other inputs.
        let mut dims = vec![1; d + 1];
        dims[d] = bound;
        operands.insert(inputs, self.edit.reshape(within, &dims));
        let op = Op::Scan { dimension, num_carries, is_reverse, is_associative: false, to_apply };
        Ok(self.edit.add_shaped(op, it.shape.with_bounds_as_sizes(), operands))
    }
}

/// Wraps the computation that a scan applies. The wrapper takes a flag after the slices. If the
/// flag is false, the slices are beyond the size, and the wrapper returns the carries unchanged.
fn where_within(edit: &mut Builder, to_apply: ComputationId, inputs: usize, dimension: usize) -> InstrId {
    let old = edit.module().computation(to_apply);
    let parameters = old.parameters();
    let (slices, carries) = parameters.split_at(inputs);
    let parameter = |edit: &mut Builder, &id: &InstrId| edit.parameter(old.instruction(id).shape.clone());
    let mut given: Vec<InstrId> = slices.iter().map(|id| parameter(edit, id)).collect();
    // The flag's dimensions before the scanned one have one element each.
    let slice = edit.array_parameter(ElementType::Pred, &vec![1; dimension]);
    let before: Vec<InstrId> = carries.iter().map(|id| parameter(edit, id)).collect();
    given.extend(&before);
    let within = edit.reshape(slice, &[]);
    let after = edit.splice(old, &given);
    let mut results = edit.elements(after);
    let outputs = results.len().saturating_sub(before.len());
    for (result, &kept) in results[outputs..].iter_mut().zip(&before) {
        let everywhere = edit.spread(within, &edit.dims(*result));
        *result = edit.select(everywhere, *result, kept);
    }
    edit.tuple(results)
}
