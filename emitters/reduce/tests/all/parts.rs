//! Checks the parts into which claims divide reductions.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Fusion, Parts};
use fusebox_core::hlo::parse_module;
use fusebox_emitter_reduce::emitters;

/// Returns the parts that the claim for the reduction of `f32[dims]` states.
fn parts(dims: &[i64], reduced: &[i64], device: &DeviceDescription) -> Option<Parts> {
    let kept: Vec<i64> = (0..dims.len()).filter(|d| !reduced.contains(&(*d as i64))).map(|d| dims[d]).collect();
    let list = reduced.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let text = format!(
        "HloModule m
add {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }}
ENTRY main {{ x = f32{dims:?} parameter(0)
  zero = f32[] parameter(1)
  ROOT r = f32{kept:?} reduce(x, zero), dimensions={{{list}}}, to_apply=add }}"
    );
    let region = Fusion::new("r", parse_module(&text.replace(", ", ","), "test.hlo").unwrap()).unwrap();
    let anchor = region.computation().root;
    let candidate = Candidate { region, anchor };
    let claims: Vec<_> = emitters().iter().filter_map(|emitter| emitter.claim(&candidate, device)).collect();
    assert!(claims.iter().all(|claim| claim == &claims[0]));
    claims[0].parts.clone()
}

#[test]
fn few_results_are_divided_into_enough_parts_for_all_cores() {
    let cpu = DeviceDescription::cpu(2);
    let whole = Parts { count: 16, together: 1, arithmetic: 16.0, second: Vec::new() };
    assert_eq!(parts(&[1 << 20], &[0], &cpu), Some(whole.clone()));
    assert_eq!(parts(&[3, 1 << 20], &[1], &cpu), Some(Parts { count: 5, ..whole.clone() }));
    assert_eq!(parts(&[4, 1 << 20], &[1], &cpu), None);
    // Up to 64 adjacent columns are one piece of work.
    assert_eq!(parts(&[1 << 20, 9], &[0], &cpu), Some(Parts { together: 9, ..whole.clone() }));
    assert_eq!(parts(&[1 << 20, 128], &[0], &cpu), Some(Parts { count: 8, together: 64, ..whole }));
    assert_eq!(parts(&[1 << 20, 256], &[0], &cpu), None);
}

#[test]
fn short_rows_far_apart_are_reduced_last_on_a_cpu() {
    let cpu = DeviceDescription::cpu(2);
    let second = |dims: &[i64]| parts(dims, &[0, 2], &cpu).map(|parts| (parts.count, parts.second));
    assert_eq!(second(&[1000, 300, 5]), Some((1, vec![2])));
    assert_eq!(second(&[1000, 2, 5]), Some((8, vec![2])));
    assert_eq!(second(&[1000, 300, 32]), None);
    assert_eq!(second(&[63, 300, 5]), None);
    assert_eq!(parts(&[1000, 300, 5], &[0, 2], &DeviceDescription::simt()), None);
}

#[test]
fn a_block_of_many_threads_reduces_long_results_alone() {
    let gpu = DeviceDescription::simt();
    let parts = |dims: &[i64], reduced: &[i64]| parts(dims, reduced, &gpu).map(|it| (it.count, it.arithmetic));
    assert_eq!(parts(&[1 << 14], &[0]), None);
    assert_eq!(parts(&[1 << 15], &[0]), Some((132 * 8, f64::INFINITY)));
    assert_eq!(parts(&[1 << 10, 32], &[0]), Some((132 * 8, f64::INFINITY)));
}
