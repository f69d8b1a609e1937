//! Compares fusions of the input-slices emitter with the interpreter, on cpu and simt.

use crate::check;

/// Asserts that the emitter accepts the fusion on both targets, and that the results are right.
fn slices(text: &str) {
    assert_eq!(check(text), ["input-slices", "input-slices"], "{text}");
}

#[test]
fn apart_overlapping_and_nested() {
    slices(
        "fusion {
  p = f32[30,200] parameter(0)
  q = f32[30,200] parameter(1)
  x = f32[30,200] multiply(p, q)
  a = f32[10,200] slice(x), slice={[0:10], [0:200]}
  b = f32[7,50] slice(x), slice={[5:12], [100:150]}
  c = f32[3,3] slice(x), slice={[6:9], [120:123]}
  d = f32[10,20] slice(x), slice={[20:30], [180:200]}
  ROOT t = (f32[10,200], f32[7,50], f32[3,3], f32[10,20]) tuple(a, b, c, d)
}
",
    );
}

#[test]
fn several_arrays_and_the_whole() {
    // Slices of equal shape and different type; one array is a result itself, one slice is a result
    // twice.
    slices(
        "fusion {
  p = f32[64,33] parameter(0)
  x = f32[64,33] add(p, p)
  y = bf16[64,33] convert(p)
  z = s32[100] parameter(1)
  a = f32[32,33] slice(x), slice={[0:32], [0:33]}
  b = bf16[64,11] slice(y), slice={[0:64], [11:22]}
  c = s32[10] slice(z), slice={[90:100]}
  ROOT t = (f32[32,33], bf16[64,11], f32[64,33], s32[10], f32[32,33]) tuple(a, b, x, c, a)
}
",
    );
}

#[test]
fn strides_and_reshapes() {
    slices(
        "fusion {
  p = f32[40,60] parameter(0)
  x = f32[40,60] negate(p)
  a = f32[20,60] slice(x), slice={[0:40:2], [0:60]}
  b = f32[20,12] slice(x), slice={[1:40:2], [3:60:5]}
  c = f32[1,60] slice(x), slice={[39:40:7], [0:60]}
  r = f32[1200] reshape(a)
  ROOT t = (f32[1200], f32[20,12], f32[1,60]) tuple(r, b, c)
}
",
    );
}

#[test]
fn what_horizontal_fusion_makes() {
    // Three updates of parameters in one kernel: flattened, concatenated, computed, sliced.
    slices(
        "fusion {
  a = f32[40,30] parameter(0)
  b = f32[500] parameter(1)
  c = f32[3,7,11] parameter(2)
  ga = f32[40,30] parameter(3)
  gb = f32[500] parameter(4)
  gc = f32[3,7,11] parameter(5)
  fa = f32[1200] reshape(a)
  fc = f32[231] reshape(c)
  ha = f32[1200] reshape(ga)
  hc = f32[231] reshape(gc)
  x = f32[1931] concatenate(fa, b, fc), dimensions={0}
  g = f32[1931] concatenate(ha, gb, hc), dimensions={0}
  rate = f32[] constant(2)
  rates = f32[1931] broadcast(rate), dimensions={}
  step = f32[1931] multiply(g, rates)
  next = f32[1931] subtract(x, step)
  sa = f32[1200] slice(next), slice={[0:1200]}
  sb = f32[500] slice(next), slice={[1200:1700]}
  sc = f32[231] slice(next), slice={[1700:1931]}
  na = f32[40,30] reshape(sa)
  nc = f32[3,7,11] reshape(sc)
  ROOT t = (f32[40,30], f32[500], f32[3,7,11]) tuple(na, sb, nc)
}
",
    );
}

#[test]
fn arrays_of_different_ranks() {
    slices(
        "fusion {
  p = f32[6,7,8] parameter(0)
  x = f32[6,7,8] negate(p)
  y = f32[42,8] reshape(x)
  a = f32[3,7,8] slice(x), slice={[0:3], [0:7], [0:8]}
  b = f32[20,4] slice(y), slice={[1:21], [2:6]}
  c = f32[2,2,2] slice(x), slice={[1:3], [1:3], [1:3]}
  ROOT t = (f32[3,7,8], f32[20,4], f32[2,2,2]) tuple(a, b, c)
}
",
    );
}

#[test]
fn empty_slices_and_other_results() {
    slices(
        "fusion {
  x = s8[300] parameter(0)
  n = s8[300] negate(x)
  a = s8[0] slice(n), slice={[5:5]}
  b = s8[290] slice(n), slice={[10:300]}
  c = s8[9] slice(n), slice={[1:10]}
  f = s32[300] convert(n)
  ROOT t = (s8[0], s8[290], s32[300], s8[9]) tuple(a, b, f, c)
}
",
    );
}

#[test]
fn one_slice_is_left_to_others() {
    assert_eq!(
        check("fusion {\n  x = f32[300] parameter(0)\n  ROOT a = f32[30] slice(x), slice={[5:35]}\n}\n"),
        ["loop", "loop"]
    );
}
