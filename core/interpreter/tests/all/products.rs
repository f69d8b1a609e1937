//! Dots and convolutions whose result type differs from the operand types.

use crate::support::{array, body, typed, values, vector};
use fusebox_core::hlo::{ElementType, Literal};

/// `x · y` as `ty`; `operands` are the types of `x` and `y`.
fn dot(operands: [&str; 2], ty: &str, inputs: &[Literal; 2]) -> Literal {
    let [x, y] = operands;
    let text = format!(
        "x = {x}[3] parameter(0)\ny = {y}[3] parameter(1)\n\
         ROOT r = {ty}[] dot(x, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}"
    );
    body(&text, inputs)
}

#[test]
fn of_a_complex_sum_the_real_part_counts() {
    let x = vector(&[(1f32, 2f32), (3.0, -1.0), (0.5, 4.0)]);
    let to = |ty| dot(["c64", "c64"], ty, &[x.clone(), x.clone()]);
    assert_eq!(values::<f32>(&to("f32")), [-10.75]);
    assert_eq!(values::<i32>(&to("s32")), [-10]);
    assert_eq!(values::<u32>(&to("u32")), [0]);
    assert_eq!(values::<bool>(&to("pred")), [true]);
}

#[test]
fn floats_are_added_as_floats_and_saturate() {
    let ones = vector(&[1f32, 1.0, 1.0]);
    let to = |ty, x: &[f32; 3]| dot(["f32", "f32"], ty, &[vector(x), ones.clone()]);
    assert_eq!(values::<u32>(&to("u32", &[1.5, -0.25, 1.0])), [2]);
    assert_eq!(values::<u32>(&to("u32", &[-7.0, 1.0, 1.0])), [0]);
    assert_eq!(values::<i8>(&to("s8", &[100.0, 100.0, 100.0])), [127]);
    assert_eq!(values::<i32>(&to("s32", &[f32::NAN, 1.0, 1.0])), [0]);
    let narrow = typed(ElementType::BF16, &[3], &[0x3fc0u16, 0xbf80, 0x3fc0]);
    assert_eq!(values::<u32>(&dot(["bf16", "f32"], "u32", &[narrow, ones])), [2]);
}

#[test]
fn operands_lose_nothing_on_the_way_to_the_sum() {
    let (large, small) = (vector(&[1e60f64, 1.0, 1.0]), vector(&[1e-60f64, 1.0, 1.0]));
    assert_eq!(values::<(f32, f32)>(&dot(["f64", "f64"], "c64", &[large, small])), [(3.0, 0.0)]);
    let (x, y) = (vector(&[100_000i32, -99_999, 0]), vector(&[1i32, 1, 1]));
    assert_eq!(values::<f32>(&dot(["s32", "s32"], "f32", &[x, y])), [1.0]);
}

#[test]
fn integers_wrap_before_they_are_compared_with_zero() {
    let (x, y) = (vector(&[16u8, 0, 0]), vector(&[16u8, 0, 0]));
    assert_eq!(values::<bool>(&dot(["u8", "u8"], "pred", &[x.clone(), y.clone()])), [false]);
    assert_eq!(values::<i32>(&dot(["u8", "u8"], "s32", &[x, y])), [256]);
}

#[test]
fn four_bits_are_cut_from_the_sum_of_floats() {
    let (x, y) = (vector(&[1.5f32, 1.5, 0.0]), vector(&[1f32, 1.0, 1.0]));
    let text = "x = f32[3] parameter(0)\ny = f32[3] parameter(1)\n\
        d = s4[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\nROOT r = s32[] convert(d)";
    assert_eq!(values::<i32>(&body(text, &[x, y])), [3]);
}

#[test]
fn convolutions_follow_the_same_rule() {
    let numbers = [(1f32, 2f32), (3.0, -1.0), (0.5, 4.0)];
    let inputs = [array(&[1, 3, 1], &numbers), array(&[3, 1, 1], &numbers)];
    let to = |ty: &str| {
        let text = format!(
            "x = c64[1,3,1] parameter(0)\ny = c64[3,1,1] parameter(1)\n\
             ROOT r = {ty}[1,1,1] convolution(x, y), window={{size=3}}, dim_labels=b0f_0io->b0f"
        );
        body(&text, &inputs)
    };
    assert_eq!(values::<f32>(&to("f32")), [-10.75]);
    assert_eq!(values::<i32>(&to("s32")), [-10]);
}
