//! Creates inputs for fusions, and compares results.

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, FloatFormat};
pub use fusebox_workshop::closeness::{Closeness, array_difference, difference, word};

use crate::fusions::Chance;

/// Returns an array of this shape. `bits` computes the bits of each scalar from the scalar's
/// position. A complex number consists of two scalars.
pub(crate) fn of_bits(shape: &ArrayShape, mut bits: impl FnMut(u64) -> u64) -> ArrayLiteral {
    let bytes = shape.element_type.real_part().byte_size();
    let count = shape.byte_size() as usize / bytes;
    let data = (0..count as u64).flat_map(|position| bits(position).to_le_bytes().into_iter().take(bytes));
    ArrayLiteral { element_type: shape.element_type, dims: shape.dims.clone(), data: data.collect::<Vec<u8>>().into() }
}

/// Returns an array of this shape. `value` computes each scalar from the scalar's position. A
/// complex number consists of two scalars.
pub fn filled(shape: &ArrayShape, mut value: impl FnMut(u64) -> f64) -> ArrayLiteral {
    let part = shape.element_type.real_part();
    of_bits(shape, |position| match FloatFormat::of(part) {
        Some(format) => format.encode(value(position)),
        None if part == ElementType::Pred => value(position) as u64 & 1,
        None => value(position) as i64 as u64,
    })
}

/// Returns a pseudorandom whole number, at least 0 and less than `count`. The position and the seed
/// determine this number.
pub fn scattered(position: u64, seed: u64, count: u64) -> f64 {
    (((position + 17 * seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % count) as f64
}

/// Returns an array with values from 0 to 6. Different seeds yield different arrays.
pub fn small_integers(shape: &ArrayShape, seed: u64) -> ArrayLiteral {
    filled(shape, |position| scattered(position, seed, 7))
}

/// Returns an array of random values. Floats are multiples of 1/8, at least -4 and less than 4.
/// About half of the integers are small, and the rest come from the whole range of the type.
pub fn mixed(shape: &ArrayShape, chance: &mut Chance) -> ArrayLiteral {
    let scalar = shape.element_type.real_part();
    of_bits(shape, |_| match FloatFormat::of(scalar) {
        Some(format) => format.encode(chance.below(64) as f64 / 8.0 - 4.0),
        None if scalar == ElementType::Pred => chance.below(2) as u64,
        None if chance.once_in(2) => chance.below(8) as u64,
        None => chance.bits(),
    })
}
