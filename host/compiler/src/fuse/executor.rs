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

/// Who executes `instruction`, if no emitter asks for it.
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
