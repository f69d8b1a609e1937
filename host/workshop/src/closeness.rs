//! Compares results, and decides whether rounding explains a difference.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat, Literal};
use fusebox_core::random::SplitMix64;

/// The largest difference between two results that count as equal. Only floats may differ; all
/// other types are compared exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closeness {
    /// Identical bits.
    Bits,
    /// Equal numbers: zeros of either sign are equal, and all NaNs are equal.
    Numbers,
    /// A difference of at most a few units in the last place of the type.
    Units,
    /// A difference of at most this number times (1 + the magnitude of the expected value).
    Within(f64),
}

/// Describes the first difference of two results; `None` if they agree.
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
    let tolerance = match closeness {
        Closeness::Bits => return false,
        Closeness::Numbers => 0.0,
        Closeness::Within(tolerance) => tolerance,
        Closeness::Units => few_units(element_type),
    };
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= tolerance * (1.0 + expected.abs())
}

/// Returns the tolerance of an element type: a few units in the last place of the number 1.
fn few_units(element_type: ElementType) -> f64 {
    match element_type {
        ElementType::F64 => 1e-13,
        ElementType::F32 => 4e-6,
        ElementType::F16 => 2e-3,
        _ => 2e-2,
    }
}

/// Converts the bytes of a scalar, which are little-endian, to its bits.
pub fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Rounding may change a result by at most this number times the change that the result shows if
/// the last bits of the inputs are changed. The number is large, because every step of a
/// computation rounds, but the inputs are changed only once.
const STEPS: f64 = 64.0;

/// Describes the first difference between two results that rounding does not explain; `None` if
/// rounding explains all differences. `jittered` computes two results: one from the inputs, and one
/// from inputs whose last bits are changed ([`jitter`]). The difference of the two results of
/// `jittered` shows how strongly the computation amplifies rounding. `jittered` is called only if
/// `found` and `expected` differ by more than a few units in the last place.
///
/// # Errors
/// If `jittered` fails.
pub fn difference_beyond_rounding<E>(
    found: &Literal,
    expected: &Literal,
    jittered: impl FnOnce() -> Result<[Literal; 2], E>,
) -> Result<Option<String>, E> {
    if difference(found, expected, Closeness::Units).is_none() {
        return Ok(None);
    }
    let changes = jittered()?;
    let [from, to] = changes.each_ref().map(Literal::leaves);
    let leaves = found.leaves().into_iter().zip(expected.leaves()).zip(from.into_iter().zip(to));
    Ok(leaves.enumerate().find_map(|(result, ((found, expected), (from, to)))| {
        let (found, expected) = (found.as_array()?, expected.as_array()?);
        let units = few_units(expected.element_type.real_part());
        let change = largest_change(from.as_array()?, to.as_array()?);
        let closeness = Closeness::Within(units.max(STEPS * change));
        Some(format!("result {result}: {}", array_difference(found, expected, closeness)?))
    }))
}

/// Divides the change of each element by (1 + the element's magnitude), and returns the largest
/// quotient. Ignores changes that are not finite.
fn largest_change(from: &ArrayLiteral, to: &ArrayLiteral) -> f64 {
    let scalar = from.element_type.real_part();
    let Some(format) = FloatFormat::of(scalar) else { return 0.0 };
    let numbers = |array: &ArrayLiteral| {
        array.data.chunks(scalar.byte_size()).map(|bytes| format.decode(word(bytes))).collect::<Vec<f64>>()
    };
    let changes = numbers(from).into_iter().zip(numbers(to)).map(|(from, to)| (to - from).abs() / (1.0 + from.abs()));
    changes.filter(|change| change.is_finite()).fold(0.0, f64::max)
}

/// Returns a copy of the values in which the last bit of about half of the finite nonzero floats is
/// flipped.
pub fn jitter(value: &Literal) -> Literal {
    match value {
        Literal::Tuple(elements) => Literal::Tuple(elements.iter().map(jitter).collect()),
        Literal::Array(array) => Literal::Array(jittered(array)),
        Literal::Token => Literal::Token,
    }
}

fn jittered(array: &ArrayLiteral) -> ArrayLiteral {
    let scalar = array.element_type.real_part();
    let Some(format) = FloatFormat::of(scalar) else { return array.clone() };
    let mut random = SplitMix64(array.data.len() as u64);
    let mut data = array.data.to_vec();
    for bytes in data.chunks_mut(scalar.byte_size()) {
        let number = format.decode(word(bytes));
        if number.is_finite() && number != 0.0 && random.bits() >> 63 == 1 {
            bytes[0] ^= 1;
        }
    }
    ArrayLiteral { data: data.into(), ..array.clone() }
}
