//! Operations that move elements.

use crate::support::{array, body, scalar, values, vector};
use fusebox_core::hlo::Literal;

fn six() -> Literal {
    array(&[2, 3], &[1i32, 2, 3, 4, 5, 6])
}

#[test]
fn iota_and_broadcast() {
    assert_eq!(values::<i32>(&body("ROOT r = s32[2,3] iota(), iota_dimension=1", &[])), [0, 1, 2, 0, 1, 2]);
    assert_eq!(values::<i32>(&body("ROOT r = s32[2,3] iota(), iota_dimension=0", &[])), [0, 0, 0, 1, 1, 1]);
    let text = "x = s32[2] parameter(0)\nROOT r = s32[2,3] broadcast(x), dimensions={0}";
    assert_eq!(values::<i32>(&body(text, &[vector(&[7i32, 8])])), [7, 7, 7, 8, 8, 8]);
    let text = "x = s32[2,3] parameter(0)\nROOT r = s32[3,2] broadcast(x), dimensions={1,0}";
    assert_eq!(values::<i32>(&body(text, &[six()])), [1, 4, 2, 5, 3, 6]);
}

#[test]
fn transposing_reversing_reshaping() {
    let text = "x = s32[2,3] parameter(0)\nROOT r = s32[3,2] transpose(x), dimensions={1,0}";
    assert_eq!(values::<i32>(&body(text, &[six()])), [1, 4, 2, 5, 3, 6]);
    let text = "x = s32[2,3] parameter(0)\nROOT r = s32[2,3] reverse(x), dimensions={0,1}";
    assert_eq!(values::<i32>(&body(text, &[six()])), [6, 5, 4, 3, 2, 1]);
    let text = "x = s32[2,3] parameter(0)\nROOT r = s32[3,2] reshape(x)";
    assert_eq!(values::<i32>(&body(text, &[six()])), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn bitcast_reads_memory_in_its_layout() {
    let text = "x = s32[2,3]{0,1} parameter(0)\nROOT r = s32[6]{0} bitcast(x)";
    assert_eq!(values::<i32>(&body(text, &[six()])), [1, 4, 2, 5, 3, 6]);
    let text = "x = s32[2,3]{1,0} parameter(0)\nROOT r = s32[3,2]{0,1} bitcast(x)";
    assert_eq!(values::<i32>(&body(text, &[six()])), [1, 4, 2, 5, 3, 6]);
}

#[test]
fn slices_and_concatenation() {
    let text = "x = s32[2,3] parameter(0)\nROOT r = s32[1,2] slice(x), slice={[1:2], [0:3:2]}";
    assert_eq!(values::<i32>(&body(text, &[six()])), [4, 6]);
    let text = "x = s32[2,3] parameter(0)\ny = s32[2,1] slice(x), slice={[0:2], [0:1]}\n\
        ROOT r = s32[2,4] concatenate(y, x), dimensions={1}";
    assert_eq!(values::<i32>(&body(text, &[six()])), [1, 1, 2, 3, 4, 4, 5, 6]);
}

#[test]
fn padding_outside_between_and_cropping() {
    let pad = |padding: &str, n: usize| {
        let text =
            format!("x = s32[3] parameter(0)\nv = s32[] constant(9)\nROOT r = s32[{n}] pad(x, v), padding={padding}");
        values::<i32>(&body(&text, &[vector(&[1i32, 2, 3])]))
    };
    assert_eq!(pad("1_2", 6), [9, 1, 2, 3, 9, 9]);
    assert_eq!(pad("0_0_1", 5), [1, 9, 2, 9, 3]);
    assert_eq!(pad("-1_1", 3), [2, 3, 9]);
    assert_eq!(pad("-1_-1_1", 3), [9, 2, 9]);
    assert_eq!(pad("-3_1", 1), [9]);
}

#[test]
fn dynamic_slices_are_moved_inside() {
    let text =
        "x = s32[5] parameter(0)\ni = s32[] parameter(1)\nROOT r = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}";
    let x = vector(&[0i32, 1, 2, 3, 4]);
    for (start, want) in [(-7, [0, 1]), (2, [2, 3]), (4, [3, 4]), (99, [3, 4])] {
        assert_eq!(values::<i32>(&body(text, &[x.clone(), scalar(start)])), want);
    }
    let text = "x = s32[5] parameter(0)\nu = s32[2] parameter(1)\ni = u64[] parameter(2)\n\
        ROOT r = s32[5] dynamic-update-slice(x, u, i)";
    let result = body(text, &[x, vector(&[8i32, 9]), scalar(u64::MAX)]);
    assert_eq!(values::<i32>(&result), [0, 1, 2, 8, 9]);
}

#[test]
fn arrays_without_elements() {
    let text = "x = f32[0,3] parameter(0)\ny = f32[3,0] transpose(x), dimensions={1,0}\nz = f32[3,0] reverse(y), dimensions={1}\n\
        v = f32[] constant(4)\nROOT r = f32[3,2] pad(z, v), padding=0_0x1_1";
    assert_eq!(values::<f32>(&body(text, &[array::<f32>(&[0, 3], &[])])), [4.0; 6]);
}
