//! Computes sums and products of narrow floats in `f32`, so that they are rounded once, not after
//! each operation.
//!
//! ```text
//! r = bf16[n] reduce(x, init), add    =>    w = f32[n] reduce(convert x, convert init), add in f32
//!                                           r = bf16[n] convert(w)
//! ```
//!
//! The conversions are fused into the reduction's kernel. If the reduction is split, its partial
//! results are `f32`, too. The pass rewrites a `reduce-window` as it rewrites a `reduce`. Maxima
//! and minima are not rewritten, because they do not round.

use fusebox_core::hlo::{BinaryOp, Combiner, Computation, ElementType, InstrId, Instruction, Module, Op};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;
use crate::roles::{Role, in_role};

/// Type in which sums of narrow floats are computed.
const WIDE: ElementType = ElementType::F32;

/// Rewrites the reductions in all computations that thunks or kernels execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let computed = [Role::Sequence, Role::Fused].map(|role| in_role(module, role)).concat();
    for id in computed {
        let computation = module.computation(id);
        if computation.instructions.iter().any(|it| operation(module, computation, it).is_some()) {
            rewrite(module, id, |edit, _, instruction| {
                let op = operation(edit.module(), edit.old(), instruction);
                Ok::<_, CompileError>(op.and_then(|op| widened(edit, instruction, op)))
            })?;
        }
    }
    Ok(())
}

/// Returns the operation of a `reduce` or `reduce-window`, if the reduction would round to a narrow
/// float after each operation.
fn operation(module: &Module, computation: &Computation, instruction: &Instruction) -> Option<BinaryOp> {
    let (Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. }) = instruction.op else { return None };
    let element = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| array.element_type);
    let result = instruction.shape.as_array()?.element_type;
    let is_narrow = result.is_float() && result.bits() < WIDE.bits() && result != ElementType::F8E8M0FNU;
    let is_uniform = instruction.operands.iter().all(|&id| element(id) == Some(result));
    let combiner = Combiner::of(module.computation(to_apply)).filter(|it| it.element_type == result)?;
    let op = combiner.in_order()?;
    (is_narrow && is_uniform && matches!(op, BinaryOp::Add | BinaryOp::Multiply)).then_some(op)
}

fn widened(edit: &mut Rewrite, instruction: &Instruction, op: BinaryOp) -> Option<InstrId> {
    let combiner = edit.combiner(op, WIDE);
    let operands = edit.operands(instruction);
    let operands: Vec<InstrId> = operands.into_iter().map(|operand| edit.convert(operand, WIDE)).collect();
    let mut reduce = instruction.op.clone();
    if let Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } = &mut reduce {
        *to_apply = combiner;
    }
    let wide = edit.add(reduce, operands);
    Some(edit.convert(wide, instruction.shape.as_array()?.element_type))
}
