//! Floats of every type to and from their bits, and rounded. What core says of formats, but with the payload of NaNs kept
//! and ties between powers of two as XLA has them.

use fusebox_core::hlo::{ElementType, FloatFormat, Specials};

const F64: FloatFormat =
    FloatFormat { exponent_bits: 11, mantissa_bits: 52, bias: 1023, specials: Specials::Ieee, signed: true };

/// The format of a float type; for other types that of `f64`.
pub(crate) fn float_format(ty: ElementType) -> FloatFormat {
    FloatFormat::of(ty).unwrap_or(F64)
}

/// The value of a bit pattern. NaNs keep sign and payload.
pub(crate) fn decode_float(format: FloatFormat, bits: u64) -> f64 {
    if format.specials != Specials::Ieee || !format.is_nan(bits) {
        return format.decode(bits);
    }
    let sign = if bits & format.sign_bit() == 0 { 0 } else { F64.sign_bit() };
    let payload = bits & ((1 << format.mantissa_bits) - 1);
    f64::from_bits(sign | F64.infinity_bits() | payload << (F64.mantissa_bits - format.mantissa_bits))
}

/// The bit pattern of the value nearest to `x`.
pub(crate) fn encode_float(format: FloatFormat, x: f64) -> u64 {
    if !format.signed {
        return format.encode(round_to_power_of_two(x));
    }
    if format.specials != Specials::Ieee || !x.is_nan() {
        return format.encode(x);
    }
    let sign = if x.is_sign_negative() { format.sign_bit() } else { 0 };
    let payload = (x.to_bits() & ((1 << F64.mantissa_bits) - 1)) >> (F64.mantissa_bits - format.mantissa_bits);
    // Without a payload it would be infinity.
    let payload = if payload == 0 { 1 << (format.mantissa_bits - 1) } else { payload };
    sign | format.infinity_bits() | payload
}

/// The value of this format nearest to `x`, ties to even. A NaN stays; where there is none it becomes negative zero,
/// whatever its sign: that means nothing.
pub(crate) fn round_float(format: FloatFormat, x: f64) -> f64 {
    match format.specials {
        _ if format.mantissa_bits == F64.mantissa_bits => x,
        Specials::None if x.is_nan() => -0.0,
        _ if x.is_nan() => x,
        _ => format.decode(encode_float(format, x)),
    }
}

/// Ties go up, as XLA has it. What is not positive and finite is NaN.
fn round_to_power_of_two(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 || x.is_infinite() {
        return f64::NAN;
    }
    let (smallest, largest) = (2f64.powi(-127), 2f64.powi(127));
    let lower = f64::from_bits(x.to_bits() & F64.infinity_bits());
    let rounded = if x >= 1.5 * lower { 2.0 * lower } else { lower };
    if rounded > largest { f64::NAN } else { rounded.max(smallest) }
}
