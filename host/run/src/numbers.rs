//! Converts elements of arrays to numbers for display.

use std::io::{self, Write};

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat};

/// Writes one element in the notation of HLO.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_element(out: &mut dyn Write, array: &ArrayLiteral, index: usize) -> io::Result<()> {
    let scalar = array.element_type.real_part();
    let part = |number: usize| &array.data[number * scalar.byte_size()..(number + 1) * scalar.byte_size()];
    if !array.element_type.is_complex() {
        return write_scalar(out, scalar, part(index));
    }
    out.write_all(b"(")?;
    write_scalar(out, scalar, part(2 * index))?;
    out.write_all(b", ")?;
    write_scalar(out, scalar, part(2 * index + 1))?;
    out.write_all(b")")
}

fn write_scalar(out: &mut dyn Write, element_type: ElementType, bytes: &[u8]) -> io::Result<()> {
    match element_type {
        ElementType::Pred => write!(out, "{}", bytes[0] != 0),
        ElementType::F32 => write!(out, "{}", f32::from_bits(unsigned(bytes) as u32)),
        t if t.is_float() => write!(out, "{}", value(t, bytes)),
        t if t.is_signed_integer() => write!(out, "{}", signed(bytes)),
        _ => write!(out, "{}", unsigned(bytes)),
    }
}

/// Returns one real element as a number.
pub fn value(element_type: ElementType, bytes: &[u8]) -> f64 {
    match (element_type, FloatFormat::of(element_type)) {
        (ElementType::F64, _) => f64::from_bits(unsigned(bytes)),
        (ElementType::F32, _) => f64::from(f32::from_bits(unsigned(bytes) as u32)),
        (_, Some(format)) => format.decode(unsigned(bytes)),
        (t, None) if t.is_signed_integer() => signed(bytes) as f64,
        _ => unsigned(bytes) as f64,
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}

fn signed(bytes: &[u8]) -> i64 {
    let shift = 64 - 8 * bytes.len() as u32;
    (unsigned(bytes) as i64) << shift >> shift
}
