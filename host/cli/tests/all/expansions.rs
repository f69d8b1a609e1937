//! Compares operations that the compiler expands with the reference interpreter.

use fusebox_conformance::Compiler;

/// Checks a program on small integers. Sums of small integers are exact, so cpu and simt must
/// compute the same bits.
fn check(text: &str) {
    let compiler = Compiler::new(Vec::new()).unwrap();
    compiler.check(text).unwrap_or_else(|failure| panic!("{failure}\n{text}"));
}

#[test]
fn ragged_products() {
    let product = |lhs: &str, rhs: &str, sizes: &str, result: &str, numbers: &str| {
        check(&format!(
            "HloModule m\nENTRY main {{\n  l = {lhs} parameter(0)\n  r = {rhs} parameter(1)\n  s = {sizes} parameter(2)\n  \
             ROOT d = {result} ragged-dot(l, r, s), {numbers}\n}}\n"
        ));
    };
    let rows = "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}";
    for ty in ["f32", "bf16", "s32", "c64"] {
        product(&format!("{ty}[11,4]"), &format!("{ty}[3,4,5]"), "s32[3]", &format!("{ty}[11,5]"), rows);
    }
    product("f32[11,4]", "f32[0,4,5]", "s64[0]", "f32[11,5]", rows);
    let batch = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}, \
                 lhs_ragged_dims={1}, rhs_group_dims={1}";
    for sizes in ["u32[3]", "s64[2,3]"] {
        product("f32[2,7,4]", "f32[2,3,4,5]", sizes, "f32[2,7,5]", batch);
    }
    let contracted = "lhs_contracting_dims={0}, rhs_contracting_dims={1}, lhs_ragged_dims={0}";
    product("f32[9,2]", "f32[3,9]", "s32[4]", "f32[4,2,3]", contracted);
    let batches = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={0}";
    product("f32[4,2,3]", "f32[4,3,5]", "s32[2]", "f32[4,2,5]", batches);
}

/// Checks that the matrices of other groups do not affect a group's result, and that a zero keeps
/// its sign.
#[test]
fn a_ragged_product_keeps_groups_apart() {
    check(
        "HloModule m
ENTRY main {
  p = f32[2,1] parameter(0)
  l = f32[2,1] constant({{1}, {-1}})
  r = f32[2,1,2] constant({{{0, 2}}, {{inf, nan}}})
  s = s32[2] constant({2, 0})
  d = f32[2,2] ragged-dot(l, r, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
  ROOT t = (f32[2,2], f32[2,1]) tuple(d, p)
}
",
    );
}

#[test]
fn scaled_products() {
    for (lhs, rhs, left, right, result) in [
        ("f8e4m3fn[3,8]", "f8e4m3fn[8,5]", "f8e8m0fnu[3,2]", "f8e8m0fnu[4,5]", "f32[3,5]"),
        ("bf16[3,8]", "f32[8,5]", "f32[]", "bf16[8,1]", "f32[3,5]"),
        ("f64[3,8]", "f64[8,5]", "f64[1,1]", "f64[]", "f64[3,5]"),
    ] {
        check(&format!(
            "HloModule m\nENTRY main {{\n  l = {lhs} parameter(0)\n  r = {rhs} parameter(1)\n  a = {left} parameter(2)\n  \
             b = {right} parameter(3)\n  ROOT d = {result} scaled-dot(l, r, a, b), lhs_contracting_dims={{1}}, \
             rhs_contracting_dims={{0}}\n}}\n"
        ));
    }
}

const STEPS: &str = "HloModule m
step {
  x = s32[2] parameter(0)
  y = s32[] parameter(1)
  c = s32[2] parameter(2)
  n = s32[] parameter(3)
  b = s32[2] broadcast(y), dimensions={}
  s = s32[2] add(x, c)
  t = s32[2] multiply(s, b)
  m = s32[] subtract(y, n)
  ROOT r = (s32[2], s32[], s32[2], s32[]) tuple(t, n, s, m)
}
";

#[test]
fn scans_in_both_directions() {
    for is_reverse in [false, true] {
        check(&format!(
            "{STEPS}ENTRY main {{
  x = s32[2,6] parameter(0)
  y = s32[6] parameter(1)
  c = s32[2] parameter(2)
  n = s32[] parameter(3)
  yy = s32[1,6] reshape(y)
  one = s32[6] reshape(yy)
  xt = s32[6,2] transpose(x), dimensions={{1,0}}
  s = (s32[6,2], s32[6], s32[2], s32[]) scan(xt, one, c, n), dimensions={{0}}, num_carries=2, is_reverse={is_reverse}, to_apply=step
  a = s32[6,2] get-tuple-element(s), index=0
  ROOT t = ((s32[6,2], s32[6], s32[2], s32[]), s32[6,2]) tuple(s, a)
}}
"
        ));
    }
}

#[test]
fn computations_in_custom_calls() {
    check(
        "HloModule m
twice {
  x = s32[3] parameter(0)
  ROOT y = s32[3] add(x, x)
}
ENTRY main {
  x = s32[3] parameter(0)
  y = s32[3] custom-call(x), custom_call_target=\"xla.call\", called_computations={twice}
  ROOT z = s32[3] custom-call(y), custom_call_target=\"Sharding\"
}
",
    );
}
