//! Compares dynamic sizes in loops and branches with the reference interpreter. In the interpreter,
//! arrays have their actual sizes.

use fusebox_conformance::Compiler;

/// The entry computation of all programs. It computes `n`, so that no pass folds it.
const ENTRY: &str = "ENTRY main { x = f32[8] parameter(0)
  y = f32[4,8] parameter(1)
  w = s32[] parameter(2)
  none = s32[] subtract(w, w)
  size = s32[] constant(SIZE)
  n = s32[] add(none, size)
  z = f32[] constant(0)
  d = f32[<=8] set-dimension-size(x, n), dimensions={0}
  s = f32[4,<=8] set-dimension-size(y, n), dimensions={1}
";

const ADD: &str = "HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
";

fn check(computations: &str, lines: &str) {
    let compiler = Compiler::new(Vec::new()).unwrap();
    for size in [0, 1, 3, 8] {
        let entry = ENTRY.replace("SIZE", &size.to_string());
        let text = format!("{ADD}{computations}{entry}{lines}\n}}\n");
        compiler.check(&text).unwrap_or_else(|failure| panic!("size {size}: {failure}\n{text}"));
    }
}

/// Checks a loop. The state `r` of the loop consists of a counter and an array of dynamic size. In
/// each iteration, the lines `turn` compute `b` from `a`.
fn turns(turn: &str) {
    let computations = format!(
        "body {{ p = (s32[], f32[<=8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  a = f32[<=8] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
{turn}
  ROOT t = (s32[], f32[<=8]) tuple(next, b) }}
condition {{ p = (s32[], f32[<=8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  a = f32[<=8] get-tuple-element(p), index=1
  k = s32[] get-dimension-size(a), dimensions={{0}}
  nine = s32[] constant(9)
  most = s32[] subtract(nine, k)
  ROOT c = pred[] compare(i, most), direction=LT }}
"
    );
    check(
        &computations,
        "  start = s32[] constant(0)
  state = (s32[], f32[<=8]) tuple(start, d)
  r = (s32[], f32[<=8]) while(state), condition=condition, body=body
  i = s32[] get-tuple-element(r), index=0
  e = f32[<=8] get-tuple-element(r), index=1
  q = f32[] reduce(e, z), dimensions={0}, to_apply=add
  k = s32[] get-dimension-size(e), dimensions={0}
  ROOT out = (s32[], f32[], s32[]) tuple(i, q, k)",
    );
}

#[test]
fn a_loop_passes_sizes_on() {
    turns("  b = f32[<=8] negate(a)");
    turns("  b = f32[<=8] copy(a)");
}

#[test]
fn every_turn_of_a_loop_has_another_size() {
    turns(
        "  k = s32[] get-dimension-size(a), dimensions={0}
  fewer = s32[] subtract(k, one)
  zero = f32[] constant(0)
  sum = f32[] reduce(a, zero), dimensions={0}, to_apply=add
  whole = f32[8] broadcast(sum), dimensions={}
  b = f32[<=8] set-dimension-size(whole, fewer), dimensions={0}",
    );
}

/// Checks a loop whose initial array is static. Its state is declared as dynamic.
#[test]
fn a_static_array_becomes_a_state_of_dynamic_size() {
    check(
        "body { a = f32[<=8] parameter(0)
  k = s32[] get-dimension-size(a), dimensions={0}
  one = s32[] constant(1)
  fewer = s32[] subtract(k, one)
  ROOT b = f32[<=8] set-dimension-size(a, fewer), dimensions={0} }
condition { a = f32[<=8] parameter(0)
  k = s32[] get-dimension-size(a), dimensions={0}
  five = s32[] constant(5)
  ROOT c = pred[] compare(k, five), direction=GT }
",
        "  r = f32[<=8] while(x), condition=condition, body=body
  q = f32[] reduce(r, z), dimensions={0}, to_apply=add
  k = s32[] get-dimension-size(r), dimensions={0}
  ROOT out = (f32[], s32[], s32[]) tuple(q, k, n)",
    );
}

/// Checks branches that set sizes. One branch has an operand of dynamic size, and the other branch
/// does not.
#[test]
fn branches_give_arrays_of_other_sizes() {
    check(
        "yes { p = (f32[<=8], f32[4,<=8]) parameter(0)
  a = f32[<=8] get-tuple-element(p), index=0
  m = f32[4,<=8] get-tuple-element(p), index=1
  zero = f32[] constant(0)
  sums = f32[<=8] reduce(m, zero), dimensions={0}, to_apply=add
  ROOT r = f32[<=8] add(a, sums) }
no { a = f32[8] parameter(0)
  two = s32[] constant(2)
  ROOT r = f32[<=8] set-dimension-size(a, two), dimensions={0} }
",
        "  three = s32[] constant(3)
  few = pred[] compare(n, three), direction=LT
  t = (f32[<=8], f32[4,<=8]) tuple(d, s)
  r = f32[<=8] conditional(few, t, x), true_computation=yes, false_computation=no
  q = f32[] reduce(r, z), dimensions={0}, to_apply=add
  k = s32[] get-dimension-size(r), dimensions={0}
  ROOT out = (f32[], s32[]) tuple(q, k)",
    );
}

/// Checks a branch in a loop. The result of the branch is static.
#[test]
fn a_branch_in_a_loop_reads_sizes() {
    check(
        "yes { a = f32[<=8] parameter(0)
  ROOT k = s32[] get-dimension-size(a), dimensions={0} }
no { a = f32[<=8] parameter(0)
  k = s32[] get-dimension-size(a), dimensions={0}
  ROOT m = s32[] negate(k) }
body { p = (s32[], f32[<=8], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  a = f32[<=8] get-tuple-element(p), index=1
  before = s32[] get-tuple-element(p), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  k = s32[] conditional(before, a, a), branch_computations={yes, no}
  after = s32[] add(before, k)
  ROOT t = (s32[], f32[<=8], s32[]) tuple(next, a, after) }
condition { p = (s32[], f32[<=8], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  five = s32[] constant(5)
  ROOT c = pred[] compare(i, five), direction=LT }
",
        "  start = s32[] constant(0)
  state = (s32[], f32[<=8], s32[]) tuple(start, d, start)
  r = (s32[], f32[<=8], s32[]) while(state), condition=condition, body=body
  ROOT out = s32[] get-tuple-element(r), index=2",
    );
}

/// Checks a conditional that is declared as dynamic. Its branches are static.
#[test]
fn branches_of_static_size_have_the_bound() {
    check(
        "yes { a = f32[8] parameter(0)
  ROOT r = f32[8] negate(a) }
no { a = f32[8] parameter(0)
  ROOT r = f32[8] abs(a) }
",
        "  r = f32[<=8] conditional(n, x, x), branch_computations={yes, no}
  q = f32[] reduce(r, z), dimensions={0}, to_apply=add
  k = s32[] get-dimension-size(r), dimensions={0}
  ROOT out = (f32[], s32[]) tuple(q, k)",
    );
}

/// Checks two loops that share one body. One of the two is nested in a third loop.
#[test]
fn loops_in_loops_share_a_body() {
    check(
        "inner { a = f32[<=8] parameter(0)
  k = s32[] get-dimension-size(a), dimensions={0}
  one = s32[] constant(1)
  fewer = s32[] subtract(k, one)
  b = f32[<=8] negate(a)
  ROOT r = f32[<=8] set-dimension-size(b, fewer), dimensions={0} }
many { a = f32[<=8] parameter(0)
  k = s32[] get-dimension-size(a), dimensions={0}
  five = s32[] constant(5)
  ROOT c = pred[] compare(k, five), direction=GT }
outer { p = (s32[], f32[<=8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  a = f32[<=8] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  b = f32[<=8] while(a), condition=many, body=inner
  c = f32[<=8] negate(b)
  ROOT t = (s32[], f32[<=8]) tuple(next, c) }
few { p = (s32[], f32[<=8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT }
",
        "  start = s32[] constant(0)
  state = (s32[], f32[<=8]) tuple(start, d)
  all = (s32[], f32[<=8]) while(state), condition=few, body=outer
  e = f32[<=8] get-tuple-element(all), index=1
  f = f32[<=8] while(d), condition=many, body=inner
  q = f32[] reduce(e, z), dimensions={0}, to_apply=add
  p = f32[] reduce(f, z), dimensions={0}, to_apply=add
  k = s32[] get-dimension-size(e), dimensions={0}
  ROOT out = (f32[], f32[], s32[]) tuple(q, p, k)",
    );
}
