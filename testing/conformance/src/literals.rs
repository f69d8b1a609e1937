//! Inputs, and results compared.

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, FloatFormat, Literal};

use crate::fusions::Chance;

/// How close results must be. Everything but floats is compared exactly always.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closeness {
    /// The same bits.
    Bits,
    /// The same numbers: zeros of either sign are, and NaNs.
    Numbers,
    /// A few units in the last place of the type.
    Units,
    /// Off by so much of one plus the expected number.
    Within(f64),
}

/// Where two results differ first, in words; `None` if they do not.
pub fn difference(found: &Literal, expected: &Literal, closeness: Closeness) -> Option<String> {
    let (found, expected) = (found.leaves(), expected.leaves());
    if found.len() != expected.len() {
        return Some(format!("{} results instead of {}", found.len(), expected.len()));
    }
    found.iter().zip(expected).enumerate().find_map(|(result, (found, expected))| {
        let differs = match (found.as_array(), expected.as_array()) {
            (Some(found), Some(expected)) => array_difference(found, expected, closeness)?,
            _ if **found == *expected => return None,
            _ => format!("{found:?} instead of {expected:?}"),
        };
        Some(format!("result {result}: {differs}"))
    })
}

pub fn array_difference(found: &ArrayLiteral, expected: &ArrayLiteral, closeness: Closeness) -> Option<String> {
    if found.shape() != expected.shape() {
        return Some(format!("{} instead of {}", found.shape(), expected.shape()));
    }
    if found.data == expected.data {
        return None;
    }
    let scalar = found.element_type.real_part();
    let size = scalar.byte_size();
    let parts = found.data.chunks(size).zip(expected.data.chunks(size));
    let (part, (a, b)) = parts.enumerate().find(|(_, (a, b))| !is_close(scalar, a, b, closeness))?;
    let mut index = Vec::new();
    let mut rest = part as i64 / (found.element_type.byte_size() / size) as i64;
    for &dim in found.dims.iter().rev() {
        index.insert(0, rest % dim.max(1));
        rest /= dim.max(1);
    }
    let show = |bytes: &[u8]| match FloatFormat::of(scalar) {
        Some(format) => format!("{:e}", format.decode(word(bytes))),
        None => word(bytes).to_string(),
    };
    Some(format!("element {index:?} is {} instead of {}", show(a), show(b)))
}

fn is_close(element_type: ElementType, found: &[u8], expected: &[u8], closeness: Closeness) -> bool {
    if found == expected {
        return true;
    }
    let Some(format) = FloatFormat::of(element_type) else { return false };
    let (found, expected) = (format.decode(word(found)), format.decode(word(expected)));
    let tolerance = match (closeness, element_type) {
        (Closeness::Bits, _) => return false,
        (Closeness::Numbers, _) => 0.0,
        (Closeness::Within(tolerance), _) => tolerance,
        (Closeness::Units, ElementType::F64) => 1e-13,
        (Closeness::Units, ElementType::F32) => 4e-6,
        (Closeness::Units, ElementType::F16) => 2e-3,
        (Closeness::Units, _) => 2e-2,
    };
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= tolerance * (1.0 + expected.abs())
}

/// The bits of a scalar.
pub fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// An array of the scalars (parts of complex numbers too) that `value` gives for their positions.
pub fn filled(shape: &ArrayShape, mut value: impl FnMut(u64) -> f64) -> ArrayLiteral {
    let part = shape.element_type.real_part();
    let count = shape.byte_size() as usize / part.byte_size();
    let data = (0..count as u64).flat_map(|position| {
        let value = value(position);
        let bits = match FloatFormat::of(part) {
            Some(format) => format.encode(value),
            None if part == ElementType::Pred => value as u64 & 1,
            None => value as i64 as u64,
        };
        bits.to_le_bytes()[..part.byte_size()].to_vec()
    });
    ArrayLiteral::new(shape.element_type, shape.dims.clone(), data.collect::<Vec<u8>>()).unwrap()
}

/// Numbers from 0 to below `count`, in no order, other ones for every seed.
pub fn scattered(position: u64, seed: u64, count: u64) -> f64 {
    (((position + 17 * seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % count) as f64
}

/// Values 0 to 6 of any type, different for every seed.
pub fn small_integers(shape: &ArrayShape, seed: u64) -> ArrayLiteral {
    filled(shape, |position| scattered(position, seed, 7))
}

/// Floats between -4 and 4 in steps of 1/8, integers of their whole range or small by chance.
pub fn mixed(shape: &ArrayShape, chance: &mut Chance) -> ArrayLiteral {
    let scalar = shape.element_type.real_part();
    let count = shape.byte_size() as usize / scalar.byte_size();
    let mut element = || match FloatFormat::of(scalar) {
        Some(format) => format.encode(chance.below(64) as f64 / 8.0 - 4.0),
        None if scalar == ElementType::Pred => chance.below(2) as u64,
        None if chance.once_in(2) => chance.below(8) as u64,
        None => chance.bits(),
    };
    let data: Vec<u8> = (0..count).flat_map(|_| element().to_le_bytes()[..scalar.byte_size()].to_vec()).collect();
    ArrayLiteral::new(shape.element_type, shape.dims.clone(), data).unwrap()
}
