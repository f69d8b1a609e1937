//! Dots and convolutions.

use crate::support::{array, body, typed, values, vector};
use fusebox_core::hlo::ElementType;

#[test]
fn matrices_and_batches() {
    let text = "a = f32[2,3] parameter(0)\nb = f32[3,2] parameter(1)\n\
        ROOT r = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    let (a, b) = (array(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]), array(&[3, 2], &[1f32, 0.0, 0.0, 1.0, 1.0, 1.0]));
    assert_eq!(values::<f32>(&body(text, &[a, b])), [4.0, 5.0, 10.0, 11.0]);
    let text = "a = s32[2,2] parameter(0)\nb = s32[2,2] parameter(1)\nROOT r = s32[2] dot(a, b), lhs_batch_dims={0}, \
        rhs_batch_dims={1}, lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    let (a, b) = (array(&[2, 2], &[1i32, 2, 3, 4]), array(&[2, 2], &[5i32, 6, 7, 8]));
    assert_eq!(values::<i32>(&body(text, &[a, b])), [19, 50]);
}

#[test]
fn sums_are_exact_enough() {
    let text = "a = f64[3] parameter(0)\nb = f64[3] parameter(1)\n\
        ROOT r = f64[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}";
    let inputs = [vector(&[1e200f64, 1.0, -1e200]), vector(&[1.0f64, 0.5, 1.0])];
    assert_eq!(values::<f64>(&body(text, &inputs)), [0.5]);
    let text =
        "a = bf16[300] parameter(0)\nROOT r = f32[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}";
    assert_eq!(values::<f32>(&body(text, &[typed(ElementType::BF16, &[300], &[0x3f80u16; 300])])), [300.0]);
}

#[test]
fn integers_wrap_in_the_results_type() {
    let dot = |ty: &str| {
        let text = format!(
            "a = s8[2] parameter(0)\nROOT r = {ty}[] dot(a, a), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}"
        );
        body(&text, &[vector(&[100i8, 100])])
    };
    assert_eq!(values::<i32>(&dot("s32")), [20000]);
    assert_eq!(values::<i8>(&dot("s8")), [20000u16 as i8]);
}

#[test]
fn nothing_to_contract() {
    let text = "a = f32[2,0] parameter(0)\nb = f32[0,1] parameter(1)\n\
        ROOT r = f32[2,1] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    let inputs = [array::<f32>(&[2, 0], &[]), array::<f32>(&[0, 1], &[])];
    assert_eq!(values::<f32>(&body(text, &inputs)), [0.0, 0.0]);
}

#[test]
fn groups_of_rows() {
    let text = "a = f32[4,1] parameter(0)\nb = f32[2,1,1] parameter(1)\ng = s32[2] parameter(2)\n\
        ROOT r = f32[4,1] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, \
        lhs_ragged_dims={0}, rhs_group_dims={0}";
    let inputs = [array(&[4, 1], &[1f32, 2.0, 3.0, 4.0]), array(&[2, 1, 1], &[10f32, 100.0]), vector(&[1i32, 2])];
    assert_eq!(values::<f32>(&body(text, &inputs)), [10.0, 200.0, 300.0, 0.0]);
}

/// A convolution with one spatial dimension. `attributes` state the order of dimensions.
fn convolve(input: (&[i64], &[f32]), kernel: (&[i64], &[f32]), result: &str, attributes: &str) -> Vec<f32> {
    let dims = |dims: &[i64]| dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let text = format!(
        "x = f32[{}] parameter(0)\nk = f32[{}] parameter(1)\nROOT r = f32[{result}] convolution(x, k), {attributes}",
        dims(input.0),
        dims(kernel.0)
    );
    values(&body(&text, &[array(input.0, input.1), array(kernel.0, kernel.1)]))
}

#[test]
fn convolutions_pad_stride_dilate_and_reverse() {
    let x: (&[i64], &[f32]) = (&[1, 1, 4], &[1.0, 2.0, 3.0, 4.0]);
    let k: (&[i64], &[f32]) = (&[1, 1, 2], &[1.0, 10.0]);
    let run = |window: &str, n: &str| {
        convolve(x, k, &format!("1,1,{n}"), &format!("window={{{window}}}, dim_labels=bf0_oi0->bf0"))
    };
    assert_eq!(run("size=2", "3"), [21.0, 32.0, 43.0]);
    assert_eq!(run("size=2 pad=1_0", "4"), [10.0, 21.0, 32.0, 43.0]);
    assert_eq!(run("size=2 stride=2", "2"), [21.0, 43.0]);
    assert_eq!(run("size=2 rhs_dilate=2", "2"), [31.0, 42.0]);
    assert_eq!(run("size=2 lhs_dilate=2", "6"), [1.0, 20.0, 2.0, 30.0, 3.0, 40.0]);
    assert_eq!(run("size=2 rhs_reversal=1", "3"), [12.0, 23.0, 34.0]);
    assert_eq!(run("size=2 pad=-1_-1", "1"), [32.0]);
}

#[test]
fn convolutions_in_groups_and_other_orders() {
    // Two features, each with its own kernel. The feature dimension is the last.
    let x: (&[i64], &[f32]) = (&[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let k: (&[i64], &[f32]) = (&[1, 1, 2], &[10.0, 100.0]);
    let groups = convolve(x, k, "1,2,2", "window={size=1}, dim_labels=b0f_0io->b0f, feature_group_count=2");
    assert_eq!(groups, [10.0, 200.0, 30.0, 400.0]);
    // Two batches become one, and each output feature reads one of them.
    let x: (&[i64], &[f32]) = (&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
    let k: (&[i64], &[f32]) = (&[2, 1, 1], &[10.0, 100.0]);
    let batches = convolve(x, k, "1,2,2", "window={size=1}, dim_labels=bf0_oi0->bf0, batch_group_count=2");
    assert_eq!(batches, [10.0, 20.0, 300.0, 400.0]);
}
