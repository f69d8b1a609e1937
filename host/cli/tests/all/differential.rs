//! Compiles operations for cpu and simt, and compares the results with those of the reference
//! interpreter.

use fusebox_conformance::fusions::Chance;
use fusebox_conformance::literals::{Closeness, mixed};
use fusebox_conformance::{Compiler, Machine, inputs};

/// Computations used by the cases.
const COMMON: &str = "
add_f32 { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT a = f32[] add(p, q) }
max_s32 { p = s32[] parameter(0)
  q = s32[] parameter(1)
  ROOT a = s32[] maximum(p, q) }
arg_max { v0 = f32[] parameter(0)
  i0 = s32[] parameter(1)
  v1 = f32[] parameter(2)
  i1 = s32[] parameter(3)
  gt = pred[] compare(v0, v1), direction=GT
  eq = pred[] compare(v0, v1), direction=EQ
  lt = pred[] compare(i0, i1), direction=LT
  tie = pred[] and(eq, lt)
  first = pred[] or(gt, tie)
  v = f32[] select(first, v0, v1)
  i = s32[] select(first, i0, i1)
  ROOT r = (f32[], s32[]) tuple(v, i) }
lt_f32 { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT c = pred[] compare(p, q), direction=LT }
below_20 { s = (s32[], s32[3], s32[3]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  m = s32[] constant(20)
  ROOT c = pred[] compare(n, m), direction=LT }
fibonacci { s = (s32[], s32[3], s32[3]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  a = s32[3] get-tuple-element(s), index=1
  b = s32[3] get-tuple-element(s), index=2
  one = s32[] constant(1)
  m = s32[] add(n, one)
  c = s32[3] add(a, b)
  ROOT t = (s32[], s32[3], s32[3]) tuple(m, b, c) }
swap { s = (s32[], s32[3], s32[3]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  a = s32[3] get-tuple-element(s), index=1
  b = s32[3] get-tuple-element(s), index=2
  three = s32[] constant(3)
  m = s32[] add(n, three)
  ROOT t = (s32[], s32[3], s32[3]) tuple(m, b, a) }
same { s = (s32[], s32[3], s32[3]) parameter(0)
  ROOT a = s32[3] get-tuple-element(s), index=1 }
other { s = (s32[], s32[3], s32[3]) parameter(0)
  b = s32[3] get-tuple-element(s), index=2
  ROOT n = s32[3] not(b) }
both { s = (s32[], s32[3], s32[3]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  two = s32[] constant(2)
  m = s32[] add(n, two)
  a = s32[3] get-tuple-element(s), index=1
  t = (s32[], s32[3], s32[3]) while(s), condition=below_20, body=fibonacci
  b = s32[3] get-tuple-element(t), index=1
  three = s32[] constant(3)
  which = s32[] remainder(n, three)
  c = s32[3] conditional(which, s, t, s), branch_computations={same, other, other}
  d = s32[3] subtract(c, b)
  ROOT r = (s32[], s32[3], s32[3]) tuple(m, d, a) }
";

fn check(entry: &str) {
    let text = format!("HloModule m\n{COMMON}\nENTRY main {{\n{entry}\n}}\n");
    let mut chance = Chance::new(1);
    let inputs = inputs(&text, |shape, _| mixed(shape, &mut chance)).unwrap_or_else(|failure| panic!("{failure}"));
    let compiler = Compiler::new(Vec::new()).unwrap();
    let made = compiler.compared(&text, [Machine::cpu(), Machine::simt()], &inputs, Closeness::Units);
    made.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn elementwise_floats_of_every_width() {
    for ty in ["bf16", "f16", "f32", "f64"] {
        for op in ["abs", "negate", "floor", "ceil", "exponential", "tanh", "sine", "logistic", "sign", "cbrt", "erf"] {
            check(&format!("  x = {ty}[37] parameter(0)\n  ROOT r = {ty}[37] {op}(x)"));
        }
        for op in ["add", "subtract", "multiply", "divide", "maximum", "minimum", "atan2", "remainder"] {
            check(&format!("  x = {ty}[37] parameter(0)\n  y = {ty}[37] parameter(1)\n  ROOT r = {ty}[37] {op}(x, y)"));
        }
    }
}

#[test]
fn elementwise_integers_of_every_width() {
    for ty in ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"] {
        for op in [
            "add",
            "subtract",
            "multiply",
            "divide",
            "remainder",
            "maximum",
            "minimum",
            "and",
            "or",
            "xor",
            "shift-left",
            "shift-right-logical",
            "shift-right-arithmetic",
            "power",
        ] {
            check(&format!("  x = {ty}[67] parameter(0)\n  y = {ty}[67] parameter(1)\n  ROOT r = {ty}[67] {op}(x, y)"));
        }
        for op in ["not", "popcnt", "count-leading-zeros", "negate", "sign"] {
            if !(ty.starts_with('u') && op == "sign") {
                check(&format!("  x = {ty}[67] parameter(0)\n  ROOT r = {ty}[67] {op}(x)"));
            }
        }
    }
}

/// Checks a component of a cross product. It is read through slices that are rows of another
/// concatenation. Only one part of each inner concatenation is read, but intervals alone cannot
/// show this.
#[test]
fn a_concatenate_of_which_one_part_is_read() {
    check(
        "  x = f32[3,1] parameter(0)\n  y = f32[3,1] parameter(1)\n  z = f32[3,1] parameter(2)\n  a = f32[3,1] add(x, y)
  b = f32[3,1] subtract(y, z)\n  c = f32[3,1] multiply(x, z)\n  d = f32[3,3] concatenate(a, b, c), dimensions={1}
  e = f32[3,3] concatenate(b, c, a), dimensions={1}\n  f = f32[3,3] concatenate(c, a, b), dimensions={1}
  g = f32[3,9] concatenate(d, e, f), dimensions={1}\n  h = f32[3,3,3] reshape(g)
  i = f32[3,3,1] slice(h), slice={[0:3],[0:3],[2:3]}\n  ROOT r = f32[3,3] reshape(i)",
    );
}

#[test]
fn conversions_between_all_types() {
    let types = ["pred", "s8", "u8", "s32", "u32", "s64", "u64", "f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2"];
    for from in types {
        let converts: Vec<String> =
            types.iter().enumerate().map(|(i, to)| format!("  c{i} = {to}[41] convert(x)\n")).collect();
        let results: Vec<String> = types.iter().map(|to| format!("{to}[41]")).collect();
        let names: Vec<String> = (0..types.len()).map(|i| format!("c{i}")).collect();
        check(&format!(
            "  x = {from}[41] parameter(0)\n{}  ROOT t = ({}) tuple({})",
            converts.concat(),
            results.join(", "),
            names.join(", ")
        ));
    }
}

#[test]
fn shapes() {
    for op in [
        "f32[3,2] transpose(x), dimensions={1,0}",
        "f32[6] reshape(x)",
        "f32[2,3] reverse(x), dimensions={0,1}",
        "f32[4,2,3] broadcast(x), dimensions={1,2}",
        "f32[1,2] slice(x), slice={[1:2],[0:3:2]}",
        "f32[4,3] concatenate(x, x), dimensions={0}",
        "f32[5,4] pad(x, z), padding=1_2x-1_0_1",
        "f32[2,3] iota(), iota_dimension=1",
    ] {
        check(&format!("  x = f32[2,3] parameter(0)\n  z = f32[] parameter(1)\n  ROOT r = {op}"));
    }
}

#[test]
fn dynamic_slices_clamp_their_starts() {
    for start in ["-5", "0", "1", "9"] {
        check(&format!(
            "  x = s32[4,5] parameter(0)\n  u = s32[2,2] parameter(1)\n  a = s32[] constant({start})\n  b = s32[] constant(2)\n  \
             d = s32[2,3] dynamic-slice(x, a, b), dynamic_slice_sizes={{2,3}}\n  \
             w = s32[4,5] dynamic-update-slice(x, u, a, b)\n  ROOT t = (s32[2,3], s32[4,5]) tuple(d, w)"
        ));
    }
}

#[test]
fn gathers() {
    check(
        "  x = f32[5,3] parameter(0)\n  i = s32[4,1] parameter(1)\n  ROOT g = f32[4,3] gather(x, i), offset_dims={1}, \
         collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
    );
}

#[test]
fn reductions_and_windows() {
    check(
        "  x = f32[7,9] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[9] reduce(x, z), dimensions={0}, to_apply=add_f32",
    );
    check(
        "  x = s32[7,9] parameter(0)\n  z = s32[] constant(-2147483648)\n  ROOT r = s32[7] reduce(x, z), dimensions={1}, to_apply=max_s32",
    );
    check(
        "  x = f32[7,9] parameter(0)\n  i = s32[7,9] iota(), iota_dimension=1\n  l = f32[] constant(-inf)\n  z = s32[] constant(0)\n  \
         ROOT r = (f32[7], s32[7]) reduce(x, i, l, z), dimensions={1}, to_apply=arg_max",
    );
    check(
        "  x = f32[8,8] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[4,4] reduce-window(x, z), window={size=3x3 stride=2x2 pad=1_0x1_0}, to_apply=add_f32",
    );
}

#[test]
fn contractions() {
    check(
        "  x = f32[4,6] parameter(0)\n  y = f32[6,5] parameter(1)\n  ROOT d = f32[4,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    );
    check(
        "  x = f32[1,6,6,2] parameter(0)\n  k = f32[3,3,2,4] parameter(1)\n  ROOT c = f32[1,6,6,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
    );
}

#[test]
fn complex_numbers() {
    check(
        "  x = f32[9] parameter(0)\n  y = f32[9] parameter(1)\n  c = c64[9] complex(x, y)\n  m = c64[9] multiply(c, c)\n  e = c64[9] exponential(m)\n  \
         a = f32[9] abs(c)\n  r = f32[9] real(e)\n  ROOT t = (c64[9], f32[9], f32[9]) tuple(m, a, r)",
    );
}

#[test]
fn values_used_by_many_kernels_and_results() {
    check(
        "  x = f32[16] parameter(0)\n  z = f32[] constant(0)\n  e = f32[16] exponential(x)\n  s = f32[] reduce(e, z), dimensions={0}, to_apply=add_f32\n  \
         b = f32[16] broadcast(s), dimensions={}\n  d = f32[16] divide(e, b)\n  q = f32[16] sort(d), dimensions={0}, to_apply=lt_f32\n  \
         ROOT t = (f32[16], f32[16], f32[], f32[16]) tuple(d, q, s, x)",
    );
}

#[test]
fn results_that_are_parameters_constants_and_repeated() {
    check(
        "  x = f32[3] parameter(0)\n  c = f32[3] constant({1, 2, 3})\n  n = f32[3] negate(x)\n  \
         ROOT t = (f32[3], f32[3], f32[3], f32[3], f32[3]) tuple(x, c, n, n, x)",
    );
}

#[test]
fn loops_and_branches() {
    let state = "  n = s32[] constant(1)\n  a = s32[3] parameter(0)\n  b = s32[3] parameter(1)\n  s = (s32[], s32[3], s32[3]) tuple(n, a, b)\n";
    for body in ["fibonacci", "swap", "both"] {
        check(&format!("{state}  ROOT w = (s32[], s32[3], s32[3]) while(s), condition=below_20, body={body}"));
    }
    check(&format!(
        "{state}  v = (s32[], s32[3], s32[3]) while(s), condition=below_20, body=swap\n  \
         ROOT w = (s32[], s32[3], s32[3]) while(v), condition=below_20, body=fibonacci"
    ));
    for choice in ["-1", "0", "1", "7"] {
        check(&format!(
            "{state}  i = s32[] constant({choice})\n  \
             ROOT c = s32[3] conditional(i, s, s), branch_computations={{same, other}}"
        ));
    }
    check(&format!(
        "{state}  p = pred[] parameter(2)\n  \
         c = s32[3] conditional(p, s, s), true_computation=same, false_computation=other\n  ROOT r = s32[3] negate(c)"
    ));
}
