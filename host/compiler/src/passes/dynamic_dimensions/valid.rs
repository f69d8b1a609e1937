//! Reductions by combiners whose identity is unknown. Each element gets a flag that tells whether
//! the element is valid, which means within the sizes.

use fusebox_core::hlo::{BinaryOp, Computation, ComputationId, ElementType, InstrId, Instruction, Op, Shape};

use super::BoundedComputation;
use super::borders::with_more;
use super::size_writer::RewriteResult;
use crate::passes::added_computations::ComputationDraft;

impl<'b> BoundedComputation<'b> {
    /// Rewrites the reduction of arrays, or of their windows, with these sizes in some dimensions.
    /// The initial values count as valid.
    pub fn reduce_valid(
        &mut self,
        it: &'b Instruction,
        combiner: ComputationId,
        sizes: &[(usize, InstrId)],
    ) -> RewriteResult {
        let dims = self.dims(it, 0);
        let name = format!("{}.valid.{}", self.module.computation(combiner).name, self.added.next().index());
        let of_valid = of_valid(self.module.computation(combiner), combiner, name);
        let to_apply = self.added.add(combiner, of_valid);
        let mut operands = self.rebuild.operands(it);
        let arrays = operands.len() / 2;
        let within = self.writer(it).within(&dims, sizes);
        let counts = self.writer(it).scalar(ElementType::Pred, vec![1]);
        operands.insert(arrays, within);
        operands.push(counts);
        let static_shape = it.shape.with_bounds_as_sizes();
        let kept = static_shape.leaves().first().and_then(|leaf| leaf.as_array());
        let kept = kept.map_or_else(Vec::new, |array| array.dims.clone());
        let shape = with_more(&static_shape, [Shape::array(ElementType::Pred, kept)]);
        let op = match &it.op {
            Op::ReduceWindow { window, .. } => Op::ReduceWindow { window: window.clone(), to_apply },
            Op::Reduce { dimensions, .. } => Op::Reduce { dimensions: dimensions.clone(), to_apply },
            op => return Err(format!("{} is no reduction", op.opcode())),
        };
        let reduced = self.rebuild.add(it, op, shape, operands);
        Ok(self.without_last(it, static_shape, reduced, arrays))
    }

    /// Returns the first `count` elements of a tuple: as a tuple if `shape` is a tuple, else as a
    /// single array.
    pub fn without_last(&mut self, it: &'b Instruction, shape: Shape, tuple: InstrId, count: usize) -> InstrId {
        let elements: Vec<InstrId> = (0..count).map(|index| self.tuple_element(it, tuple, index)).collect();
        match shape {
            Shape::Tuple(_) => self.writer(it).add(Op::Tuple, shape, elements),
            _ => elements[0],
        }
    }
}

/// Wraps a combiner. The wrapper also takes a validity flag for each of the two sides. It combines
/// the sides if both are valid, and returns the valid side otherwise.
fn of_valid(old: &Computation, id: ComputationId, name: String) -> Computation {
    let pred = || Shape::array(ElementType::Pred, []);
    let mut made = ComputationDraft::default();
    let shapes: Vec<Shape> = old.parameters().iter().map(|&id| old.instruction(id).shape.clone()).collect();
    let (before, after) = shapes.split_at(shapes.len() / 2);
    let mut half = |shapes: &[Shape]| -> (Vec<InstrId>, InstrId) {
        let values = shapes.iter().map(|shape| made.parameter(shape.clone())).collect();
        (values, made.parameter(pred()))
    };
    let ((one, one_counts), (other, other_counts)) = (half(before), half(after));
    let combined = made.add(
        "combined",
        old.root_instruction().shape.clone(),
        Op::Call { to_apply: id },
        one.iter().chain(&other).copied().collect(),
    );
    let both = made.add("both", pred(), Op::Binary(BinaryOp::And), vec![one_counts, other_counts]);
    let any = made.add("any", pred(), Op::Binary(BinaryOp::Or), vec![one_counts, other_counts]);
    let mut results = Vec::new();
    for (index, shape) in before.iter().enumerate() {
        let of_both = match old.root_instruction().shape {
            Shape::Tuple(_) => {
                made.add("element", shape.clone(), Op::GetTupleElement { index: index as i64 }, vec![combined])
            }
            _ => combined,
        };
        let single = made.add("single", shape.clone(), Op::Select, vec![one_counts, one[index], other[index]]);
        results.push(made.add("value", shape.clone(), Op::Select, vec![both, of_both, single]));
    }
    results.push(any);
    let shapes = before.iter().cloned().chain([pred()]).collect();
    made.add("result", Shape::Tuple(shapes), Op::Tuple, results);
    made.finish(name, old)
}
