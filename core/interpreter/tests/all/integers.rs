//! Integer arithmetic: wrapping, division by zero, shifts, narrow types.

use crate::support::{self, binary, body, compare, typed, unary, values, vector};
use fusebox_core::hlo::ElementType;

#[test]
fn arithmetic_wraps() {
    assert_eq!(binary("add", &[127i8, -128], &[1, -1]), [-128, 127]);
    assert_eq!(binary("multiply", &[u32::MAX, 1 << 31], &[u32::MAX, 2]), [1, 0]);
    assert_eq!(binary("subtract", &[0u64], &[1]), [u64::MAX]);
    assert_eq!(unary::<i16, i16>("abs", &[i16::MIN, -3]), [i16::MIN, 3]);
    assert_eq!(unary::<u8, u8>("negate", &[1]), [255]);
}

#[test]
fn division_by_zero_is_all_ones_and_remainder_the_dividend() {
    assert_eq!(binary("divide", &[7i32, -7, 0], &[0, 0, 0]), [-1, -1, -1]);
    assert_eq!(binary("divide", &[7u32, 0], &[0, 0]), [u32::MAX, u32::MAX]);
    assert_eq!(binary("remainder", &[7i32, -7], &[0, 0]), [7, -7]);
    assert_eq!(binary("divide", &[i64::MIN], &[-1]), [i64::MIN]);
    assert_eq!(binary("remainder", &[i64::MIN], &[-1]), [0]);
    assert_eq!(binary("remainder", &[-7i32, 7], &[3, -3]), [-1, 1]);
    assert_eq!(binary("divide", &[u64::MAX], &[2]), [u64::MAX / 2]);
}

#[test]
fn shifts_beyond_the_width() {
    assert_eq!(binary("shift-left", &[1i32, 1, 1], &[31, 32, -1]), [i32::MIN, 0, 0]);
    assert_eq!(binary("shift-right-logical", &[-1i8, -1, -1], &[7, 8, -1]), [1, 0, 0]);
    assert_eq!(binary("shift-right-arithmetic", &[-128i8, 64, -128], &[7, 8, 100]), [-1, 0, -1]);
    assert_eq!(binary("shift-right-arithmetic", &[0x80u8], &[1]), [0xc0]);
    assert_eq!(binary("shift-right-logical", &[u64::MAX], &[63]), [1]);
}

#[test]
fn counting_bits() {
    assert_eq!(unary::<i8, i8>("popcnt", &[-1, 0, 5]), [8, 0, 2]);
    assert_eq!(unary::<u16, u16>("count-leading-zeros", &[0, 1, 0x8000]), [16, 15, 0]);
    assert_eq!(unary::<i64, i64>("count-leading-zeros", &[-1, 0]), [0, 64]);
    assert_eq!(unary::<i32, i32>("not", &[0, -1]), [-1, 0]);
    assert_eq!(unary::<i32, i32>("sign", &[-9, 0, 9]), [-1, 0, 1]);
}

#[test]
fn powers() {
    let base = [2i32, 2, 0, 0, 1, -1, -1, 3];
    let exponent = [10, -1, 0, -1, -5, -3, -4, 21];
    assert_eq!(binary("power", &base, &exponent), [1024, 0, 1, 0, 1, -1, 1, 3i32.wrapping_pow(21)]);
}

#[test]
fn order_respects_the_sign_of_the_type() {
    assert_eq!(compare("LT", &[-1i64], &[0]), [true]);
    assert_eq!(compare("LT", &[u64::MAX], &[0]), [false]);
    assert_eq!(binary("maximum", &[u64::MAX, 3], &[1, 4]), [u64::MAX, 4]);
    assert_eq!(binary("minimum", &[-1i8], &[1]), [-1]);
}

#[test]
fn four_bits_wrap_except_for_a_conversion_to_eight() {
    let text = "x = s8[3] parameter(0)\na = s4[3] convert(x)\nb = s4[3] add(a, a)\nw = s8[3] convert(b)\n\
        i = s32[3] convert(b)\nROOT t = (s4[3], s8[3], s32[3]) tuple(b, w, i)";
    let results = support::elements(&body(text, &[vector(&[7i8, -8, 3])]));
    assert_eq!(values::<i8>(&results[0]), [-2, 0, 6]);
    assert_eq!(values::<i8>(&results[1]), [14, -16, 6]);
    assert_eq!(values::<i32>(&results[2]), [-2, 0, 6]);
}

#[test]
fn two_bits_wrap() {
    let text = "a = u2[4] parameter(0)\nROOT r = u2[4] add(a, a)";
    let x = typed(ElementType::U2, &[4], &[0u8, 1, 2, 3]);
    assert_eq!(values::<u8>(&body(text, &[x])), [0, 2, 0, 2]);
    let text = "a = s2[4] parameter(0)\nROOT r = s2[4] negate(a)";
    let x = typed(ElementType::S2, &[4], &[0i8, 1, -2, -1]);
    assert_eq!(values::<i8>(&body(text, &[x])), [0, -1, -2, 1]);
}

#[test]
fn truth_values() {
    let (a, b) = ([false, false, true, true], [false, true, false, true]);
    assert_eq!(binary("and", &a, &b), [false, false, false, true]);
    assert_eq!(binary("xor", &a, &b), [false, true, true, false]);
    assert_eq!(binary("add", &a, &b), [false, true, true, true]);
    assert_eq!(unary::<bool, bool>("not", &a), [true, true, false, false]);
}
