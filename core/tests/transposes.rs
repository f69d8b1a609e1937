//! Checks the normal forms of transposes, and fusions that contain transposes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fusebox_core::analysis::{NormalTranspose, RootPlace, TransposeFusion};
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::parse_module;

fn fusion(body: &str) -> Fusion {
    let module = parse_module(&format!("fusion {{ {body} }}"), "test.hlo").unwrap();
    Fusion::new("k", module).unwrap()
}

fn analysed(body: &str) -> Result<TransposeFusion, String> {
    TransposeFusion::of(&fusion(body)).map_err(|decline| decline.reason)
}

#[test]
fn units_go_and_runs_merge() {
    let form = |dims: &[i64], permutation: &[i64]| {
        let form = NormalTranspose::new(dims, permutation);
        (form.dims, form.permutation)
    };
    assert_eq!(form(&[4, 8], &[1, 0]), (vec![4, 8], vec![1, 0]));
    assert_eq!(form(&[4, 1, 8, 16], &[2, 3, 0, 1]), (vec![4, 128], vec![1, 0]));
    assert_eq!(form(&[4, 8, 16], &[0, 2, 1]), (vec![4, 8, 16], vec![0, 2, 1]));
    assert_eq!(form(&[4, 8, 16], &[1, 0, 2]), (vec![4, 8, 16], vec![1, 0, 2]));
    assert_eq!(form(&[2, 3, 4, 5], &[1, 3, 0, 2]), (vec![2, 3, 4, 5], vec![1, 3, 0, 2]));
    assert_eq!(form(&[2, 3, 4, 5], &[0, 2, 3, 1]), (vec![2, 3, 20], vec![0, 2, 1]));
    assert_eq!(form(&[1, 7, 1], &[2, 1, 0]), (vec![7], vec![0]));
    assert_eq!(form(&[1, 1], &[1, 0]), (vec![], vec![]));
}

/// Checks that the normal form and the transpose map every position to the same position.
#[test]
fn the_normal_form_moves_the_same_positions() {
    let cases: [(&[i64], &[i64]); 6] = [
        (&[2, 3, 4], &[2, 0, 1]),
        (&[2, 1, 3, 4], &[3, 1, 0, 2]),
        (&[2, 3, 4, 5], &[2, 3, 0, 1]),
        (&[3, 2, 2, 3], &[1, 0, 3, 2]),
        (&[2, 3, 1, 2], &[1, 2, 3, 0]),
        (&[4, 6], &[1, 0]),
    ];
    for (dims, permutation) in cases {
        let form = NormalTranspose::new(dims, permutation);
        let normal: Vec<i64> = form.permutation.iter().map(|&p| p as i64).collect();
        assert_eq!(moved(dims, permutation), moved(&form.dims, &normal), "{dims:?} by {permutation:?}: {form}");
    }
}

/// Returns, for each element of the result, its position in the operand.
fn moved(dims: &[i64], permutation: &[i64]) -> Vec<i64> {
    let result: Vec<i64> = permutation.iter().map(|&p| dims[p as usize]).collect();
    let count: i64 = dims.iter().product();
    let from = |mut position: i64| {
        let mut index = vec![0; dims.len()];
        for (k, &size) in result.iter().enumerate().rev() {
            index[permutation[k] as usize] = position % size;
            position /= size;
        }
        index.iter().zip(dims).fold(0, |sum, (i, size)| sum * size + i)
    };
    (0..count).map(from).collect()
}

#[test]
fn an_epilogue_may_read_anything_else() {
    let found = analysed(
        "x = f32[8,16] parameter(0)\n t = f32[16,8] transpose(x), dimensions={1,0}
         y = f32[16,8] parameter(1)\n s = f32[16,8] add(t, y)\n ROOT r = f32[4,32] reshape(s)",
    )
    .unwrap();
    assert_eq!(found.roots, [RootPlace::Result]);
    assert_eq!((found.form.dims, found.form.permutation), (vec![8, 16], vec![1, 0]));
}

#[test]
fn roots_are_written_where_they_are_known() {
    let found = analysed(
        "x = f32[8,16] parameter(0)\n n = f32[8,16] negate(x)\n t = f32[16,8] transpose(n), dimensions={1,0}
         y = f32[16,8] parameter(1)\n z = f32[16,8] negate(y)
         ROOT r = (f32[16,8], f32[8,16], f32[16,8]) tuple(t, n, z)",
    )
    .unwrap();
    assert_eq!(found.roots, [RootPlace::Result, RootPlace::Operand, RootPlace::Result]);
    assert!(found.reason.contains("one result is written while reading"), "{}", found.reason);
}

#[test]
fn several_heroes_must_agree() {
    let found = analysed(
        "x = f32[8,16] parameter(0)\n t = f32[16,8] transpose(x), dimensions={1,0}
         y = s8[8,16] parameter(1)\n u = s8[16,8] transpose(y), dimensions={1,0}
         ROOT r = (f32[16,8], s8[16,8]) tuple(t, u)",
    )
    .unwrap();
    assert_eq!(found.heroes.len(), 2);
    let reason = analysed(
        "x = f32[8,16] parameter(0)\n t = f32[16,8] transpose(x), dimensions={1,0}
         y = f32[16,8] parameter(1)\n u = f32[8,16] transpose(y), dimensions={1,0}
         ROOT r = (f32[16,8], f32[8,16]) tuple(t, u)",
    )
    .unwrap_err();
    assert_eq!(reason, "it is not the transpose [8,16] by {1,0}");
}

#[test]
fn what_is_in_the_way_is_named() {
    let reason = |body| analysed(body).unwrap_err();
    assert_eq!(
        reason("x = f32[8] parameter(0)\n ROOT y = f32[8] negate(x)"),
        "no result is a transpose followed by elementwise operations"
    );
    assert_eq!(
        reason(
            "x = f32[8,8] parameter(0)\n t = f32[8,8] transpose(x), dimensions={1,0}
             u = f32[8,8] reverse(t), dimensions={0}\n ROOT y = (f32[8,8], f32[8,8]) tuple(t, u)"
        ),
        "operations that are not elementwise also read the transpose"
    );
    assert_eq!(
        reason(
            "x = f32[8,8] parameter(0)\n t = f32[8,8] transpose(x), dimensions={1,0}
             w = f32[3] parameter(1)\n u = f32[3] negate(w)\n ROOT y = (f32[8,8], f32[3]) tuple(t, u)"
        ),
        "the result has neither the dimensions of the transpose nor those of its operand"
    );
}
