//! Computes sums and products of narrow floats in `f32`, so that they are rounded once, not after
//! each operation.
//!
//! ```text
//! r = bf16[n] reduce(x, init), add    =>    w = f32[n] reduce(convert x, convert init), add in f32
//!                                           r = bf16[n] convert(w)
//! ```
//!
//! The conversions are fused into the reduction's kernel. If the reduction is split, its partial
//! results are `f32`, too. Reductions of windows are rewritten in the same way. Maxima and minima
//! are not rewritten: they do not round.

use fusebox_core::hlo::{BinaryOp, Computation, ComputationId, ElementType, InstrId, Instruction, Module, Op, Shape};

use super::added_computations::{combiner, put_in_front};
use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Type in which sums of narrow floats are computed.
const WIDE: ElementType = ElementType::F32;

/// Rewrites the reductions in all computations that thunks or kernels execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let computed: Vec<usize> = [Role::Sequence, Role::Fused]
        .into_iter()
        .flat_map(|role| in_role(module, role))
        .map(ComputationId::index)
        .collect();
    let narrow = |&index: &usize| {
        let computation = &module.computations[index];
        computation.instructions.iter().any(|it| operation(module, computation, it).is_some())
    };
    let touched: Vec<usize> = computed.into_iter().filter(narrow).collect();
    if touched.is_empty() {
        return Ok(());
    }
    let combiners = Combiners::add_to(module);
    for index in touched.into_iter().map(|index| index + COMBINERS) {
        let old = &module.computations[index];
        let new = Rebuild::each(old, |rebuild, _, instruction| {
            Ok::<_, CompileError>(widened(rebuild, module, old, instruction, combiners))
        })?;
        module.computations[index] = new;
    }
    Ok(())
}

/// Number of computations that the pass adds.
const COMBINERS: usize = 2;

/// The combiners in `f32`.
#[derive(Clone, Copy)]
struct Combiners {
    sum: ComputationId,
    product: ComputationId,
}

impl Combiners {
    /// Inserts the combiners before all computations of the module.
    fn add_to(module: &mut Module) -> Combiners {
        let new = [("wide_sum", BinaryOp::Add), ("wide_product", BinaryOp::Multiply)];
        let new: [Computation; COMBINERS] = new.map(|(name, op)| combiner(module, name, op, WIDE));
        put_in_front(module, new.into());
        Combiners { sum: ComputationId(0), product: ComputationId(1) }
    }
}

/// Returns the operation of a `reduce` or `reduce-window`, if it would round to a narrow float
/// after each operation.
fn operation(module: &Module, computation: &Computation, instruction: &Instruction) -> Option<BinaryOp> {
    let (Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. }) = instruction.op else { return None };
    let element = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| array.element_type);
    let result = instruction.shape.as_array()?.element_type;
    let is_narrow = result.is_float() && result.bits() < WIDE.bits() && result != ElementType::F8E8M0FNU;
    let is_uniform = instruction.operands.iter().all(|&id| element(id) == Some(result));
    let op = applied_operation(module.computation(to_apply), result)?;
    (is_narrow && is_uniform && matches!(op, BinaryOp::Add | BinaryOp::Multiply)).then_some(op)
}

/// Returns the operation of a computation that applies it to its two parameters of this type and
/// does nothing else.
fn applied_operation(applied: &Computation, element: ElementType) -> Option<BinaryOp> {
    let root = applied.root_instruction();
    let is_parameter = |&id: &InstrId| {
        let operand = applied.instruction(id);
        matches!(operand.op, Op::Parameter { .. }) && operand.shape == Shape::array(element, [])
    };
    let distinct = root.operands.first() != root.operands.get(1);
    match root.op {
        Op::Binary(op) if distinct && root.operands.iter().all(is_parameter) => Some(op),
        _ => None,
    }
}

fn widened(
    rebuild: &mut Rebuild,
    module: &Module,
    old: &Computation,
    instruction: &Instruction,
    combiners: Combiners,
) -> Option<InstrId> {
    let op = operation(module, old, instruction)?;
    let combiner = if op == BinaryOp::Multiply { combiners.product } else { combiners.sum };
    let operands: Vec<InstrId> =
        rebuild.operands(instruction).into_iter().map(|operand| convert(rebuild, instruction, operand)).collect();
    let mut reduce = instruction.op.clone();
    if let Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } = &mut reduce {
        *to_apply = combiner;
    }
    let wide = rebuild.add(instruction, reduce, with_type(&instruction.shape), operands);
    Some(rebuild.add(instruction, Op::Convert, instruction.shape.clone(), vec![wide]))
}

fn convert(rebuild: &mut Rebuild, origin: &Instruction, operand: InstrId) -> InstrId {
    let shape = with_type(&rebuild.instruction(operand).shape);
    rebuild.add(origin, Op::Convert, shape, vec![operand])
}

fn with_type(shape: &Shape) -> Shape {
    let dims = shape.as_array().map(|array| array.dims.clone()).unwrap_or_default();
    Shape::array(WIDE, dims)
}
