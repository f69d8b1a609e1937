//! Compares fusions of the dynamic-update-slice emitter with the interpreter, on cpu and simt.

use crate::check;

/// Asserts that the emitter accepts the fusion on both targets, and that the results are right.
fn updates(text: &str) {
    assert_eq!(check(text), ["dynamic-update-slice", "dynamic-update-slice"], "{text}");
}

/// Asserts that results are right although the kernel computes the whole array.
fn computes_everything(text: &str) {
    assert_eq!(check(text), ["loop", "loop"], "{text}");
}

/// Returns a `dynamic-update-slice` of an array. The start indices have type `starts` and are
/// shifted by a constant.
fn update(element: &str, whole: &str, part: &str, starts: &str, rank: usize, shift: &str) -> String {
    let parameters: Vec<String> = (0..rank)
        .map(|k| format!("  i{k} = {starts}[] parameter({})\n  s{k} = {starts}[] add(i{k}, shift)\n", k + 2))
        .collect();
    let names: Vec<String> = (0..rank).map(|k| format!(", s{k}")).collect();
    format!(
        "fusion {{\n  x = {element}[{whole}] parameter(0)\n  u = {element}[{part}] parameter(1)\n  shift = {starts}[] constant({shift})\n{}  ROOT d = {element}[{whole}] dynamic-update-slice(x, u{})\n}}\n",
        parameters.concat(),
        names.concat()
    )
}

#[test]
fn starts_of_all_types_are_clamped() {
    updates(&update("f32", "40,30", "7,11", "s32", 2, "5"));
    updates(&update("f32", "40,30", "7,11", "s32", 2, "-100"));
    updates(&update("f32", "40,30", "7,11", "s8", 2, "120"));
    updates(&update("s8", "40,300", "7,300", "u8", 2, "30"));
    updates(&update("pred", "400", "128", "u32", 1, "4000000000"));
    updates(&update("c64", "4,5,6", "4,1,6", "s64", 3, "-9223372036854775808"));
    updates(&update("f64", "4,500", "4,500", "u64", 2, "18446744073709551600"));
}

#[test]
fn known_starts_and_vectors_of_starts() {
    updates(
        "fusion {
  x = s32[20,30] parameter(0)
  u = s32[5,6] parameter(1)
  i = s32[] constant(17)
  j = s32[] constant(3)
  ROOT d = s32[20,30] dynamic-update-slice(x, u, i, j)
}
",
    );
    updates(
        "fusion {
  x = s32[] parameter(0)
  u = s32[] parameter(1)
  n = s32[] negate(u)
  ROOT d = s32[] dynamic-update-slice(x, n)
}
",
    );
}

#[test]
fn reshapes_around_the_update() {
    updates(
        "fusion {
  p = f32[60,64] parameter(0)
  x = f32[20,3,64] reshape(p)
  v = f32[64] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  n = f32[64] negate(v)
  u = f32[1,1,64] reshape(n)
  d = f32[20,3,64] dynamic-update-slice(x, u, i, i, zero)
  ROOT r = f32[3840] reshape(d)
}
",
    );
}

#[test]
fn several_updates_of_different_shapes() {
    // The two caches of a layer, updated at one position, and an unrelated result.
    updates(
        "fusion {
  keys = f32[4,100,32] parameter(0)
  values = bf16[4,100,48] parameter(1)
  k = f32[4,1,32] parameter(2)
  v = f32[4,1,48] parameter(3)
  at = s32[] parameter(4)
  zero = s32[] constant(0)
  one = s32[] constant(1)
  next = s32[] add(at, one)
  w = bf16[4,1,48] convert(v)
  a = f32[4,100,32] dynamic-update-slice(keys, k, zero, at, zero)
  b = bf16[4,100,48] dynamic-update-slice(values, w, zero, at, zero)
  ROOT t = (f32[4,100,32], bf16[4,100,48], s32[]) tuple(a, b, next)
}
",
    );
}

#[test]
fn one_array_updated_twice_is_two_results() {
    updates(
        "fusion {
  x = f32[50,60] parameter(0)
  u = f32[5,60] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  zero = s32[] constant(0)
  a = f32[50,60] dynamic-update-slice(x, u, i, zero)
  b = f32[50,60] dynamic-update-slice(x, u, j, zero)
  ROOT t = (f32[50,60], f32[50,60], f32[50,60]) tuple(a, b, a)
}
",
    );
}

#[test]
fn a_slice_may_be_replaced_by_what_is_computed_from_it() {
    updates(
        "fusion {
  x = f32[50,60] parameter(0)
  u = f32[5,60] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  old = f32[5,60] dynamic-slice(x, i, zero), dynamic_slice_sizes={5,60}
  new = f32[5,60] add(old, u)
  ROOT d = f32[50,60] dynamic-update-slice(x, new, i, zero)
}
",
    );
    // The update is computed in another shape with the same row-major order of elements.
    updates(
        "fusion {
  x = f32[10,64,8] parameter(0)
  u = f32[64,8] parameter(1)
  p = pred[] parameter(2)
  i = s32[] parameter(3)
  zero = s32[] constant(0)
  slice = f32[1,64,8] dynamic-slice(x, i, zero, zero), dynamic_slice_sizes={1,64,8}
  old = f32[64,8] reshape(slice)
  all = pred[64,8] broadcast(p), dimensions={}
  new = f32[64,8] select(all, u, old)
  part = f32[1,64,8] reshape(new)
  ROOT d = f32[10,64,8] dynamic-update-slice(x, part, i, zero, zero)
}
",
    );
    // One element: a single thread, which reads any element before it writes.
    updates(
        "fusion {
  x = s32[50] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  old = s32[1] dynamic-slice(x, j), dynamic_slice_sizes={1}
  new = s32[1] negate(old)
  ROOT d = s32[50] dynamic-update-slice(x, new, i)
}
",
    );
}

#[test]
fn what_would_see_the_array_change_is_not_done_in_place() {
    // Reads a slice at another position.
    computes_everything(
        "fusion {
  x = f32[50,60] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  zero = s32[] constant(0)
  old = f32[5,60] dynamic-slice(x, j, zero), dynamic_slice_sizes={5,60}
  new = f32[5,60] negate(old)
  ROOT d = f32[50,60] dynamic-update-slice(x, new, i, zero)
}
",
    );
    // Reads the updated slice, but each element from another position.
    computes_everything(
        "fusion {
  x = f32[50,60] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  old = f32[5,60] dynamic-slice(x, i, zero), dynamic_slice_sizes={5,60}
  new = f32[5,60] reverse(old), dimensions={1}
  ROOT d = f32[50,60] dynamic-update-slice(x, new, i, zero)
}
",
    );
    // The old array is also a result, or the fusion reads the updated one.
    for root in ["n = f32[50] negate(x)", "n = f32[50] negate(d)", "n = f32[50] copy(x)"] {
        computes_everything(&format!(
            "fusion {{
  x = f32[50] parameter(0)
  u = f32[5] parameter(1)
  i = s32[] parameter(2)
  d = f32[50] dynamic-update-slice(x, u, i)
  {root}
  ROOT t = (f32[50], f32[50]) tuple(d, n)
}}
"
        ));
    }
    // The fusion computes the updated array itself.
    computes_everything(
        "fusion {
  p = f32[50] parameter(0)
  u = f32[5] parameter(1)
  i = s32[] parameter(2)
  x = f32[50] negate(p)
  ROOT d = f32[50] dynamic-update-slice(x, u, i)
}
",
    );
}
