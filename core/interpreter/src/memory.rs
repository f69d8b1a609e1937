//! Memory for arrays is asked for before an operation begins.
//!
//! Operations take their results and what they work with from the allocator, which ends the process where there is
//! nothing left. So whether there is enough is tried out first, in this one place: an estimate from above, by kind of
//! operation, of what it holds at once besides its operands.

use fusebox_core::hlo::{ElementType, Instruction, Op, Shape};

use crate::error::{Fault, Outcome};
use crate::value::{Data, Value, dims_of, element_count};

/// From here on it is worth asking.
const LARGE: u64 = 64 << 10;
/// Also there afterwards, for what is not counted.
const SPARE: u64 = 128 << 10;

/// Whether so many bytes of memory can be had now. Fails with [`Fault::Memory`].
pub(crate) fn ensure(bytes: u64) -> Outcome<()> {
    if bytes < LARGE {
        return Ok(());
    }
    let wanted = usize::try_from(bytes.saturating_add(SPARE)).unwrap_or(usize::MAX);
    Vec::<u8>::new().try_reserve_exact(wanted).map_err(|_| Fault::Memory { bytes })
}

/// Whether there is memory to evaluate an instruction on these operands. Fails with [`Fault::Memory`], or
/// [`Fault::TooLarge`] if no memory would do.
pub(crate) fn ensure_for(instruction: &Instruction, operands: &[Value]) -> Outcome<()> {
    let Some(copies) = copies(&instruction.op) else { return Ok(()) };
    let results = bytes_of_shape(&instruction.shape)?;
    let operand_bytes: u64 = operands.iter().map(bytes_of_value).sum();
    // Values of four bits may be cut before they are read, in copies.
    let cut = if operands.iter().any(has_four_bits) { operand_bytes } else { 0 };
    let needed = [copies.results.saturating_mul(results), copies.operands.saturating_mul(operand_bytes), cut];
    ensure(needed.into_iter().fold(0, u64::saturating_add))
}

/// Bytes of an array's elements as they are held here.
pub(crate) fn bytes_of_elements(ty: ElementType, count: u64) -> u64 {
    count.saturating_mul(if ty.is_complex() { 16 } else { 8 })
}

/// How many times its results and its operands an operation holds at once, beside the operands. A whole number from
/// above: what is too much by one copy is refused, what is too little by one ends the process.
struct Copies {
    results: u64,
    operands: u64,
}

/// `None` for what passes values on.
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
        // One line, then its repetitions; one slice, then its place.
        Op::Iota { .. } | Op::Gather(_) => copies(2, 0),
        op if op.is_movement() => copies(1, 0),
        // The inner part is read before it is written.
        Op::Pad { .. } => copies(1, 1),
        // A vector that grows may have twice the space it needs, and moves with its old content.
        op if op.is_elementwise() => copies(3, 0),
        // Counters of half the size in a vector that grows.
        Op::RngBitGenerator { .. } => copies(4, 0),
        // The operand with the reduced dimensions innermost.
        Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::SelectAndScatter { .. } | Op::Scatter { .. } => copies(1, 1),
        Op::Scan { .. } | Op::BatchNormTraining { .. } | Op::BatchNormInference { .. } | Op::BatchNormGrad { .. } => {
            copies(2, 2)
        }
        // Copies, and lists of places along a line.
        Op::Sort { .. } | Op::Topk { .. } => copies(2, 4),
        // Both sides in order, then in the result's kind; the result in two orders.
        Op::Dot(_) | Op::Convolution(_) => copies(2, 3),
        Op::RaggedDot { .. } | Op::ScaledDot(_) => copies(3, 6),
        // The bytes of the elements, and the elements in two orders.
        Op::Bitcast | Op::BitcastConvert => copies(4, 3),
        // Lines as complex numbers, cut and put together; a line's transform asks for itself.
        Op::Fft { .. } => copies(4, 4),
        // Matrices of complex numbers, several factors of each.
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
    matches!(value, Value::Array(array) if matches!(array.ty, ElementType::S4 | ElementType::U4))
}
