//! Random elements of arrays.

use fusebox_core::hlo::{ElementType, FloatFormat};

use super::Random;

/// Returns random elements. Equal elements, zeros of both signs, extreme values and NaNs are
/// frequent.
pub fn elements(random: &mut Random, ty: ElementType, count: usize) -> Vec<u8> {
    let few = random.bits().is_multiple_of(2);
    let mut bytes = Vec::new();
    for _ in 0..count * (ty.byte_size() / ty.real_part().byte_size()) {
        let part = ty.real_part();
        let bits = element(random, part, few);
        bytes.extend_from_slice(&bits.to_le_bytes()[..part.byte_size()]);
    }
    bytes
}

fn element(random: &mut Random, ty: ElementType, few: bool) -> u64 {
    let any = random.bits();
    let Some(format) = FloatFormat::of(ty) else {
        let narrow = if few { any % 5 } else { any };
        let unused = 64 - ty.bits();
        return if ty.is_signed_integer() {
            ((narrow << unused) as i64 >> unused) as u64 & (u64::MAX >> (64 - 8 * ty.byte_size()))
        } else {
            narrow << unused >> unused
        };
    };
    // All NaNs are quiet, because the interpreter does not preserve signalling NaNs.
    let special = [0, format.sign_bit(), format.max_finite_bits(), format.encode(1.0), format.encode(-1.0)];
    let nan = format.nan_bits().unwrap_or(0);
    match random.bits() % 8 {
        0..5 if few => special[(any % 5) as usize],
        5 => nan,
        6 if format.signed => nan | format.sign_bit(),
        _ => format.encode(random.unit() * 8.0 - 4.0),
    }
}
