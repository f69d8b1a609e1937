//! Conversions by value and by bits, narrow float formats.

use crate::support::{self, array, body, typed, unary, values, vector};
use fusebox_core::hlo::ElementType;

fn from_f32(to: &str, x: &[f32]) -> Vec<u8> {
    let n = x.len();
    values(&body(&format!("x = f32[{n}] parameter(0)\nROOT r = {to}[{n}] convert(x)"), &[vector(x)]))
}

#[test]
fn floats_to_integers_truncate_and_saturate() {
    let x = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.9, -1.9, 300.0];
    assert_eq!(unary::<f32, i8>("convert", &x), [0, 127, -128, 1, -1, 127]);
    assert_eq!(unary::<f32, u8>("convert", &x), [0, 255, 0, 1, 0, 255]);
    assert_eq!(unary::<f32, u64>("convert", &x), [0, u64::MAX, 0, 1, 0, 300]);
    assert_eq!(unary::<f32, bool>("convert", &[0.0, -0.0, 1e-30, f32::NAN]), [false, false, true, true]);
    assert_eq!(from_f32("s4", &[9.0, -9.0]), [7, 0xf8]);
    assert_eq!(from_f32("u4", &[99.0, -9.0]), [15, 0]);
}

#[test]
fn integers_to_floats_round_once() {
    // 2^53 + 2^29 + 1 lies just above a tie of f32; through f64 it would land on the tie.
    let x = [(1i64 << 53) + (1 << 29) + 1, i64::MAX, -1];
    assert_eq!(unary::<i64, f32>("convert", &x), [9007200328482816.0, 9223372036854775807.0, -1.0]);
    assert_eq!(unary::<u64, f64>("convert", &[u64::MAX]), [18446744073709551615.0]);
    assert_eq!(unary::<i32, u8>("convert", &[-1, 256, 511]), [255, 0, 255]);
}

#[test]
fn eight_bit_floats_overflow_each_in_its_way() {
    let x = [448.0f32, 464.0, 465.0, f32::INFINITY, -0.0, 1e-9, 17.0, 19.0];
    assert_eq!(from_f32("f8e4m3fn", &x), [0x7e, 0x7e, 0x7f, 0x7f, 0x80, 0, 0x58, 0x5a]);
    assert_eq!(from_f32("f8e5m2", &[57344.0, 61439.0, 61440.0, -1e9]), [0x7b, 0x7b, 0x7c, 0xfc]);
    assert_eq!(from_f32("f8e4m3fnuz", &[240.0, 248.0, -0.0, f32::NAN]), [0x7f, 0x80, 0, 0x80]);
    assert_eq!(from_f32("f8e8m0fnu", &[1.0, 1.5, 0.0, -1.0, 3.0]), [127, 128, 255, 255, 129]);
    assert_eq!(from_f32("f4e2m1fn", &[9.0, -9.0, 0.25, 0.75, f32::NAN]), [7, 15, 0, 2, 8]);
}

#[test]
fn every_narrow_float_survives_the_way_through_f32() {
    use ElementType as T;
    let eight_bits = [T::F8E3M4, T::F8E4M3, T::F8E4M3FN, T::F8E4M3B11FNUZ, T::F8E4M3FNUZ, T::F8E5M2, T::F8E5M2FNUZ];
    for ty in eight_bits {
        let all: Vec<u8> = (0..=255).collect();
        assert_unchanged(ty, "f32", &all);
    }
    let all: Vec<u16> = (0..=u16::MAX).collect();
    for ty in [T::F16, T::BF16] {
        assert_unchanged(ty, "f64", &all);
    }
}

/// Every bit pattern of a number survives a conversion to the wide type and back; a NaN stays a
/// NaN.
fn assert_unchanged<T: support::Element + PartialEq + std::fmt::Debug>(ty: ElementType, wide: &str, all: &[T]) {
    let n = all.len();
    let text = format!(
        "x = {ty}[{n}] parameter(0)\ny = {wide}[{n}] convert(x)\nr = {ty}[{n}] convert(y)\n\
        b = pred[{n}] compare(x, x), direction=EQ\na = pred[{n}] compare(r, r), direction=EQ\n\
        ROOT t = ({ty}[{n}], pred[{n}], pred[{n}]) tuple(r, b, a)"
    );
    let results = support::elements(&body(&text, &[typed(ty, &[n as i64], all)]));
    let (back, numbers) = (values::<T>(&results[0]), values::<bool>(&results[1]));
    assert_eq!(numbers, values::<bool>(&results[2]), "{ty}");
    assert!(numbers.contains(&true));
    for i in (0..n).filter(|&i| numbers[i]) {
        assert_eq!(back[i], all[i], "{ty}");
    }
}

#[test]
fn bits_move_between_widths() {
    let text = "x = s32[2] parameter(0)\nROOT r = u8[2,4] bitcast-convert(x)";
    assert_eq!(values::<u8>(&body(text, &[vector(&[0x0403_0201i32, -1])])), [1, 2, 3, 4, 255, 255, 255, 255]);
    let text = "x = u8[2,4] parameter(0)\nROOT r = f32[2] bitcast-convert(x)";
    assert_eq!(values::<f32>(&body(text, &[array(&[2, 4], &[0u8, 0, 128, 63, 0, 0, 0, 192])])), [1.0, -2.0]);
    let text = "x = u8[2] parameter(0)\nROOT r = u4[2,2] bitcast-convert(x)";
    assert_eq!(values::<u8>(&body(text, &[vector(&[0x21u8, 0x43])])), [1, 2, 3, 4]);
    let text = "x = s4[1,2] parameter(0)\nROOT r = u8[1] bitcast-convert(x)";
    assert_eq!(values::<u8>(&body(text, &[typed(ElementType::S4, &[1, 2], &[-1i8, 2])])), [0x2f]);
}

#[test]
fn signalling_nans_keep_their_bits_when_moved() {
    let text = "x = u32[2] parameter(0)\ny = f32[2] bitcast-convert(x)\nz = f32[2] reverse(y), dimensions={0}\n\
        ROOT r = u32[2] bitcast-convert(z)";
    assert_eq!(values::<u32>(&body(text, &[vector(&[0x7f80_0001u32, 0xffc1_2345])])), [0xffc1_2345, 0x7f80_0001]);
}

#[test]
fn stochastic_conversion_compares_the_fraction() {
    let text = "x = f32[3] parameter(0)\nr = u32[3] parameter(1)\nROOT c = s32[3] stochastic-convert(x, r)";
    let inputs = [vector(&[1.5f32, 1.5, -1.5]), vector(&[0u32, u32::MAX, 0])];
    assert_eq!(values::<i32>(&body(text, &inputs)), [2, 1, -2]);
}
