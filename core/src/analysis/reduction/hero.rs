//! Analyses a reduce instruction as a hero.

use super::problem::{ReductionProblem, canonical};
use crate::hlo::{
    ArrayShape, BinaryOp, Combiner, Computation, ComputationId, ElementType, InstrId, Instruction, Literal, Module, Op,
    Shape,
};
use crate::indexing::IndexingMap;

/// One of the values that a reduce computes. A variadic reduce computes several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The array that is reduced.
    pub operand: InstrId,
    /// The instruction of rank 0 that computes the initial value.
    pub initial: InstrId,
    /// Type of the elements and of the accumulator.
    pub element_type: ElementType,
}

/// The values with which accumulators start. Each thread has an accumulator. If an initial value
/// changes the result, the kernel must therefore not put it into the accumulator of every thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The initial values. The initial values are neutral, or combining them repeatedly does not
    /// change the result (maximum, and, …). Combiners that are not a single operation are assumed
    /// to have neutral initial values, as HLO requires.
    Initial,
    /// The neutral element of the operation. For a sum or an exclusive or, the neutral element is
    /// zero (negative zero for sums of floats); for a product, the neutral element is one. The
    /// kernel combines the initial value once, with the complete result.
    Neutral(BinaryOp),
}

/// A reduce instruction that decides the iteration space of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct ReductionHero {
    /// The instruction.
    pub instruction: InstrId,
    /// The values that the hero computes, in order.
    pub values: Vec<Reduced>,
    /// The combiner's operation, if the combiner only applies this operation to its two parameters.
    /// The operation must be commutative, or read the parameters in their order.
    pub operation: Option<BinaryOp>,
    /// The values with which accumulators start.
    pub start: Start,
    /// The canonical problem.
    pub problem: ReductionProblem,
    /// Maps the problem's coordinates to the index in the operands.
    pub to_operand: IndexingMap,
}

impl ReductionHero {
    /// Number of bytes of all accumulators that one result needs.
    pub fn accumulator_bytes(&self) -> i64 {
        self.values.iter().map(|value| value.element_type.byte_size() as i64).sum()
    }

    /// Dimensions of the operands.
    pub fn operand_dims<'c>(&self, computation: &'c Computation) -> &'c [i64] {
        let first = self.values.first().map(|value| &computation.instruction(value.operand).shape);
        first.and_then(Shape::as_array).map_or(&[], |array| array.dims.as_slice())
    }
}

/// Returns the hero for a reduce instruction.
///
/// # Errors
/// The error says in words why the instruction cannot be a hero.
pub(in crate::analysis) fn hero(
    module: &Module,
    computation: &Computation,
    id: InstrId,
) -> Result<ReductionHero, String> {
    let instruction = computation.instruction(id);
    let Op::Reduce { dimensions, to_apply } = &instruction.op else {
        return Err(format!("{} is no reduce", instruction.name));
    };
    let (operands, initial) = instruction.operands.split_at(instruction.operands.len() / 2);
    let accumulators = parameter_types(module, *to_apply);
    let mut values = Vec::with_capacity(operands.len());
    for (number, (&operand, &initial)) in operands.iter().zip(initial).enumerate() {
        let element_type = accumulators.get(number).copied().flatten();
        let types = [element_type_of(computation, operand), element_type_of(computation, initial)];
        let taken = accumulators.get(operands.len() + number).copied().flatten();
        match element_type {
            Some(found) if types == [element_type; 2] && taken == element_type => {
                values.push(Reduced { operand, initial, element_type: found });
            }
            _ => return Err(format!("{} accumulates in another type than its elements have", instruction.name)),
        }
    }
    let dims = array_of(computation, operands.first()).map(|array| array.dims.as_slice()).unwrap_or_default();
    if dims.contains(&0) {
        return Err(format!("{} has no elements to reduce", instruction.name));
    }
    let (problem, to_operand) = canonical(dims, dimensions);
    let combiner = Combiner::of(module.computation(*to_apply));
    let operation = combiner.and_then(Combiner::in_order);
    let start = start(computation, instruction, combiner.map(|combiner| combiner.op));
    let has_no_zero = values.iter().any(|value| value.element_type == ElementType::F8E8M0FNU);
    if has_no_zero && matches!(start, Start::Neutral(BinaryOp::Add | BinaryOp::Xor)) {
        return Err(format!(
            "{} is a sum in f8e8m0fnu, which has no zero that several threads could start from",
            instruction.name
        ));
    }
    Ok(ReductionHero { instruction: id, values, operation, start, problem, to_operand })
}

fn array_of<'c>(computation: &'c Computation, id: Option<&InstrId>) -> Option<&'c ArrayShape> {
    id.and_then(|&id| computation.instruction(id).shape.as_array())
}

fn element_type_of(computation: &Computation, id: InstrId) -> Option<ElementType> {
    array_of(computation, Some(&id)).map(|array| array.element_type)
}

fn parameter_types(module: &Module, id: ComputationId) -> Vec<Option<ElementType>> {
    let applied = module.computation(id);
    applied.parameters().into_iter().map(|id| element_type_of(applied, id)).collect()
}

fn start(computation: &Computation, reduce: &Instruction, operation: Option<BinaryOp>) -> Start {
    let &[_, initial] = reduce.operands.as_slice() else { return Start::Initial };
    match operation {
        Some(op @ (BinaryOp::Add | BinaryOp::Multiply | BinaryOp::Xor))
            if !is_neutral(op, computation.instruction(initial)) =>
        {
            Start::Neutral(op)
        }
        _ => Start::Initial,
    }
}

/// Whether a constant is known to be the neutral element of the operation. `false` is always a safe
/// answer.
fn is_neutral(op: BinaryOp, initial: &Instruction) -> bool {
    let Op::Constant(Literal::Array(array)) = &initial.op else { return false };
    if array.element_type == ElementType::F8E8M0FNU {
        return false;
    }
    let is_zero = array.data.iter().all(|&byte| byte == 0);
    let one = match array.element_type.float_format() {
        Some(format) => format.encode(1.0),
        None => 1,
    };
    let is_one = !array.element_type.is_complex() && one.to_le_bytes().starts_with(&array.data);
    match op {
        BinaryOp::Multiply => is_one,
        _ => is_zero,
    }
}
