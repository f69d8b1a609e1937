//! What it costs to compute one element, in additions.

use fusebox_core::hlo::{BinaryOp, Computation, ElementType, InstrId, Instruction, Op, UnaryOp};

use super::hero::is_strided;
use super::reads::{convolution_steps, first_array, read};

/// Additions that launching a kernel costs.
pub const LAUNCH: f64 = 4000.0;
/// Additions that writing an element and reading it again costs.
pub const ROUND_TRIP: f64 = 4.0;
/// Additions that reading an element takes where neighbours in the result are far apart in memory.
const STRIDED_READ: f64 = 12.0;

/// Most additions of a scalar that every block computes for itself instead of reading it.
pub const CHEAP_SCALAR: f64 = 10.0;

/// Cost of one element that is computed where it is used instead of read from a buffer: the operation and the
/// reads of its operands, less the read saved.
pub fn per_repetition(computation: &Computation, instruction: &Instruction) -> f64 {
    let is_read = |operand: &&InstrId| is_read(computation, **operand);
    let reads = instruction.operands.iter().filter(is_read).count() as f64;
    (per_element(computation, instruction) + reads - 1.0).max(0.0)
}

/// Whether a value comes from memory element by element, as long as it is not fused.
fn is_read(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    match instruction.op {
        Op::Iota { .. } => false,
        Op::Broadcast { .. } => is_read(computation, instruction.operands[0]),
        _ => first_array(instruction).is_some_and(|array| array.element_count() > 1),
    }
}

/// Cost of one element of `instruction`, operands not included.
pub fn per_element(computation: &Computation, instruction: &Instruction) -> f64 {
    match &instruction.op {
        Op::Constant(_) | Op::Parameter { .. } | Op::Broadcast { .. } | Op::GetTupleElement { .. } => 0.0,
        Op::Iota { .. } => 0.0,
        Op::Reshape if moves_only_units(computation, instruction) => 0.0,
        Op::Unary(op) => unary(*op),
        Op::Binary(op) => binary(*op, instruction),
        Op::Reduce { .. } | Op::ReduceWindow { .. } => 2.0 * read(computation, instruction, 0).factor,
        Op::Dot(_) => 2.0 * read(computation, instruction, 0).factor,
        Op::Convolution(_) => 2.0 * convolution_steps(computation, instruction),
        Op::Map { .. } => 10.0,
        Op::Gather(_) | Op::DynamicSlice { .. } | Op::DynamicUpdateSlice => 4.0,
        Op::Transpose { .. } if is_strided(computation, instruction) => STRIDED_READ,
        // The borders are found once for a row: what is left is a read.
        Op::Pad { .. } => 0.5,
        Op::Concatenate { .. } | Op::Reshape => 2.0,
        _ => 1.0,
    }
}

/// Whether a reshape only inserts or removes dimensions of one element: no index changes.
fn moves_only_units(computation: &Computation, reshape: &Instruction) -> bool {
    let real = |instruction: &Instruction| -> Option<Vec<i64>> {
        Some(instruction.shape.as_array()?.dims.iter().copied().filter(|&size| size != 1).collect())
    };
    real(reshape) == real(computation.instruction(reshape.operands[0]))
}

/// Whether recomputing is never worth it, however few elements.
pub fn is_heavy(op: &Op) -> bool {
    matches!(op, Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot(_) | Op::Convolution(_) | Op::Map { .. })
}

fn unary(op: UnaryOp) -> f64 {
    match op {
        UnaryOp::Abs | UnaryOp::Negate | UnaryOp::Not | UnaryOp::Sign | UnaryOp::Real | UnaryOp::Imag => 1.0,
        UnaryOp::IsFinite | UnaryOp::Ceil | UnaryOp::Floor | UnaryOp::Popcnt | UnaryOp::CountLeadingZeros => 2.0,
        UnaryOp::RoundNearestAfz | UnaryOp::RoundNearestEven => 2.0,
        UnaryOp::Sqrt => 6.0,
        UnaryOp::Rsqrt => 10.0,
        _ => 25.0,
    }
}

fn binary(op: BinaryOp, instruction: &Instruction) -> f64 {
    let is_f64 = instruction.shape.as_array().is_some_and(|s| s.element_type == ElementType::F64);
    match op {
        BinaryOp::Divide | BinaryOp::Remainder => {
            if is_f64 {
                15.0
            } else {
                8.0
            }
        }
        BinaryOp::Power | BinaryOp::Atan2 => 50.0,
        _ => 1.0,
    }
}
