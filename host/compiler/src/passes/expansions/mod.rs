//! Expands operations that no kernel and no routine computes directly.
//!
//! ```text
//! ragged_dot   a product in which each group of rows has a separate matrix
//! scaled_dot   the product of scaled operands
//! scan         a loop over the elements of a dimension
//! ```

mod ragged_dot;
mod scaled_dot;
mod scan;

use fusebox_core::hlo::{ComputationId, DotDims, ElementType, InstrId, Instruction, Module, Op, Shape};
use fusebox_edit::{Builder, Rewrite, rewrite};

use crate::CompileError;
use crate::roles::{Role, roles};

/// Largest number of operations that the pass expands in a module.
const MOST: usize = 10_000;

/// Expands `ragged-dot`, `scaled-dot` and `scan` in all computations that thunks or kernels
/// execute. A scan's expansion executes the computation that the scan applies. The computation that
/// a scan applies may itself contain operations to expand.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let mut done = 0;
    while let Some(id) = next(module) {
        rewrite(module, id, |edit, _, instruction| {
            if !is_meant(instruction) {
                return Ok(None);
            }
            done += 1;
            if done > MOST {
                let message = format!("the module has more than {MOST} operations to expand");
                return Err(CompileError::at(edit.module(), instruction, message));
            }
            expand(edit, instruction).map(Some)
        })?;
    }
    Ok(())
}

fn is_meant(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::RaggedDot { .. } | Op::ScaledDot(_) | Op::Scan { .. })
}

/// Returns a computation that the program executes and that contains operations to expand.
fn next(module: &Module) -> Option<ComputationId> {
    let roles = roles(module);
    let is_executed = |id: ComputationId| matches!(roles[id.index()], Role::Sequence | Role::Fused);
    module.ids().find(|&id| is_executed(id) && module.computation(id).instructions.iter().any(is_meant))
}

fn expand(edit: &mut Rewrite, instruction: &Instruction) -> Result<InstrId, CompileError> {
    let operands = edit.operands(instruction);
    match (&instruction.op, &operands[..], &instruction.shape) {
        (Op::RaggedDot { .. }, &[lhs, rhs, sizes], Shape::Array(result)) => {
            ragged_dot::expand(edit, instruction, [lhs, rhs, sizes], result.element_type)
        }
        (Op::ScaledDot(dims), &[lhs, rhs, left, right], Shape::Array(result)) => {
            Ok(scaled_dot::expand(edit, dims, [lhs, rhs], [left, right], result.element_type))
        }
        (Op::Scan { .. }, _, Shape::Tuple(results)) => scan::expand(edit, instruction, &operands, results),
        (op, ..) => Err(CompileError::at(edit.module(), instruction, format!("{} of these operands", op.opcode()))),
    }
}

/// Adds a product without a prescribed algorithm.
fn product(edit: &mut Builder, dims: &DotDims, ty: ElementType, [lhs, rhs]: [InstrId; 2]) -> InstrId {
    edit.add_typed(Op::Dot(DotDims { algorithm: String::new(), ..dims.clone() }), ty, [lhs, rhs])
}
