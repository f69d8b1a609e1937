//! Sort and topk.

use crate::support::{self, array, body, elements, values, vector, with};

const LESS: &str = "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }";

#[test]
fn sorting_along_a_dimension() {
    let sort = |d: usize| {
        let text = format!("x = f32[2,3] parameter(0)\nROOT r = f32[2,3] sort(x), dimensions={{{d}}}, to_apply=less");
        values::<f32>(&with(&[LESS], &text, &[array(&[2, 3], &[3f32, 1.0, 2.0, 0.0, 5.0, -1.0])]))
    };
    assert_eq!(sort(1), [1.0, 2.0, 3.0, -1.0, 0.0, 5.0]);
    assert_eq!(sort(0), [0.0, 1.0, -1.0, 3.0, 5.0, 2.0]);
}

#[test]
fn total_order_puts_nans_at_the_ends() {
    let text = "x = f32[6] parameter(0)\nROOT r = f32[6] sort(x), dimensions={0}, to_apply=less";
    let x = [f32::NAN, f32::INFINITY, 0.0, -0.0, f32::NEG_INFINITY, -f32::NAN];
    let sorted = support::bits(&values(&with(&[LESS], text, &[vector(&x)])));
    assert_eq!(sorted, support::bits(&[-f32::NAN, f32::NEG_INFINITY, -0.0, 0.0, f32::INFINITY, f32::NAN]));
}

#[test]
fn equal_keys_keep_their_order() {
    let by_key = "by_key { a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n\
        ROOT r = pred[] compare(a, b), direction=GT }";
    let text = "k = s32[6] parameter(0)\nv = s32[6] iota(), iota_dimension=0\n\
        ROOT r = (s32[6], s32[6]) sort(k, v), dimensions={0}, is_stable=true, to_apply=by_key";
    let results = elements(&with(&[by_key], text, &[vector(&[1i32, 2, 1, 2, 1, 3])]));
    assert_eq!(values::<i32>(&results[0]), [3, 2, 2, 1, 1, 1]);
    assert_eq!(values::<i32>(&results[1]), [5, 1, 3, 0, 2, 4]);
}

#[test]
fn a_senseless_comparator_ends_all_the_same() {
    let always = "always { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] constant(true) }";
    let text = "x = f32[5] parameter(0)\nROOT r = f32[5] sort(x), dimensions={0}, to_apply=always";
    let mut sorted = values::<f32>(&with(&[always], text, &[vector(&[3f32, 1.0, 2.0, 5.0, 4.0])]));
    sorted.sort_by(f32::total_cmp);
    assert_eq!(sorted, [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn the_largest_and_the_smallest() {
    let topk = |largest: bool| {
        let text = format!("x = f32[2,4] parameter(0)\nROOT r = (f32[2,2], s32[2,2]) topk(x), k=2, largest={largest}");
        let x = array(&[2, 4], &[1f32, 7.0, 7.0, 3.0, f32::NAN, -1.0, 0.0, -0.0]);
        let results = elements(&body(&text, &[x]));
        (values::<f32>(&results[0]), values::<i32>(&results[1]))
    };
    let (largest, places) = topk(true);
    assert_eq!((&largest[..2], largest[3], places), (&[7.0, 7.0][..], 0.0, vec![1, 2, 0, 2]));
    assert!(largest[2].is_nan());
    assert_eq!(topk(false), (vec![1.0, 3.0, -1.0, -0.0], vec![0, 3, 1, 3]));
}
