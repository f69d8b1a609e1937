//! Choice of the instructions that multiply, in vector registers or in tile registers.

use fusebox_core::device::{DeviceDescription, NarrowProducts};
use fusebox_core::hlo::{ElementType, FloatFormat};

use crate::problem::{ProductProblem, ProductSizes};

/// Number of rows of a tile register. A tile register of sums has the same number of columns.
pub const TILE_LINES: i64 = 16;
/// Bytes of a row of a tile register.
pub const TILE_ROW_BYTES: i64 = 64;
/// Bytes of a word. A word holds the elements of a few neighbouring steps. One instruction
/// multiplies two words element by element and adds the products.
const GROUP_BYTES: i64 = 4;
/// Bytes of the vector registers in which instructions multiply words.
const WORD_REGISTER_BYTES: u32 = 64;
/// Number added to signed bytes to make them unsigned.
pub const OFFSET: i64 = 128;
/// Least number of rows and of columns for which products of tiles or words are faster than
/// products of vectors.
const LEAST_LINES: i64 = 8;
/// Least number of steps for which products of tiles or words are faster than products of vectors.
const LEAST_STEPS: i64 = 16;

/// Kinds of instructions that multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicroKernel {
    /// Multiplies an element of the left operand by a row of the right operand, in vector
    /// registers.
    Vectors,
    /// Multiplies a word of the left operand (a few neighbouring steps) by words of the right
    /// operand, in vector registers.
    Words,
    /// Multiplies tiles of both operands, in tile registers.
    Tiles,
}

/// The instructions that multiply, and the types to which packing converts the operands' elements.
#[derive(Clone, Copy, Debug)]
pub struct MicroProduct {
    pub kernel: MicroKernel,
    pub factors: [ElementType; 2],
    /// Number of separately packed parts of an element: two for complex numbers, else one.
    pub planes: i64,
    /// Whether packing adds [`OFFSET`] to the left operand's bytes.
    pub is_offset: bool,
}

impl MicroProduct {
    /// Chooses tile registers if the product is large and the machine has tile registers for the
    /// operands' elements. Chooses words if the product is large and the machine has no tile
    /// registers, but instructions for words of the operands' elements. In all other cases, chooses
    /// vectors.
    pub fn of(problem: &ProductProblem, device: &DeviceDescription) -> MicroProduct {
        let ProductSizes { rows, columns, steps, .. } = problem.sizes;
        let is_large = rows.min(columns) >= LEAST_LINES && steps >= LEAST_STEPS;
        let planes = if problem.sum.is_complex() { 2 } else { 1 };
        let has_registers = device.register_bytes >= WORD_REGISTER_BYTES;
        let words = if has_registers { device.word_products } else { NarrowProducts::default() };
        let micro = |kernel, factors| MicroProduct { kernel, factors, planes, is_offset: false };
        match [device.tile_products, words].map(|available| narrow(problem, available).filter(|_| is_large)) {
            [Some(factors), _] => micro(MicroKernel::Tiles, factors),
            [_, Some([ElementType::S8, ElementType::S8])] => {
                MicroProduct { is_offset: true, ..micro(MicroKernel::Words, [ElementType::U8, ElementType::S8]) }
            }
            [_, Some(factors)] if factors != [ElementType::U8; 2] => micro(MicroKernel::Words, factors),
            _ => micro(MicroKernel::Vectors, [problem.factor; 2]),
        }
    }

    /// Whether neighbouring steps are packed adjacently, so that one instruction multiplies them.
    pub fn multiplies_words(self) -> bool {
        self.kernel != MicroKernel::Vectors
    }

    /// Returns the bytes of a packed element.
    pub fn bytes(self) -> i64 {
        self.factors[0].byte_size() as i64
    }

    /// Returns the number of neighbouring steps that are packed adjacently.
    pub fn group(self) -> i64 {
        if self.multiplies_words() { GROUP_BYTES / self.bytes() } else { 1 }
    }

    /// Returns the number of steps that a tile register holds.
    pub fn tile_steps(self) -> i64 {
        TILE_ROW_BYTES / self.bytes()
    }
}

/// Returns the narrow types to which packing converts the operands' elements. Returns `None` if
/// `available` has no instruction for these types or if a conversion is not exact.
fn narrow(problem: &ProductProblem, available: NarrowProducts) -> Option<[ElementType; 2]> {
    let [left, right] = [0, 1].map(|side| problem.operands[side].element);
    // Packing copies runs along steps as lines. It does not regroup runs along lines by steps.
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

/// Whether `bf16` represents every number of the type as a normal number or zero. Packing converts
/// a type to `bf16` only if this function returns true, because the instructions treat subnormal
/// numbers as zero. XLA:CPU also treats subnormal numbers of `bf16` as zero (docs/decisions.md),
/// therefore `bf16` itself is accepted.
fn is_exact_in_bf16(element: ElementType) -> bool {
    let (Some(narrow), Some(wide)) = (FloatFormat::of(element), FloatFormat::of(ElementType::BF16)) else {
        return false;
    };
    // The exponent of the smallest subnormal number.
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
