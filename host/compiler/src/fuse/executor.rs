//! Who executes an instruction that has a buffer of its own.

use fusebox_core::hlo::{Instruction, Op, Shape};

/// What an instruction becomes in the thunk sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// A kernel.
    Kernel,
    /// Nothing: its value is memory that already exists, or will be filled from outside.
    Alias,
    /// Thunks with sequences inside.
    Control,
    /// A routine of the host.
    Host,
}

/// Who executes `instruction`.
pub fn executor(instruction: &Instruction) -> Executor {
    match &instruction.op {
        Op::Parameter { .. } | Op::Constant(_) | Op::Tuple | Op::GetTupleElement { .. } | Op::AfterAll => {
            Executor::Alias
        }
        Op::While { .. } | Op::Conditional { .. } => Executor::Control,
        op if has_kernel(op) && is_array_or_variadic(&instruction.shape) => Executor::Kernel,
        _ => Executor::Host,
    }
}

/// Operations that the elemental lowering knows, and scatter, which has an emitter of its own.
fn has_kernel(op: &Op) -> bool {
    let has_lowering = matches!(
        op,
        Op::BitcastConvert
            | Op::Iota { .. }
            | Op::Broadcast { .. }
            | Op::Reshape
            | Op::Transpose { .. }
            | Op::Reverse { .. }
            | Op::Concatenate { .. }
            | Op::Slice { .. }
            | Op::Pad { .. }
            | Op::DynamicSlice { .. }
            | Op::DynamicUpdateSlice
            | Op::Gather(_)
            | Op::Scatter { .. }
            | Op::SelectAndScatter { .. }
            | Op::Reduce { .. }
            | Op::ReduceWindow { .. }
            | Op::Dot(_)
            | Op::Convolution(_)
            | Op::Fusion { .. }
    );
    has_lowering || op.is_elementwise()
}

fn is_array_or_variadic(shape: &Shape) -> bool {
    shape.leaves().iter().all(|leaf| leaf.as_array().is_some())
}
