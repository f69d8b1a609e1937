//! Reductions, windows, scans, maps.

use crate::support::{ADD, MAX, array, body, elements, scalar, typed, values, vector, with};
use fusebox_core::hlo::ElementType;

#[test]
fn reducing_dimensions() {
    let x = array(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let reduce = |dims: &str, shape: &str| {
        let text = format!(
            "x = f32[2,3] parameter(0)\nz = f32[] constant(10)\nROOT r = f32[{shape}] reduce(x, z), dimensions={{{dims}}}, to_apply=add"
        );
        values::<f32>(&with(&[ADD], &text, std::slice::from_ref(&x)))
    };
    assert_eq!(reduce("0", "3"), [15.0, 17.0, 19.0]);
    assert_eq!(reduce("1", "2"), [16.0, 25.0]);
    assert_eq!(reduce("0,1", ""), [31.0]);
    assert_eq!(reduce("", "2,3"), [11.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
}

#[test]
fn sums_do_not_drift() {
    // Adding 0.1 a million times in f32 gives 100958.34.
    let text = "c = f32[] constant(0.1)\nx = f32[1000000] broadcast(c), dimensions={}\nz = f32[] constant(0)\n\
        ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add";
    assert_eq!(values::<f32>(&with(&[ADD], text, &[])), [(f64::from(0.1f32) * 1e6) as f32]);
    let add = "add { a = f64[] parameter(0)\n b = f64[] parameter(1)\n ROOT r = f64[] add(a, b) }";
    let text =
        "x = f64[3] parameter(0)\nz = f64[] constant(0)\nROOT r = f64[] reduce(x, z), dimensions={0}, to_apply=add";
    assert_eq!(values::<f64>(&with(&[add], text, &[vector(&[1e100f64, 1.0, -1e100])])), [1.0]);
}

#[test]
fn empty_and_infinite_sums() {
    let text =
        "x = f32[2,0] parameter(0)\nz = f32[] constant(3)\nROOT r = f32[2] reduce(x, z), dimensions={1}, to_apply=add";
    assert_eq!(values::<f32>(&with(&[ADD], text, &[array::<f32>(&[2, 0], &[])])), [3.0, 3.0]);
    let text =
        "x = f32[2] parameter(0)\nz = f32[] constant(0)\nROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add";
    let sum = |a: f32, b: f32| values::<f32>(&with(&[ADD], text, &[vector(&[a, b])]))[0];
    assert_eq!(sum(f32::INFINITY, 1.0), f32::INFINITY);
    assert!(sum(f32::INFINITY, f32::NEG_INFINITY).is_nan());
    assert_eq!(sum(f32::MAX, f32::MAX), f32::INFINITY);
}

#[test]
fn integers_wrap_and_bf16_is_rounded_at_the_end() {
    let add = "add { a = s8[] parameter(0)\n b = s8[] parameter(1)\n ROOT r = s8[] add(a, b) }";
    let text = "x = s8[3] parameter(0)\nz = s8[] constant(0)\nROOT r = s8[] reduce(x, z), dimensions={0}, to_apply=add";
    assert_eq!(values::<i8>(&with(&[add], text, &[vector(&[100i8, 100, 100])])), [44]);
    let add = "add { a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n ROOT r = bf16[] add(a, b) }";
    let text = "x = bf16[512] parameter(0)\nz = bf16[] constant(0)\nROOT r = bf16[] reduce(x, z), dimensions={0}, to_apply=add";
    let ones = typed(ElementType::BF16, &[512], &[0x3f80u16; 512]);
    assert_eq!(values::<u16>(&with(&[add], text, &[ones])), [0x4400]);
}

#[test]
fn several_arrays_at_once() {
    let larger = "larger { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n j = s32[] parameter(3)\n\
        p = pred[] compare(a, b), direction=GE\n v = f32[] select(p, a, b)\n k = s32[] select(p, i, j)\n\
        ROOT t = (f32[], s32[]) tuple(v, k) }";
    let text = "x = f32[4] parameter(0)\ni = s32[4] iota(), iota_dimension=0\na = f32[] constant(-inf)\nb = s32[] constant(0)\n\
        ROOT r = (f32[], s32[]) reduce(x, i, a, b), dimensions={0}, to_apply=larger";
    let results = elements(&with(&[larger], text, &[vector(&[1f32, 7.0, 7.0, 2.0])]));
    assert_eq!((values::<f32>(&results[0])[0], values::<i32>(&results[1])[0]), (7.0, 1));
}

#[test]
fn combiners_with_control_flow_are_evaluated_the_general_way() {
    let first = "first { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }";
    let branches = "yes { x = f32[] parameter(0)\n ROOT r = f32[] negate(x) }\nno { ROOT x = f32[] parameter(0) }";
    let combine = "combine { a = f32[] parameter(0)\n b = f32[] parameter(1)\n z = f32[] constant(0)\n\
        p = pred[] compare(b, z), direction=LT\n c = f32[] conditional(p, b, b), true_computation=yes, false_computation=no\n\
        ROOT r = f32[] call(a, c), to_apply=first }";
    let text =
        "x = f32[3] parameter(0)\nz = f32[] constant(0)\nROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=combine";
    assert_eq!(values::<f32>(&with(&[first, branches, combine], text, &[vector(&[1f32, -2.0, 3.0])])), [6.0]);
}

#[test]
fn windows() {
    let x = vector(&[1f32, 5.0, 2.0, 4.0, 3.0]);
    let reduce = |combiner: &str, start: &str, window: &str, n: usize| {
        let text = format!(
            "x = f32[5] parameter(0)\nz = f32[] constant({start})\nROOT r = f32[{n}] reduce-window(x, z), window={{{window}}}, to_apply={combiner}"
        );
        values::<f32>(&with(&[ADD, MAX], &text, std::slice::from_ref(&x)))
    };
    assert_eq!(reduce("max", "-inf", "size=3", 3), [5.0, 5.0, 4.0]);
    assert_eq!(reduce("add", "0", "size=2 stride=2", 2), [6.0, 6.0]);
    assert_eq!(reduce("add", "0", "size=2 pad=1_1", 6), [1.0, 6.0, 7.0, 6.0, 7.0, 3.0]);
    assert_eq!(reduce("add", "0", "size=2 rhs_dilate=3", 2), [5.0, 8.0]);
    assert_eq!(reduce("add", "0", "size=2 lhs_dilate=2", 8), [1.0, 5.0, 5.0, 2.0, 2.0, 4.0, 4.0, 3.0]);
    assert_eq!(reduce("add", "0", "size=2 pad=-1_-1", 2), [7.0, 6.0]);
    // Cumulative sums, in both directions.
    assert_eq!(reduce("add", "0", "size=5 pad=4_0", 5), [1.0, 6.0, 8.0, 12.0, 15.0]);
    assert_eq!(reduce("add", "0", "size=5 pad=0_4", 5), [15.0, 14.0, 9.0, 7.0, 3.0]);
}

/// The interpreter combines each element once, not once per window that contains it, which would
/// take hours.
#[test]
fn cumulative_windows_take_no_longer_than_their_elements() {
    let n = 1 << 20;
    let x = vector(&vec![1f32; n]);
    for (padding, first, last) in [("1048575_0", 1.0, n as f32), ("0_1048575", n as f32, 1.0)] {
        let text = format!(
            "x = f32[{n}] parameter(0)\nz = f32[] constant(0)\n\
             ROOT r = f32[{n}] reduce-window(x, z), window={{size={n} pad={padding}}}, to_apply=add"
        );
        let sums = values::<f32>(&with(&[ADD], &text, std::slice::from_ref(&x)));
        assert_eq!((sums[0], sums[n - 1], sums[n / 2] as usize), (first, last, n / 2 + usize::from(first == 1.0)));
    }
}

/// Cumulative windows along one dimension, shorter and longer than the array, in both directions,
/// with combiners of one and of two operations.
#[test]
fn growing_windows() {
    let x = array(&[2, 3], &[1f32, 5.0, 2.0, 4.0, 3.0, 7.0]);
    let twice =
        "twice { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] add(a, a)\n ROOT r = f32[] add(c, b) }";
    let reduce = |combiner: &str, window: &str, dims: &str| {
        let text = format!(
            "x = f32[2,3] parameter(0)\nz = f32[] constant(0)\n\
             ROOT r = f32[{dims}] reduce-window(x, z), window={{{window}}}, to_apply={combiner}"
        );
        values::<f32>(&with(&[ADD, twice], &text, std::slice::from_ref(&x)))
    };
    assert_eq!(reduce("add", "size=1x3 pad=0_0x2_0", "2,3"), [1.0, 6.0, 8.0, 4.0, 7.0, 14.0]);
    assert_eq!(reduce("add", "size=2x1 pad=0_1x0_0", "2,3"), [5.0, 8.0, 9.0, 4.0, 3.0, 7.0]);
    assert_eq!(reduce("add", "size=1x2 pad=0_0x2_0", "2,4"), [0.0, 1.0, 6.0, 7.0, 0.0, 4.0, 7.0, 10.0]);
    assert_eq!(reduce("add", "size=1x5 pad=0_0x4_1", "2,4"), [1.0, 6.0, 8.0, 8.0, 4.0, 7.0, 14.0, 14.0]);
    // ((0 * 2 + 1) * 2 + 5) * 2 + 2. From the right, each window is computed separately.
    assert_eq!(reduce("twice", "size=1x3 pad=0_0x2_0", "2,3"), [1.0, 7.0, 16.0, 4.0, 11.0, 29.0]);
    assert_eq!(reduce("twice", "size=1x3 pad=0_0x0_2", "2,3"), [16.0, 12.0, 2.0, 29.0, 13.0, 7.0]);
}

#[test]
fn select_and_scatter_takes_the_first_of_equals() {
    let ge = "ge { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }";
    let text = "x = f32[5] parameter(0)\ns = f32[2] parameter(1)\nz = f32[] constant(0.5)\n\
        ROOT r = f32[5] select-and-scatter(x, s, z), window={size=3 stride=2}, select=ge, scatter=add";
    let inputs = [vector(&[2f32, 2.0, 1.0, 0.0, 1.0]), vector(&[10f32, 20.0])];
    assert_eq!(values::<f32>(&with(&[ge, ADD], text, &inputs)), [10.5, 0.5, 20.5, 0.5, 0.5]);
}

#[test]
fn scanning_both_ways() {
    let step = "step { x = f32[] parameter(0)\n c = f32[] parameter(1)\n s = f32[] add(x, c)\n p = f32[] multiply(x, c)\n\
        ROOT t = (f32[], f32[]) tuple(p, s) }";
    let scan = |reverse: bool| {
        let text = format!(
            "x = f32[3] parameter(0)\nc = f32[] parameter(1)\nROOT r = (f32[3], f32[]) scan(x, c), dimensions={{0}}, num_carries=1, is_reverse={reverse}, to_apply=step"
        );
        let results = elements(&with(&[step], &text, &[vector(&[1f32, 2.0, 3.0]), scalar(1f32)]));
        (values::<f32>(&results[0]), values::<f32>(&results[1]))
    };
    assert_eq!(scan(false), (vec![1.0, 4.0, 12.0], vec![7.0]));
    assert_eq!(scan(true), (vec![6.0, 8.0, 3.0], vec![7.0]));
}

#[test]
fn mapping() {
    let f =
        "f { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] multiply(a, b)\n ROOT r = f32[] negate(c) }";
    let text =
        "x = f32[2] parameter(0)\ny = f32[2] parameter(1)\nROOT r = f32[2] map(x, y), dimensions={0}, to_apply=f";
    assert_eq!(values::<f32>(&with(&[f], text, &[vector(&[2f32, 3.0]), vector(&[5f32, 7.0])])), [-10.0, -21.0]);
}

#[test]
fn batch_normalisation() {
    let text = "x = f32[2,2] parameter(0)\ns = f32[2] constant({1, 2})\no = f32[2] constant({0, 10})\n\
        ROOT r = (f32[2,2], f32[2], f32[2]) batch-norm-training(x, s, o), epsilon=0, feature_index=1";
    let results = elements(&body(text, &[array(&[2, 2], &[1f32, 10.0, 3.0, 30.0])]));
    assert_eq!(values::<f32>(&results[0]), [-1.0, 8.0, 1.0, 12.0]);
    assert_eq!(values::<f32>(&results[1]), [2.0, 20.0]);
    assert_eq!(values::<f32>(&results[2]), [1.0, 100.0]);
}
