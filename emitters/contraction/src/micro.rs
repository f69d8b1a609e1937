//! What multiplies: registers of a row each, or tile registers.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ElementType, FloatFormat};

use crate::problem::{Problem, Sizes};

/// Rows of a tile register, and columns of sums.
pub const TILE_LINES: i64 = 16;
/// Bytes of a row of a tile register.
pub const TILE_ROW_BYTES: i64 = 64;
/// Bytes that are multiplied with each other and added up at once: elements of neighbouring steps.
const GROUP_BYTES: i64 = 4;
/// Rows and columns from which tile registers are full enough to be ahead.
const LEAST_LINES: i64 = 8;
/// Steps from which they are.
const LEAST_STEPS: i64 = 16;

/// Instructions that multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicroKernel {
    /// An element of the left operand times a row of the right one, in vector registers.
    Vectors,
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
}

impl Micro {
    /// Tile registers where the machine has them for such elements and there is enough to fill them.
    pub fn of(problem: &Problem, device: &DeviceDescription) -> Micro {
        let Sizes { rows, columns, steps, .. } = problem.sizes;
        let is_large = rows.min(columns) >= LEAST_LINES && steps >= LEAST_STEPS;
        let planes = if problem.sum.is_complex() { 2 } else { 1 };
        match in_tiles(problem, device) {
            Some(factors) if is_large => Micro { kernel: MicroKernel::Tiles, factors, planes },
            _ => Micro { kernel: MicroKernel::Vectors, factors: [problem.factor; 2], planes },
        }
    }

    pub fn is_of_tiles(self) -> bool {
        self.kernel == MicroKernel::Tiles
    }

    /// Bytes of a packed element.
    pub fn bytes(self) -> i64 {
        self.factors[0].byte_size() as i64
    }

    /// Neighbouring steps that are packed side by side.
    pub fn group(self) -> i64 {
        if self.is_of_tiles() { GROUP_BYTES / self.bytes() } else { 1 }
    }

    /// Steps of a tile register.
    pub fn tile_steps(self) -> i64 {
        TILE_ROW_BYTES / self.bytes()
    }
}

/// What the elements become in tile registers, if these hold them exactly.
fn in_tiles(problem: &Problem, device: &DeviceDescription) -> Option<[ElementType; 2]> {
    let [left, right] = [0, 1].map(|side| problem.operands[side].element);
    // Runs are copied as lines of steps; those of lines would have to be put into groups.
    if problem.operands.iter().any(|operand| operand.runs.is_some() && !operand.runs_along_steps) {
        return None;
    }
    match problem.sum {
        ElementType::F32 if device.tile_products.bf16 => {
            (is_exact_in_bf16(left) && is_exact_in_bf16(right)).then_some([ElementType::BF16; 2])
        }
        ElementType::S32 if device.tile_products.int8 => Some([as_byte(left)?, as_byte(right)?]),
        _ => None,
    }
}

/// Whether `bf16` has every number of the type, as a normal one or zero: tile registers take others for zero. So does XLA:CPU
/// (docs/decisions.md), which is why `bf16` itself may be multiplied in them.
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
