//! Bounds the memory that an operation needs, before the operation starts. The bound is an upper
//! bound of the memory that the operation allocates and holds at any one time. The bound excludes
//! the operands and depends on the kind of operation.

use fusebox_core::hlo::{Instruction, Op, Shape};

use crate::error::Outcome;
use crate::free_memory::{bytes_of_elements, ensure};
use crate::value::{Data, Value, dims_of, element_count};

/// Checks that there is memory to evaluate an instruction on these operands. Fails with
/// `Fault::Memory`, or with `Fault::TooLarge` if no memory would suffice.
pub(crate) fn ensure_for(instruction: &Instruction, operands: &[Value]) -> Outcome<()> {
    let Some(copies) = copies(&instruction.op) else { return Ok(()) };
    let results = bytes_of_shape(&instruction.shape)?;
    let operand_bytes: u64 = operands.iter().map(bytes_of_value).sum();
    // Operands of four bits may be copied and truncated before they are read.
    let cut = if operands.iter().any(has_four_bits) { operand_bytes } else { 0 };
    let needed = [copies.results.saturating_mul(results), copies.operands.saturating_mul(operand_bytes), cut];
    ensure(needed.into_iter().fold(0, u64::saturating_add))
}

/// Upper bound of the memory that an operation holds at any one time, excluding its operands. The
/// bound is `results` copies of the results plus `operands` copies of the operands. [`ensure_for`]
/// adds a copy of all operands if an operand has elements of four bits. The numbers of copies are
/// rounded up. With one copy too many, the interpreter refuses an operation that is possible; with
/// one copy too few, the process aborts.
struct Copies {
    results: u64,
    operands: u64,
}

/// Returns how many copies of results and operands an operation holds, or `None` if the operation
/// only passes values on.
fn copies(op: &Op) -> Option<Copies> {
    let copies = |results, operands| Some(Copies { results, operands });
    match op {
        Op::Parameter { .. }
        | Op::Tuple
        | Op::GetTupleElement { .. }
        | Op::Call { .. }
        | Op::Fusion { .. }
        | Op::While { .. }
        | Op::Conditional { .. }
        | Op::Copy
        | Op::OptBarrier
        | Op::AddDependency
        | Op::AfterAll => None,
        Op::Constant(_)
        | Op::DynamicUpdateSlice
        | Op::SetDimensionSize { .. }
        | Op::Rng { .. }
        | Op::Concatenate { .. } => copies(1, 0),
        // Iota holds one row and its repetitions. Gather holds one slice and its destination.
        Op::Iota { .. } | Op::Gather(_) => copies(2, 0),
        op if op.is_movement() => copies(1, 0),
        // Pad first copies the part of the operand that lies inside the result, and then writes
        // this part.
        Op::Pad { .. } => copies(1, 1),
        // A growing vector may have twice the capacity that it needs. When the vector is moved, its
        // old content needs space too.
        op if op.is_elementwise() => copies(3, 0),
        // The operation collects random words, which have half the size of the result, in a growing
        // vector.
        Op::RngBitGenerator { .. } => copies(4, 0),
        // These operations hold a copy of the operand in which the reduced dimensions are
        // innermost.
        Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::SelectAndScatter { .. } | Op::Scatter { .. } => copies(1, 1),
        Op::Scan { .. } | Op::BatchNormTraining { .. } | Op::BatchNormInference { .. } | Op::BatchNormGrad { .. } => {
            copies(2, 2)
        }
        // These operations hold copies of the operands, and lists of positions along the sorted
        // dimension.
        Op::Sort { .. } | Op::Topk { .. } => copies(2, 4),
        // These operations transpose a copy of each operand, and convert the copy to the kind of
        // the result. They also hold the result in two orders of dimensions.
        Op::Dot(_) | Op::Convolution(_) => copies(2, 3),
        Op::RaggedDot { .. } | Op::ScaledDot(_) => copies(3, 6),
        // These operations hold the bytes of the elements, and the elements in two orders of
        // dimensions.
        Op::Bitcast | Op::BitcastConvert => copies(4, 3),
        // FFT holds all rows as complex numbers, both before and after cropping or completing the
        // rows.
        Op::Fft { .. } => copies(4, 4),
        // All other operations hold complex matrices, and several factors of each matrix.
        _ => copies(6, 12),
    }
}

fn bytes_of_shape(shape: &Shape) -> Outcome<u64> {
    let mut bytes = 0u64;
    for array in shape.leaves().into_iter().filter_map(Shape::as_array) {
        let count = element_count(&dims_of(array)?)? as u64;
        bytes = bytes.saturating_add(bytes_of_elements(array.element_type, count));
    }
    Ok(bytes)
}

fn bytes_of_value(value: &Value) -> u64 {
    match value {
        Value::Array(array) => {
            let size = if matches!(array.data, Data::Complex(_)) { 16 } else { 8 };
            size * array.len() as u64
        }
        Value::Tuple(elements) => elements.iter().map(bytes_of_value).sum(),
        Value::Token => 0,
    }
}

fn has_four_bits(value: &Value) -> bool {
    matches!(value, Value::Array(array) if array.ty.is_integer() && array.ty.bits() == 4)
}
