//! Compares conversions of floats of at most 16 bits with the definition of these conversions.

use fusebox_core::ir::OpKind;
use fusebox_lowering::math;

use crate::jit::elementwise::{apply, apply2};

/// A float format, described by its exponent, mantissa and bias, and by the meaning of the topmost
/// codes.
#[derive(Clone, Copy)]
struct Format {
    name: &'static str,
    exponent: u32,
    mantissa: u32,
    bias: i32,
    top: Top,
}

#[derive(Clone, Copy, PartialEq)]
enum Top {
    Ieee,
    NanOnly,
    Fnuz,
    Nothing,
}

const FORMATS: [Format; 12] = [
    Format { name: "f16", exponent: 5, mantissa: 10, bias: 15, top: Top::Ieee },
    Format { name: "bf16", exponent: 8, mantissa: 7, bias: 127, top: Top::Ieee },
    Format { name: "f8E5M2", exponent: 5, mantissa: 2, bias: 15, top: Top::Ieee },
    Format { name: "f8E4M3", exponent: 4, mantissa: 3, bias: 7, top: Top::Ieee },
    Format { name: "f8E3M4", exponent: 3, mantissa: 4, bias: 3, top: Top::Ieee },
    Format { name: "f8E4M3FN", exponent: 4, mantissa: 3, bias: 7, top: Top::NanOnly },
    Format { name: "f8E5M2FNUZ", exponent: 5, mantissa: 2, bias: 16, top: Top::Fnuz },
    Format { name: "f8E4M3FNUZ", exponent: 4, mantissa: 3, bias: 8, top: Top::Fnuz },
    Format { name: "f8E4M3B11FNUZ", exponent: 4, mantissa: 3, bias: 11, top: Top::Fnuz },
    Format { name: "f6E2M3FN", exponent: 2, mantissa: 3, bias: 1, top: Top::Nothing },
    Format { name: "f6E3M2FN", exponent: 3, mantissa: 2, bias: 3, top: Top::Nothing },
    Format { name: "f4E2M1FN", exponent: 2, mantissa: 1, bias: 1, top: Top::Nothing },
];

impl Format {
    fn bits(self) -> u32 {
        1 + self.exponent + self.mantissa
    }

    fn value(self, code: u32) -> f64 {
        let sign = 1 << (self.bits() - 1);
        let magnitude = code & (sign - 1);
        let (exponent, mantissa) = (magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1));
        let top = exponent == (1 << self.exponent) - 1;
        let value = match self.top {
            Top::Ieee if top => return if mantissa > 0 { f64::NAN } else { signed(f64::INFINITY, code & sign != 0) },
            Top::NanOnly if magnitude == sign - 1 => return f64::NAN,
            Top::Fnuz if code == sign => return f64::NAN,
            _ if exponent == 0 => f64::from(mantissa) * 2f64.powi(1 - self.bias - self.mantissa as i32),
            _ => {
                let significand = 1.0 + f64::from(mantissa) / 2f64.powi(self.mantissa as i32);
                significand * 2f64.powi(exponent as i32 - self.bias)
            }
        };
        signed(value, code & sign != 0)
    }

    /// Finds the code nearest to `value` by search. Ties go to the even code.
    fn nearest(self, value: f64) -> u32 {
        let sign = 1u32 << (self.bits() - 1);
        if value.is_nan() {
            return match self.top {
                Top::Fnuz | Top::Nothing => sign,
                Top::NanOnly => sign - 1,
                Top::Ieee => ((1 << self.exponent) - 1) << self.mantissa | 1 << (self.mantissa - 1),
            };
        }
        let largest = (0..sign).rev().find(|&code| self.value(code).is_finite()).unwrap();
        // Find the first code for which the midpoint between the code and its successor is at least
        // the magnitude.
        let magnitude = value.abs();
        let (mut low, mut high) = (0, largest);
        while low < high {
            let middle = (low + high) / 2;
            if self.value(middle + 1) <= magnitude { low = middle + 1 } else { high = middle }
        }
        let step = self.value(largest) - self.value(largest - 1);
        let next = if low == largest { self.value(largest) + step } else { self.value(low + 1) };
        let (down, up) = (magnitude - self.value(low), next - magnitude);
        let rounded = if down > up || (down == up && low % 2 == 1) { low + 1 } else { low };
        let rounded = if rounded > largest {
            match self.top {
                Top::Nothing => largest,
                Top::Fnuz => return sign,
                Top::Ieee | Top::NanOnly => largest + 1,
            }
        } else {
            rounded
        };
        let negative = value.is_sign_negative() && !(self.top == Top::Fnuz && rounded == 0);
        rounded | if negative { sign } else { 0 }
    }
}

fn signed(value: f64, negative: bool) -> f64 {
    if negative { -value } else { value }
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn codes_of(format: Format, from: &str, values: &[f64], body: &str) -> Vec<u32> {
    let wide = from == "f64";
    let singles: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    match (format.bits() > 8, wide) {
        (true, false) => apply::<f32, u16>(from, format.name, body, &singles).into_iter().map(u32::from).collect(),
        (true, true) => apply::<f64, u16>(from, format.name, body, values).into_iter().map(u32::from).collect(),
        (false, false) => apply::<f32, u8>(from, format.name, body, &singles).into_iter().map(u32::from).collect(),
        (false, true) => apply::<f64, u8>(from, format.name, body, values).into_iter().map(u32::from).collect(),
    }
}

#[test]
fn every_code_widens_to_its_value() {
    for format in FORMATS {
        let count = 1u32 << format.bits();
        let body = format!("%r = \"arith.extf\"(%x0) : ({}) -> f32", format.name);
        let found: Vec<f32> = if format.bits() > 8 {
            apply::<u16, f32>(format.name, "f32", &body, &(0..count).map(|code| code as u16).collect::<Vec<_>>())
        } else {
            apply::<u8, f32>(format.name, "f32", &body, &(0..count).map(|code| code as u8).collect::<Vec<_>>())
        };
        for code in 0..count {
            let (found, wanted) = (f64::from(found[code as usize]), format.value(code));
            assert!(same(found, wanted), "{} {code:#x}: {found} instead of {wanted}", format.name);
        }
    }
}

/// Returns the values to test: the values of the format, the midpoints between them, and the
/// neighbours of all these in the source format.
fn interesting(format: Format, neighbour: impl Fn(f64, i64) -> f64) -> Vec<f64> {
    let sign = 1u32 << (format.bits() - 1);
    let mut values = vec![0.0, f64::INFINITY, f64::NAN, 1e30, 1e-30, 3.4e38, 1.2e-38, 1e-44];
    let stride = if format.bits() > 8 { 37 } else { 1 };
    for code in (0..sign).step_by(stride) {
        let (value, next) = (format.value(code), format.value(code + 1));
        if !value.is_finite() {
            continue;
        }
        let next = if next.is_finite() { next } else { 2.0 * value - format.value(code.max(1) - 1) };
        for value in [value, (value + next) / 2.0, 0.75 * value + 0.25 * next] {
            values.extend([neighbour(value, -1), value, neighbour(value, 1)]);
        }
    }
    let negative: Vec<f64> = values.iter().map(|value| -value).collect();
    values.extend(negative);
    values
}

#[test]
fn f32_narrows_to_the_nearest() {
    for format in FORMATS {
        let step = |value: f64, by: i64| f64::from(f32::from_bits((value as f32).to_bits().wrapping_add(by as u32)));
        let values: Vec<f64> = interesting(format, step).into_iter().map(|value| f64::from(value as f32)).collect();
        let body = format!("%r = \"arith.truncf\"(%x0) : (f32) -> {}", format.name);
        let found = codes_of(format, "f32", &values, &body);
        check(format, &values, &found);
    }
}

#[test]
fn f64_narrows_to_the_nearest_at_once() {
    for format in FORMATS {
        let step = |value: f64, by: i64| f64::from_bits(value.to_bits().wrapping_add(by as u64));
        let values = interesting(format, step);
        let body = format!("%r = \"arith.truncf\"(%x0) : (f64) -> {}", format.name);
        let found = codes_of(format, "f64", &values, &body);
        check(format, &values, &found);
    }
}

#[track_caller]
fn check(format: Format, values: &[f64], found: &[u32]) {
    for (&value, &found) in values.iter().zip(found) {
        let wanted = format.nearest(value);
        let both_nan = format.value(found).is_nan() && format.value(wanted).is_nan();
        assert!(found == wanted || both_nan, "{} of {value:e}: {found:#x} instead of {wanted:#x}", format.name);
    }
}

#[test]
fn integers_become_the_nearest_narrow_float() {
    let integers: Vec<i64> = (0..62)
        .flat_map(|shift| {
            [1i64 << shift, (1 << shift) + 1, (1 << shift) - 1, 257 << shift.min(54), (257 << shift.min(54)) + 1]
        })
        .flat_map(|value| [value, -value])
        .collect();
    for format in &FORMATS[..2] {
        let body = format!("%r = \"arith.sitofp\"(%x0) : (i64) -> {}", format.name);
        let found: Vec<u16> = apply::<i64, u16>("i64", format.name, &body, &integers);
        for (&integer, &found) in integers.iter().zip(&found) {
            // Add two floats, and set the last bit if the sum is rounded. No 16-bit float lies
            // between this sum and the integer, so the sum and the integer are rounded to the same
            // 16-bit float.
            let high = (integer >> 12 << 12) as f64;
            let low = (integer - (integer >> 12 << 12)) as f64;
            let value = if integer.unsigned_abs() < 1 << 53 { integer as f64 } else { odd_sum(high, low) };
            assert_eq!(u32::from(found), format.nearest(value), "{} of {integer}", format.name);
        }
    }
}

/// Returns `high + low`, rounded to odd: if the sum is not exact, its last bit is set.
fn odd_sum(high: f64, low: f64) -> f64 {
    let sum = high + low;
    let lost = low - (sum - high);
    match lost {
        0.0 => sum,
        _ if sum.to_bits() & 1 == 1 => sum,
        _ if (lost > 0.0) == (sum > 0.0) => f64::from_bits(sum.to_bits() + 1),
        _ => f64::from_bits(sum.to_bits() - 1),
    }
}

#[test]
fn the_bare_exponent_rounds_ties_up() {
    let values =
        [1.0f32, 1.4999, 1.5, 2.0, 0.75, 3e38, 1.7e38, 1e-45, 6e-39, 1.2e-38, 0.0, -1.0, f32::INFINITY, f32::NAN];
    let body = "%r = \"arith.truncf\"(%x0) : (f32) -> f8E8M0FNU";
    let found: Vec<u8> = apply("f32", "f8E8M0FNU", body, &values);
    assert_eq!(found, [127, 127, 128, 128, 127, 255, 254, 0, 0, 1, 255, 255, 255, 255]);
    let codes: Vec<u8> = (0..=255).collect();
    let found: Vec<f32> = apply("f8E8M0FNU", "f32", "%r = \"arith.extf\"(%x0) : (f8E8M0FNU) -> f32", &codes);
    assert!((0..255).all(|code| f64::from(found[code]) == 2f64.powi(code as i32 - 127)));
    assert!(found[255].is_nan());
}

#[test]
fn extrema_of_bf16_are_not_rounded() {
    let body = "%a = \"arith.extf\"(%x0) : (bf16) -> f32
    %b = \"arith.extf\"(%x1) : (bf16) -> f32
    %m = \"arith.maximumf\"(%a, %b) : (f32, f32) -> f32
    %t = \"arith.negf\"(%m) : (f32) -> f32
    %r = \"arith.truncf\"(%t) : (f32) -> bf16";
    let left: Vec<u16> = (0..=u16::MAX).collect();
    let right: Vec<u16> = left.iter().map(|code| code.wrapping_mul(0x9e37)).collect();
    let value = |code: u16| f32::from_bits(u32::from(code) << 16);
    let found: Vec<u16> = apply2("bf16", "bf16", body, &left, &right);
    for ((&a, &b), &found) in left.iter().zip(&right).zip(&found) {
        let (a, b) = (value(a), value(b));
        if a.is_nan() || b.is_nan() {
            assert!(value(found).is_nan(), "{a:?} {b:?}");
        } else {
            assert_eq!(value(found), -a.max(b));
        }
    }
}

#[test]
fn nan_stays_nan_whatever_its_bits() {
    let nans = [0x7fff_ffff, 0x7f80_0001, 0xffff_ffff, 0xff80_ffff, 0x7fc0_0000u32].map(f32::from_bits);
    let found: Vec<u16> = apply("f32", "bf16", "%r = \"arith.truncf\"(%x0) : (f32) -> bf16", &nans);
    assert!(found.iter().all(|code| code & 0x7fff > 0x7f80), "{found:x?}");
    // If both operands are bf16, the rounding does not check for NaN.
    let every: Vec<u16> = (0..=u16::MAX).step_by(13).collect();
    let other = [0x0000, 0x3f80, 0x7f80, 0xff80, 0x7fff, 0xff81, 0x0001, 0x7f7f];
    let value = |code: u16| f32::from_bits(u32::from(code) << 16);
    for (op, meaning) in [
        ("addf", (|a, b| a + b) as fn(f32, f32) -> f32),
        ("subf", |a, b| a - b),
        ("mulf", |a, b| a * b),
        ("divf", |a, b| a / b),
    ] {
        let body = format!(
            "%a = \"arith.extf\"(%x0) : (bf16) -> f32
    %b = \"arith.extf\"(%x1) : (bf16) -> f32
    %m = \"arith.{op}\"(%a, %b) : (f32, f32) -> f32
    %r = \"arith.truncf\"(%m) : (f32) -> bf16"
        );
        for b in other {
            let found: Vec<u16> = apply2("bf16", "bf16", &body, &every, &vec![b; every.len()]);
            for (&a, &found) in every.iter().zip(&found) {
                let wanted = FORMATS[1].nearest(f64::from(meaning(value(a), value(b))));
                let both_nan = value(found).is_nan() && value(wanted as u16).is_nan();
                assert!(both_nan || u32::from(found) == wanted, "{op} of {a:x} and {b:x}: {found:x}, not {wanted:x}");
            }
        }
    }
}

/// The rounding of these functions' results to bf16 does not check for NaN.
#[test]
fn functions_of_bf16_return_nans_that_rounding_keeps() {
    let codes: Vec<u16> = (0..=u16::MAX).collect();
    let functions: Vec<OpKind> = math::operations().filter(|&operation| math::keeps_short_nans(operation)).collect();
    assert!(functions.contains(&OpKind::Exp));
    for function in functions {
        let body = |to: &str| {
            format!(
                "%a = \"arith.extf\"(%x0) : (bf16) -> f32
    %f = \"{function}\"(%a) : (f32) -> f32
    %r = \"arith.{to}"
            )
        };
        let bits: Vec<u32> = apply("bf16", "i32", &body("bitcast\"(%f) : (f32) -> i32"), &codes);
        let rounded: Vec<u16> = apply("bf16", "bf16", &body("truncf\"(%f) : (f32) -> bf16"), &codes);
        for ((&code, &bits), &rounded) in codes.iter().zip(&bits).zip(&rounded) {
            let wide = f32::from_bits(bits);
            assert!(!wide.is_nan() || bits & 0xffff == 0, "{function} of {code:#x}: {bits:#x}");
            let wanted = FORMATS[1].nearest(f64::from(wide));
            let both_nan = wide.is_nan() && rounded & 0x7fff > 0x7f80;
            assert!(both_nan || u32::from(rounded) == wanted, "{function} of {code:#x}: {rounded:#x}");
        }
    }
}
