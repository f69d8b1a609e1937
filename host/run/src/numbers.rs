//! Elements of arrays as numbers, for people.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat};

/// All elements as text, as HLO would write them.
pub fn texts(array: &ArrayLiteral) -> Vec<String> {
    let scalar = array.element_type.real_part();
    let scalars: Vec<String> = array.data.chunks_exact(scalar.byte_size()).map(|b| text(scalar, b)).collect();
    match array.element_type.is_complex() {
        true => scalars.chunks_exact(2).map(|pair| format!("({}, {})", pair[0], pair[1])).collect(),
        false => scalars,
    }
}

fn text(element_type: ElementType, bytes: &[u8]) -> String {
    match element_type {
        ElementType::Pred => (bytes[0] != 0).to_string(),
        ElementType::F32 => f32::from_bits(unsigned(bytes) as u32).to_string(),
        t if t.is_float() => value(t, bytes).to_string(),
        t if t.is_signed_integer() => signed(bytes).to_string(),
        _ => unsigned(bytes).to_string(),
    }
}

/// One real element as a number.
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
