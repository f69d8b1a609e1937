//! What operations, memory traffic and launches cost: what fusion, predictions and emitters weigh against each other.
//!
//! The measure is an addition of one thread. Memory traffic and time follow from it where something else is compared.

mod demand;

use crate::device::DeviceDescription;
use crate::hlo::{ArrayShape, BinaryOp, Computation, ElementType, InstrId, Instruction, Module, Op, UnaryOp};
use crate::indexing::combined_elements;

/// Seconds that fusing two kernels is taken to save on any device, beside memory traffic.
pub const LAUNCH_SECONDS: f64 = 2e-6;
/// Additions that one thread makes in a second, one after the other.
pub const ADDITIONS_PER_SECOND: f64 = 2e9;
/// Additions made in the time that launching a kernel takes. Of any device: what is fused does not depend on it.
pub const LAUNCH: f64 = LAUNCH_SECONDS * ADDITIONS_PER_SECOND;
/// Additions that writing an element and reading it again costs.
pub const ROUND_TRIP: f64 = 4.0;
/// Most additions of a scalar that every block computes for itself instead of reading it.
pub const CHEAP_SCALAR: f64 = 10.0;

/// Additions in the time that a function takes, most of it a polynomial.
const FUNCTION: f64 = 25.0;
/// The same of a sine of a double, which reduces its argument exactly.
const WIDE_TRIGONOMETRY: f64 = 100.0;
/// The same of functions of complex numbers: of the simplest, and of those that are made of several sines.
const COMPLEX: [f64; 2] = [70.0, 300.0];
/// Powers of complex numbers.
const COMPLEX_POWER: f64 = 800.0;
/// Integers are divided one by one, unless it is known by what.
const INTEGER_DIVISION: [f64; 2] = [40.0, 4.0];
/// Remainders of floats are found bit by bit.
const FLOAT_REMAINDER: f64 = 100.0;
/// Integer powers, of up to 32 bits and of 64.
const INTEGER_POWER: [f64; 2] = [75.0, 330.0];
/// Bytes of memory traffic in the time of an addition of a single number.
const BYTES_OF_ADDITION: f64 = 1.2;
/// Additions that reading an element takes where neighbours in the result are far apart in memory.
pub const STRIDED_READ: f64 = 12.0;
/// Bytes from which strided reads miss the nearest cache.
pub const CACHED_BYTES: i64 = 32 << 10;
/// Contiguous bytes from which a reordered read is as good as a plain one: a cache line.
const LEAST_RUN_BYTES: i64 = 64;

/// Cost of one element of `instruction`, operands not included.
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
        Op::Gather(_) | Op::DynamicSlice { .. } | Op::DynamicUpdateSlice => 4.0,
        Op::Transpose { .. } if is_strided(computation, instruction) => STRIDED_READ,
        // The borders are found once for a row: what is left is a read.
        Op::Pad { .. } => 0.5,
        Op::Concatenate { .. } | Op::Reshape => 2.0,
        _ => 1.0,
    }
}

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

/// Bytes of memory traffic that take as long as the arithmetic of one element does on all cores, which share the
/// memory: one for what takes an instruction.
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

/// So many bytes are taken to lie in the cache of the core that wrote them.
const CACHED: i64 = 512 << 10;
/// How much longer a core takes to read what lies in another's cache.
const FROM_ANOTHER_CORE: i64 = 4;

/// What it costs the cores to get their parts of small arrays from the one that has them all, in bytes that a core moves meanwhile.
pub fn fetching(bytes: i64, device: &DeviceDescription) -> i64 {
    if is_cached(bytes) { moved_between_cores(bytes, device) } else { 0 }
}

/// Whether an array is taken to lie in the cache of the core that wrote it, and not in parts in those of all.
pub fn is_cached(bytes: i64) -> bool {
    bytes < CACHED
}

/// What it costs to move all but one core's part of so many bytes from one cache to another, in bytes that a core moves meanwhile.
pub fn moved_between_cores(bytes: i64, device: &DeviceDescription) -> i64 {
    let of_others = bytes - bytes / i64::from(device.core_count.max(1));
    of_others.saturating_mul(FROM_ANOTHER_CORE)
}

/// Whether an operation on one element takes some twenty instructions, mostly of a polynomial: longer than reading its
/// result from a near cache.
pub fn is_function(op: &Op) -> bool {
    match op {
        Op::Unary(op) => simple(*op).is_none_or(|cost| cost > 2.0),
        Op::Binary(op) => matches!(op, BinaryOp::Power | BinaryOp::Atan2 | BinaryOp::Remainder),
        _ => false,
    }
}

/// How much faster than memory the caches are that all cores have together.
const CACHES_OVER_MEMORY: f64 = 8.0;

/// Bytes per second at which a device moves the bytes that a kernel reads and writes: the caches
/// that the cores of a cpu have together are faster than memory, if they hold so many.
pub fn bandwidth(bytes: u64, device: &DeviceDescription) -> f64 {
    let is_kept = device.is_single_threaded_block() && !device.exceeds_core_caches(bytes);
    device.memory_bandwidth * if is_kept { CACHES_OVER_MEMORY } else { 1.0 }
}

/// Operations on floats of 32 bits that a device makes in a second at most: on a cpu multiplications
/// and additions by one instruction, on vectors as wide as its registers.
pub fn peak(device: &DeviceDescription) -> f64 {
    let wider = f64::from(device.register_bytes.max(device.vector_bytes)) / f64::from(device.vector_bytes.max(1));
    device.flops * if device.is_single_threaded_block() { 2.0 * wider } else { 1.0 }
}

/// Additions for all elements of everything a computation does once.
pub fn of_computation(computation: &Computation) -> f64 {
    computation.instructions.iter().map(|it| elements(it) * per_element(computation, it)).sum()
}

/// The arithmetic that a computation needs at least, in operations on floats of 32 bits: of the elements that its result depends
/// on. Moving elements, as a transpose does, may take a kernel as good as none.
pub fn arithmetic_of_computation(computation: &Computation, device: &DeviceDescription) -> f64 {
    let shares = demand::shares(computation);
    let needed = |(instruction, share): (&Instruction, &f64)| {
        let all = share * elements(instruction) * per_element(computation, instruction);
        match &instruction.op {
            Op::Dot(_) => all / products_at_once(computation, instruction, device),
            // The zeros between the elements of a dilated operand are multiplied by nothing.
            Op::Convolution(attributes) => {
                let zeros: f64 = attributes.window.dims.iter().map(|dim| dim.base_dilation.max(1) as f64).product();
                all / zeros / products_at_once(computation, instruction, device)
            }
            // Neighbouring windows share all elements but one.
            Op::ReduceWindow { .. } => all.min(share * elements(instruction)),
            _ => all,
        }
    };
    let arithmetic = computation.instructions.iter().zip(&shares);
    arithmetic.filter(|(it, _)| it.op.is_elementwise() || is_heavy(&it.op)).map(needed).sum()
}

/// Products of such operands in the time of one of floats of 32 bits, where the device has
/// instructions for whole matrices or words of them.
fn products_at_once(computation: &Computation, product: &Instruction, device: &DeviceDescription) -> f64 {
    let element = |&id: &InstrId| first_array(computation.instruction(id)).map(|array| array.element_type);
    let widest = product.operands.iter().filter_map(element).map(|it| it.byte_size()).max().unwrap_or(4);
    let (tiles, words) = (device.tile_products, device.word_products);
    match widest {
        1 if tiles.int8 => 32.0,
        2 if tiles.bf16 => 16.0,
        1 if words.int8 => 4.0,
        2 if words.bf16 => 2.0,
        1 | 2 if !device.matrix_products.is_empty() => 32.0 / widest as f64,
        _ => 1.0,
    }
}

/// Elements of the operand that are combined into one element of a reduction, a product or a convolution; 1 for others.
pub fn steps(computation: &Computation, instruction: &Instruction) -> f64 {
    combined_elements(computation, instruction) as f64
}

/// An element of the result; for variadic operations, of the first result.
pub fn first_array(instruction: &Instruction) -> Option<&ArrayShape> {
    instruction.shape.leaves().into_iter().find_map(|leaf| leaf.as_array())
}

fn elements(instruction: &Instruction) -> f64 {
    first_array(instruction).map_or(0.0, |array| array.element_count() as f64)
}

/// Bytes of an instruction's first array.
pub fn bytes(instruction: &Instruction) -> i64 {
    first_array(instruction).map_or(0, ArrayShape::byte_size)
}

/// Whether a transpose is large and moves elements that lie side by side apart.
fn is_strided(computation: &Computation, transpose: &Instruction) -> bool {
    let Op::Transpose { permutation } = &transpose.op else { return false };
    let operand = computation.instruction(transpose.operands[0]);
    let Some(operand) = operand.shape.as_array() else { return false };
    bytes(transpose) > CACHED_BYTES && run_bytes(operand, permutation) < LEAST_RUN_BYTES
}

/// Bytes that lie side by side before and after a transpose.
fn run_bytes(operand: &ArrayShape, permutation: &[i64]) -> i64 {
    let real = |d: &i64| operand.dims[*d as usize] > 1;
    let order: Vec<i64> = permutation.iter().copied().filter(real).collect();
    let minor_first = (0..operand.rank() as i64).rev().filter(real);
    let kept = order.iter().rev().zip(minor_first).take_while(|(moved, stayed)| *moved == stayed);
    let elements: i64 = kept.map(|(&d, _)| operand.dims[d as usize]).product();
    elements * operand.element_type.byte_size() as i64
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

/// Whether instructions on vectors combine what an operation combines, in an order of their own: sums and products, and of
/// integers the largest and the smallest too.
pub fn is_regrouped(module: &Module, instruction: &Instruction) -> bool {
    match &instruction.op {
        Op::Dot(_) | Op::Convolution(_) => true,
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => {
            let combiner = module.computation(*to_apply).root_instruction();
            let is_float = combiner.shape.as_array().is_some_and(|array| array.element_type.is_float());
            match combiner.op {
                Op::Binary(BinaryOp::Add | BinaryOp::Multiply) => true,
                Op::Binary(BinaryOp::Maximum | BinaryOp::Minimum) => !is_float,
                _ => false,
            }
        }
        _ => false,
    }
}

/// Of an instruction that gives numbers of this type.
fn unary(op: UnaryOp, instruction: &Instruction) -> f64 {
    let element = first_array(instruction).map(|array| array.element_type);
    let is_complex = element.is_some_and(ElementType::is_complex);
    let is_trigonometric = matches!(op, UnaryOp::Sine | UnaryOp::Cosine | UnaryOp::Tan);
    match simple(op) {
        _ if is_complex && (is_trigonometric || op == UnaryOp::Tanh) => COMPLEX[1],
        Some(cost) if is_complex && cost > 2.0 => COMPLEX[0],
        Some(cost) => cost,
        None if is_complex => COMPLEX[0],
        None if is_trigonometric && element == Some(ElementType::F64) => WIDE_TRIGONOMETRY,
        None => FUNCTION,
    }
}

/// What is no polynomial.
fn simple(op: UnaryOp) -> Option<f64> {
    match op {
        UnaryOp::Abs | UnaryOp::Negate | UnaryOp::Not | UnaryOp::Sign | UnaryOp::Real | UnaryOp::Imag => Some(1.0),
        UnaryOp::IsFinite | UnaryOp::Ceil | UnaryOp::Floor | UnaryOp::Popcnt | UnaryOp::CountLeadingZeros => Some(2.0),
        UnaryOp::RoundNearestAfz | UnaryOp::RoundNearestEven => Some(2.0),
        UnaryOp::Sqrt => Some(6.0),
        UnaryOp::Rsqrt => Some(10.0),
        _ => None,
    }
}

/// Of an instruction that gives numbers of this type.
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

/// Whether it is known when the program is compiled, the same for all elements.
fn is_constant(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    match instruction.op {
        Op::Broadcast { .. } | Op::Convert => is_constant(computation, instruction.operands[0]),
        Op::Constant(_) => first_array(instruction).is_some_and(|array| array.element_count() == 1),
        _ => false,
    }
}
