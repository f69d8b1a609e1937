//! What multiplies: registers of a row each, or tile registers.

use fusebox_core::device::{DeviceDescription, NarrowProducts};
use fusebox_core::hlo::{ElementType, FloatFormat};

use crate::problem::{Problem, Sizes};

/// Rows of a tile register, and columns of sums.
pub const TILE_LINES: i64 = 16;
/// Bytes of a row of a tile register.
pub const TILE_ROW_BYTES: i64 = 64;
/// Bytes that are multiplied with each other and added up at once: elements of neighbouring steps.
const GROUP_BYTES: i64 = 4;
/// Bytes of the vector registers that words are multiplied in.
const WORD_REGISTER_BYTES: u32 = 64;
/// What is added to bytes with a sign, so that they have none.
pub const OFFSET: i64 = 128;
/// Rows and columns from which tile registers are full enough to be ahead.
const LEAST_LINES: i64 = 8;
/// Steps from which they are.
const LEAST_STEPS: i64 = 16;

/// Instructions that multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicroKernel {
    /// An element of the left operand times a row of the right one, in vector registers.
    Vectors,
    /// A word of the left operand, of some neighbouring steps, times words of the right one, in vector registers.
    Words,
    /// Tiles of both, in tile registers.
    Tiles,
}

/// What multiplies, and what the operands' elements become for it while they are packed.
#[derive(Clone, Copy, Debug)]
pub struct Micro {
    pub kernel: MicroKernel,
    pub factors: [ElementType; 2],
    /// Numbers that an element is packed as, each kind of them by itself: two of a complex one.
    pub planes: i64,
    /// Whether the left operand's bytes have [`OFFSET`] added to them.
    pub is_offset: bool,
}

impl Micro {
    /// Tile registers where the machine has them for such elements and there is enough to fill them, words where it multiplies these.
    pub fn of(problem: &Problem, device: &DeviceDescription) -> Micro {
        let Sizes { rows, columns, steps, .. } = problem.sizes;
        let is_large = rows.min(columns) >= LEAST_LINES && steps >= LEAST_STEPS;
        let planes = if problem.sum.is_complex() { 2 } else { 1 };
        let has_registers = device.register_bytes >= WORD_REGISTER_BYTES;
        let words = if has_registers { device.word_products } else { NarrowProducts::default() };
        let micro = |kernel, factors| Micro { kernel, factors, planes, is_offset: false };
        match [device.tile_products, words].map(|available| narrow(problem, available).filter(|_| is_large)) {
            [Some(factors), _] => micro(MicroKernel::Tiles, factors),
            [_, Some([ElementType::S8, ElementType::S8])] => {
                Micro { is_offset: true, ..micro(MicroKernel::Words, [ElementType::U8, ElementType::S8]) }
            }
            [_, Some(factors)] if factors != [ElementType::U8; 2] => micro(MicroKernel::Words, factors),
            _ => micro(MicroKernel::Vectors, [problem.factor; 2]),
        }
    }

    /// Whether neighbouring steps are packed side by side, to be multiplied at once.
    pub fn multiplies_words(self) -> bool {
        self.kernel != MicroKernel::Vectors
    }

    /// Bytes of a packed element.
    pub fn bytes(self) -> i64 {
        self.factors[0].byte_size() as i64
    }

    /// Neighbouring steps that are packed side by side.
    pub fn group(self) -> i64 {
        if self.multiplies_words() { GROUP_BYTES / self.bytes() } else { 1 }
    }

    /// Steps of a tile register.
    pub fn tile_steps(self) -> i64 {
        TILE_ROW_BYTES / self.bytes()
    }
}

/// What the elements become where so narrow ones are multiplied, if these are exact.
fn narrow(problem: &Problem, available: NarrowProducts) -> Option<[ElementType; 2]> {
    let [left, right] = [0, 1].map(|side| problem.operands[side].element);
    // Runs are copied as lines of steps; those of lines would have to be put into groups.
    if problem.operands.iter().any(|operand| operand.runs.is_some() && !operand.runs_along_steps) {
        return None;
    }
    match problem.sum {
        ElementType::F32 if available.bf16 => {
            (is_exact_in_bf16(left) && is_exact_in_bf16(right)).then_some([ElementType::BF16; 2])
        }
        ElementType::S32 if available.int8 => Some([as_byte(left)?, as_byte(right)?]),
        _ => None,
    }
}

/// Whether `bf16` has every number of the type, as a normal one or zero: such products take others for zero. So does XLA:CPU
/// (docs/decisions.md), which is why `bf16` itself may be multiplied by them.
fn is_exact_in_bf16(element: ElementType) -> bool {
    let (Some(narrow), Some(wide)) = (FloatFormat::of(element), FloatFormat::of(ElementType::BF16)) else {
        return false;
    };
    // Of a type with subnormal numbers, the smallest.
    let least = 1 - narrow.bias - narrow.mantissa_bits as i32;
    element == ElementType::BF16
        || narrow.mantissa_bits <= wide.mantissa_bits && narrow.exponent_bits < wide.exponent_bits && least > -wide.bias
}

fn as_byte(element: ElementType) -> Option<ElementType> {
    match element {
        _ if element.bits() > 8 => None,
        _ if element.is_signed_integer() => Some(ElementType::S8),
        _ if element.is_unsigned_integer() => Some(ElementType::U8),
        _ => None,
    }
}
