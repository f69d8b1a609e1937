//! Decides how an instruction with a buffer is executed.

use fusebox_core::hlo::{Instruction, Op, Shape};

/// How an instruction is executed in the thunk sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// A kernel.
    Kernel,
    /// No thunk: the value is existing memory, or memory that the caller of the program fills.
    Alias,
    /// Thunks with nested sequences.
    Control,
    /// A routine of the host.
    Host,
}

/// Returns the executor of `instruction` if no emitter claims it.
pub fn executor(instruction: &Instruction) -> Executor {
    match &instruction.op {
        Op::Parameter { .. } | Op::Constant(_) | Op::Tuple | Op::GetTupleElement { .. } | Op::AfterAll => {
            Executor::Alias
        }
        Op::While { .. } | Op::Conditional { .. } => Executor::Control,
        op if (op.is_elemental() || matches!(op, Op::Fusion { .. })) && is_array_or_variadic(&instruction.shape) => {
            Executor::Kernel
        }
        _ => Executor::Host,
    }
}

fn is_array_or_variadic(shape: &Shape) -> bool {
    shape.leaves().iter().all(|leaf| leaf.as_array().is_some())
}
