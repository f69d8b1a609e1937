//! Converts between element types and numpy's names for them.

use fusebox_core::hlo::ElementType;

use super::NpzFault;

/// Returns the name of numpy's dtype for an element type. `numpy.save` writes this name on a
/// little-endian machine.
pub(super) fn descriptor(ty: ElementType) -> String {
    match ty {
        ElementType::Pred => "|b1".into(),
        ElementType::S8 => "|i1".into(),
        ElementType::U8 => "|u1".into(),
        ElementType::F16 | ElementType::F32 | ElementType::F64 => format!("<f{}", ty.byte_size()),
        ElementType::C64 | ElementType::C128 => format!("<c{}", ty.byte_size()),
        _ if ty.bits() >= 16 && ty.is_signed_integer() => format!("<i{}", ty.byte_size()),
        _ if ty.bits() >= 16 && ty.is_unsigned_integer() => format!("<u{}", ty.byte_size()),
        // Elements of types that numpy lacks are stored as raw bytes.
        _ => format!("|V{}", ty.byte_size()),
    }
}

/// Checks that the dtype `found` in a file corresponds to the element type `ty`.
pub(super) fn check(found: &str, ty: ElementType) -> Result<(), NpzFault> {
    let wanted = descriptor(ty);
    let same_kind = found.len() > 1 && found.get(1..) == wanted.get(1..);
    let order = found.chars().next().unwrap_or('?');
    let order_matters = !wanted.starts_with('|');
    if same_kind && (matches!(order, '<' | '=') || order == '|' || !order_matters) && order != '?' {
        return Ok(());
    }
    let hint = match () {
        () if same_kind && order == '>' => "; convert the array from big-endian to little-endian",
        () if wanted.contains('V') => "; store the raw bytes, as in array.view('V1') or array.view('V2')",
        () => "",
    };
    Err(NpzFault::Type { found: found.into(), wanted, element_type: ty.to_string(), hint })
}

/// Converts an element of one byte to an element of a literal. A `pred` becomes 0 or 1. An integer
/// narrower than a byte is extended to the whole byte.
pub(super) fn canonical(ty: ElementType, byte: u8) -> u8 {
    let bits = ty.bits();
    match ty {
        ElementType::Pred => u8::from(byte != 0),
        _ if bits >= 8 => byte,
        _ if ty.is_signed_integer() => ((byte << (8 - bits)) as i8 >> (8 - bits)) as u8,
        _ => byte & ((1 << bits) - 1),
    }
}
