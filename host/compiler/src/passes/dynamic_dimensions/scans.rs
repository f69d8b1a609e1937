//! Scans. Slices beyond the size leave the carries unchanged.

use fusebox_core::hlo::{Computation, ComputationId, ElementType, InstrId, Instruction, Op, Shape};

use super::BoundedComputation;
use super::size_writer::RewriteResult;
use crate::passes::added_computations::ComputationDraft;

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
        let old = self.module.computation(to_apply);
        let name = format!("{}.within.{}", old.name, self.added.next().index());
        let new = where_within(old, to_apply, name, inputs, d);
        let to_apply = self.added.add(to_apply, new);
        let mut operands = self.rebuild.operands(it);
        let bound = self.dims(it, 0)[d];
        let within = self.writer(it).within(&[bound], &[(0, size)]);
        // As an input of the scan, the mask must have the scanned dimension at the same index.
        let mut dims = vec![1; d + 1];
        dims[d] = bound;
        let within = self.writer(it).add(Op::Reshape, Shape::array(ElementType::Pred, dims), vec![within]);
        operands.insert(inputs, within);
        let op = Op::Scan { dimension, num_carries, is_reverse, is_associative: false, to_apply };
        Ok(self.rebuild.add(it, op, it.shape.with_bounds_as_sizes(), operands))
    }
}

/// Wraps the computation that a scan applies. The wrapper takes a flag after the slices. If the
/// flag is false, the slices are beyond the size, and the wrapper returns the carries unchanged.
fn where_within(old: &Computation, id: ComputationId, name: String, inputs: usize, dimension: usize) -> Computation {
    let pred = |dims: &[i64]| Shape::array(ElementType::Pred, dims.to_vec());
    let shapes: Vec<Shape> = old.parameters().iter().map(|&id| old.instruction(id).shape.clone()).collect();
    let (slices, carries) = shapes.split_at(inputs);
    let mut made = ComputationDraft::default();
    let mut given: Vec<InstrId> = slices.iter().map(|shape| made.parameter(shape.clone())).collect();
    // The flag's dimensions before the scanned one have one element each.
    let slice = made.parameter(pred(&vec![1; dimension]));
    let before: Vec<InstrId> = carries.iter().map(|shape| made.parameter(shape.clone())).collect();
    given.extend(&before);
    let within = made.add("within", pred(&[]), Op::Reshape, vec![slice]);
    let shape = old.root_instruction().shape.clone();
    let results = shape.as_tuple().unwrap_or_default().to_vec();
    let after = made.add("after", shape.clone(), Op::Call { to_apply: id }, given);
    let outputs = results.len().saturating_sub(carries.len());
    let mut elements = Vec::new();
    for (index, result) in results.iter().enumerate() {
        let element = made.add("element", result.clone(), Op::GetTupleElement { index: index as i64 }, vec![after]);
        let kept = index.checked_sub(outputs).and_then(|carry| before.get(carry));
        elements.push(match kept {
            Some(&kept) => {
                let dims = result.as_array().map(|array| array.dims.clone()).unwrap_or_default();
                let everywhere =
                    made.add("everywhere", pred(&dims), Op::Broadcast { dimensions: Vec::new() }, vec![within]);
                made.add("carry", result.clone(), Op::Select, vec![everywhere, element, kept])
            }
            None => element,
        });
    }
    made.add("result", shape, Op::Tuple, elements);
    made.finish(name, old)
}
