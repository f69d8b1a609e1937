//! Costs of operations, memory traffic and launches, for fusion decisions, predictions and
//! emitters.
//!
//! Costs are counted in additions of one thread unless a function states another unit: bytes of
//! memory traffic or seconds.

use crate::device::DeviceDescription;
use crate::hlo::{
    ArrayShape, BinaryOp, Combiner, Computation, ElementType, InstrId, Instruction, Module, Op, UnaryOp, UnaryWork,
};
use crate::indexing::combined_elements;

/// Seconds of launch time that fusing two kernels saves. Fusion decisions assume the same launch
/// time for all devices.
pub const LAUNCH_SECONDS: f64 = 2e-6;
/// Dependent additions that one thread computes per second.
pub const ADDITIONS_PER_SECOND: f64 = 2e9;
/// Number of additions that take as long as one kernel launch. Fusion decisions use the same cost
/// of a launch for all devices, so that the decisions do not depend on the device.
pub const LAUNCH: f64 = LAUNCH_SECONDS * ADDITIONS_PER_SECOND;
/// Cost, in additions, of writing an element to memory and reading it again.
pub const ROUND_TRIP: f64 = 4.0;
/// Largest cost, in additions, of a scalar that every block recomputes instead of reading it.
pub const CHEAP_SCALAR: f64 = 10.0;

/// Cost of a transcendental function, in additions. A polynomial causes most of the cost of a
/// transcendental function.
const FUNCTION: f64 = 25.0;
/// Cost of a sine, cosine or tangent of an `f64`, including the exact reduction of the argument.
const WIDE_TRIGONOMETRY: f64 = 100.0;
/// Costs, in additions, of functions of a complex number. The first number is the cost of most
/// functions. The second number is the cost of a trigonometric function, which needs several real
/// sines.
const COMPLEX: [f64; 2] = [70.0, 300.0];
/// Cost of a power of complex numbers.
const COMPLEX_POWER: f64 = 800.0;
/// Costs, in additions, of two kinds of integer divisions. The first number is the cost of a
/// division by a variable, and the second number is the cost of a division by a constant. A
/// division by a variable is not vectorised.
const INTEGER_DIVISION: [f64; 2] = [40.0, 4.0];
/// Cost of a float remainder, which is computed bit by bit.
const FLOAT_REMAINDER: f64 = 100.0;
/// Costs, in additions, of integer powers. The first number is the cost of a power with at most 32
/// bits, and the second number is the cost of a power with 64 bits.
const INTEGER_POWER: [f64; 2] = [75.0, 330.0];
/// Bytes of memory traffic that take as long as one scalar addition.
const BYTES_OF_ADDITION: f64 = 1.2;
/// Cost, in additions, of one read if adjacent elements of the result need operand elements that
/// are far apart in memory.
pub const STRIDED_READ: f64 = 12.0;
/// Array size, in bytes, above which strided reads miss the nearest cache.
pub const CACHED_BYTES: i64 = 32 << 10;
/// Least number of contiguous bytes (a cache line) that a transpose must keep together to be as
/// fast as a sequential read.
const LEAST_RUN_BYTES: i64 = 64;

/// Cost, in additions, of computing one element of `instruction` from its operands.
pub fn per_element(computation: &Computation, instruction: &Instruction) -> f64 {
    match &instruction.op {
        Op::Constant(_) | Op::Parameter { .. } | Op::Broadcast { .. } | Op::GetTupleElement { .. } => 0.0,
        Op::Iota { .. } | Op::Tuple => 0.0,
        Op::Reshape if moves_only_units(computation, instruction) => 0.0,
        Op::Unary(op) => unary(*op, instruction),
        Op::Binary(op) => binary(*op, computation, instruction),
        Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot(_) | Op::Convolution(_) => {
            2.0 * steps(computation, instruction)
        }
        Op::Map { .. } => 10.0,
        op if op.first_index().is_some() => 4.0,
        Op::Transpose { .. } if is_strided(computation, instruction) => STRIDED_READ,
        // The kernel finds the borders once per row. For each element only a read remains.
        Op::Pad { .. } => 0.5,
        Op::Concatenate { .. } | Op::Reshape => 2.0,
        _ => 1.0,
    }
}

/// Cost, in additions, of recomputing an element instead of reading it from a buffer. Recomputing
/// costs the operation and the reads of its operands, and saves one read.
pub fn per_repetition(computation: &Computation, instruction: &Instruction) -> f64 {
    let is_read = |operand: &&InstrId| is_read(computation, **operand);
    let reads = instruction.operands.iter().filter(is_read).count() as f64;
    (per_element(computation, instruction) + reads - 1.0).max(0.0)
}

/// Whether users that are not fused with a value read the value from memory element by element.
fn is_read(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    match instruction.op {
        Op::Iota { .. } => false,
        Op::Broadcast { .. } => is_read(computation, instruction.operands[0]),
        _ => first_array(instruction).is_some_and(|array| array.element_count() > 1),
    }
}

/// Number of bytes of memory traffic that take as long as the arithmetic of one element. The number
/// assumes that all cores compute, and access memory, at the same time. An operation that is one
/// machine instruction costs one byte.
pub fn arithmetic_bytes(computation: &Computation, instruction: &Instruction) -> i64 {
    match &instruction.op {
        Op::Parameter { .. } | Op::Constant(_) | Op::Tuple | Op::Reshape | Op::Bitcast | Op::Broadcast { .. } => 0,
        Op::Unary(_) | Op::Binary(_) => {
            let element = first_array(instruction).map_or(0, |array| array.element_type.byte_size());
            let words = element.max(4) as f64 / 4.0;
            (per_element(computation, instruction) * words * BYTES_OF_ADDITION) as i64
        }
        _ => 1,
    }
}

/// Array size, in bytes, below which the array is assumed to be in the cache of the core that wrote
/// it.
const CACHED: i64 = 512 << 10;
/// Factor by which reading from another core's cache is slower than reading from the core's own
/// cache.
const FROM_ANOTHER_CORE: i64 = 4;

/// Cost of distributing a small array from the core that wrote it to all cores; 0 for larger
/// arrays. The cost is stated as the number of bytes that one core could move in the time of the
/// distribution.
pub fn fetching(bytes: i64, device: &DeviceDescription) -> i64 {
    if is_cached(bytes) { moved_between_cores(bytes, device) } else { 0 }
}

/// Whether an array is small enough to be in the cache of the core that wrote it. Larger arrays are
/// spread over the caches of all cores.
pub fn is_cached(bytes: i64) -> bool {
    bytes < CACHED
}

/// Cost of moving `bytes` from one core's cache to the caches of all cores. Each core needs an
/// equal part, so the core that has the bytes keeps one part. The cost is stated as the number of
/// bytes that one core could move in the time that the whole move takes.
pub fn moved_between_cores(bytes: i64, device: &DeviceDescription) -> i64 {
    let of_others = bytes - bytes / i64::from(device.core_count.max(1));
    of_others.saturating_mul(FROM_ANOTHER_CORE)
}

/// Whether an operation takes about twenty machine instructions per element, most of them for a
/// polynomial. Reading an element from a near cache is faster than recomputing it by such an
/// operation.
pub fn is_function(op: &Op) -> bool {
    match op {
        Op::Unary(op) => !matches!(op.work(), UnaryWork::OneInstruction | UnaryWork::FewInstructions),
        Op::Binary(op) => matches!(op, BinaryOp::Power | BinaryOp::Atan2 | BinaryOp::Remainder),
        _ => false,
    }
}

/// Cost, in additions, of computing every element of every instruction of a computation once.
pub fn of_computation(computation: &Computation) -> f64 {
    computation.instructions.iter().map(|it| elements(it) * per_element(computation, it)).sum()
}

/// Number of operand elements that are combined into one element of a reduction, a product or a
/// convolution; 1 for other operations.
pub fn steps(computation: &Computation, instruction: &Instruction) -> f64 {
    combined_elements(computation, instruction) as f64
}

/// Returns the array shape of the result. If an operation is variadic, returns the array shape of
/// its first result.
pub fn first_array(instruction: &Instruction) -> Option<&ArrayShape> {
    instruction.shape.leaves().into_iter().find_map(|leaf| leaf.as_array())
}

fn elements(instruction: &Instruction) -> f64 {
    first_array(instruction).map_or(0.0, |array| array.element_count() as f64)
}

/// Number of bytes of the first array in an instruction's result.
pub fn bytes(instruction: &Instruction) -> i64 {
    first_array(instruction).map_or(0, ArrayShape::byte_size)
}

/// Whether a transpose is large and moves adjacent elements far apart.
fn is_strided(computation: &Computation, transpose: &Instruction) -> bool {
    let Op::Transpose { permutation } = &transpose.op else { return false };
    let operand = computation.instruction(transpose.operands[0]);
    let Some(operand) = operand.shape.as_array() else { return false };
    bytes(transpose) > CACHED_BYTES && run_bytes(operand, permutation) < LEAST_RUN_BYTES
}

/// Size, in bytes, of a run of elements that is contiguous both before and after a transpose.
fn run_bytes(operand: &ArrayShape, permutation: &[i64]) -> i64 {
    let real = |d: &i64| operand.dims[*d as usize] > 1;
    let order: Vec<i64> = permutation.iter().copied().filter(real).collect();
    let minor_first = (0..operand.rank() as i64).rev().filter(real);
    let kept = order.iter().rev().zip(minor_first).take_while(|(moved, stayed)| *moved == stayed);
    let elements: i64 = kept.map(|(&d, _)| operand.dims[d as usize]).product();
    elements * operand.element_type.byte_size() as i64
}

/// Whether a reshape only inserts or removes dimensions of size 1, so that no index changes.
fn moves_only_units(computation: &Computation, reshape: &Instruction) -> bool {
    let real = |instruction: &Instruction| -> Option<Vec<i64>> {
        Some(instruction.shape.as_array()?.dims.iter().copied().filter(|&size| size != 1).collect())
    };
    real(reshape) == real(computation.instruction(reshape.operands[0]))
}

/// Whether recomputing an operation never pays off, even for a few elements.
pub fn is_heavy(op: &Op) -> bool {
    matches!(op, Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot(_) | Op::Convolution(_) | Op::Map { .. })
}

/// Whether vector code combines elements in an order that differs from the order of HLO. For sums
/// and products, and for the maximum and minimum of integers, vector code has another order than
/// HLO.
pub fn is_regrouped(module: &Module, instruction: &Instruction) -> bool {
    match &instruction.op {
        Op::Dot(_) | Op::Convolution(_) => true,
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => {
            let combiner = Combiner::of(module.computation(*to_apply));
            combiner.is_some_and(|combiner| match combiner.in_order() {
                Some(BinaryOp::Add | BinaryOp::Multiply) => true,
                Some(BinaryOp::Maximum | BinaryOp::Minimum) => !combiner.element_type.is_float(),
                _ => false,
            })
        }
        _ => false,
    }
}

/// Cost of a unary operation for one element of `instruction`'s type.
fn unary(op: UnaryOp, instruction: &Instruction) -> f64 {
    let element = first_array(instruction).map(|array| array.element_type);
    let is_complex = element.is_some_and(ElementType::is_complex);
    match op.work() {
        UnaryWork::OneInstruction => 1.0,
        UnaryWork::FewInstructions => 2.0,
        UnaryWork::Trigonometry if is_complex => COMPLEX[1],
        UnaryWork::Function if is_complex && op == UnaryOp::Tanh => COMPLEX[1],
        _ if is_complex => COMPLEX[0],
        UnaryWork::Root => 6.0,
        UnaryWork::InverseRoot => 10.0,
        UnaryWork::Trigonometry if element == Some(ElementType::F64) => WIDE_TRIGONOMETRY,
        UnaryWork::Trigonometry | UnaryWork::Function => FUNCTION,
    }
}

/// Cost of a binary operation for one element of `instruction`'s type.
fn binary(op: BinaryOp, computation: &Computation, instruction: &Instruction) -> f64 {
    let Some(element) = first_array(instruction).map(|array| array.element_type) else { return 1.0 };
    let is_wide = element.byte_size() > 4;
    match op {
        BinaryOp::Divide | BinaryOp::Remainder if element.is_integer() => {
            INTEGER_DIVISION[usize::from(is_constant(computation, instruction.operands[1]))]
        }
        BinaryOp::Remainder => FLOAT_REMAINDER,
        BinaryOp::Divide if element.is_complex() || is_wide => 15.0,
        BinaryOp::Divide => 8.0,
        BinaryOp::Power if element.is_complex() => COMPLEX_POWER,
        BinaryOp::Power if element.is_integer() => INTEGER_POWER[usize::from(is_wide)],
        BinaryOp::Power | BinaryOp::Atan2 => 50.0,
        _ => 1.0,
    }
}

/// Whether a value is known at compile time and equal for all elements.
fn is_constant(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    match instruction.op {
        Op::Broadcast { .. } | Op::Convert => is_constant(computation, instruction.operands[0]),
        Op::Constant(_) => first_array(instruction).is_some_and(|array| array.element_count() == 1),
        _ => false,
    }
}
