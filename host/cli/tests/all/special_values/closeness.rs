//! Decides whether two results are equal, and prints elements.

use fusebox_core::hlo::{ElementType, FloatFormat};

/// Returns the floats of a value: two for a complex number, none for an integer.
fn decode(ty: ElementType, bytes: &[u8]) -> Vec<f64> {
    let part = ty.real_part();
    let Some(format) = FloatFormat::of(part) else { return Vec::new() };
    let number = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        format.decode(u64::from_le_bytes(wide))
    };
    bytes.chunks(part.byte_size()).map(number).collect()
}

/// Formats a value. Floats are decimal, and integers are hexadecimal.
pub fn show(ty: ElementType, bytes: &[u8]) -> String {
    match decode(ty, bytes).as_slice() {
        [] => bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect(),
        [re, im] => format!("{re:?}{im:+?}i"),
        numbers => format!("{:?}", numbers[0]),
    }
}

/// Whether two values are equal or close. Integers and floats of at most 8 bits must be equal.
/// Other floats may differ by some units in the last place. The allowed difference of complex
/// numbers is relative to their magnitude, and that of subnormal numbers is absolute. Infinities,
/// NaN (except its sign and payload) and the signs of zeros must always agree.
pub fn is_close(ty: ElementType, found: &[u8], expected: &[u8]) -> bool {
    if found == expected {
        return true;
    }
    let (relative, absolute) = match ty.real_part() {
        // The error of a complex power grows with the exponent.
        ElementType::F64 if ty.is_complex() => (4e-15, 1e-307),
        ElementType::F64 => (2e-15, 1e-307),
        ElementType::F32 => (5e-7, 1.2e-38),
        ElementType::F16 => (1e-3, 6e-8),
        ElementType::BF16 => (8e-3, 1.2e-38),
        part if part.is_float() => (0.0, 0.0),
        _ => return false,
    };
    let (found, expected) = (decode(ty, found), decode(ty, expected));
    let size = expected.iter().filter(|x| x.is_finite()).fold(0f64, |size, x| size.max(x.abs()));
    found.iter().zip(&expected).all(|(&a, &b)| match (a.is_nan(), b.is_nan()) {
        (false, false) if a == 0.0 && b == 0.0 => a.is_sign_negative() == b.is_sign_negative(),
        (false, false) => a == b || (a - b).abs() <= relative * if ty.is_complex() { size } else { b.abs() } + absolute,
        (a, b) => a == b,
    })
}
