//! Compares kernels with the interpreter. Each program has an operation that applies a computation
//! to elements, and this computation contains loops or branches.

use fusebox_conformance::fusions::Chance;
use fusebox_conformance::literals::{Closeness, mixed};
use fusebox_conformance::{Compiler, Machine, inputs};

/// Functions that the programs apply. `steps` takes the magnitude of its operand and subtracts 3
/// while the value is at least 3, but at most 9 times. It returns the sum of the iteration numbers,
/// which start at 1. `size` branches on the remainder of its operand modulo 4. For the remainder 0
/// it returns `steps`, for 1 it returns the operand, and for other remainders it returns 0.
const FUNCTIONS: &str = "HloModule m
goes_on {
  s = (s32[], (s32[], s32[])) parameter(0)
  inner = (s32[], s32[]) get-tuple-element(s), index=1
  x = s32[] get-tuple-element(inner), index=0
  n = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  nine = s32[] constant(9)
  is_left = pred[] compare(x, three), direction=GE
  is_short = pred[] compare(n, nine), direction=LT
  ROOT r = pred[] and(is_left, is_short)
}
takes {
  s = (s32[], (s32[], s32[])) parameter(0)
  inner = (s32[], s32[]) get-tuple-element(s), index=1
  x = s32[] get-tuple-element(inner), index=0
  y = s32[] get-tuple-element(inner), index=1
  n = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  one = s32[] constant(1)
  less = s32[] subtract(x, three)
  more = s32[] add(n, one)
  ys = s32[] add(y, more)
  pair = (s32[], s32[]) tuple(less, ys)
  ROOT t = (s32[], (s32[], s32[])) tuple(more, pair)
}
steps {
  x = s32[] parameter(0)
  zero = s32[] constant(0)
  a = s32[] abs(x)
  pair = (s32[], s32[]) tuple(a, zero)
  start = (s32[], (s32[], s32[])) tuple(zero, pair)
  end = (s32[], (s32[], s32[])) while(start), condition=goes_on, body=takes
  last = (s32[], s32[]) get-tuple-element(end), index=1
  ROOT y = s32[] get-tuple-element(last), index=1
}
same { ROOT x = s32[] parameter(0) }
nothing {
  x = s32[] parameter(0)
  ROOT zero = s32[] constant(0)
}
size {
  x = s32[] parameter(0)
  four = s32[] constant(4)
  which = s32[] remainder(x, four)
  ROOT r = s32[] conditional(which, x, x, x), branch_computations={steps, same, nothing}
}
larger {
  t = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(t), index=0
  b = s32[] get-tuple-element(t), index=1
  ROOT r = s32[] maximum(a, b)
}
smaller {
  t = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(t), index=0
  b = s32[] get-tuple-element(t), index=1
  ROOT r = s32[] minimum(a, b)
}
combined {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  size = s32[] call(b), to_apply=size
  five = s32[] constant(5)
  is_less = pred[] compare(size, five), direction=LT
  both = (s32[], s32[]) tuple(a, b)
  ROOT r = s32[] conditional(is_less, both, both), true_computation=larger, false_computation=smaller
}
before {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  x = s32[] map(a), dimensions={}, to_apply=size
  y = s32[] conditional(b, b, b), branch_computations={size, steps}
  ROOT r = pred[] compare(x, y), direction=LT
}
";

fn check(entry: &str) {
    let text = format!("{FUNCTIONS}ENTRY e {{\n{entry}\n}}\n");
    let mut chance = Chance::new(7);
    let inputs = inputs(&text, |shape, _| mixed(shape, &mut chance)).unwrap_or_else(|failure| panic!("{failure}"));
    let compiler = Compiler::new(Vec::new()).unwrap();
    let made = compiler.compared(&text, [Machine::cpu(), Machine::simt()], &inputs, Closeness::Bits);
    made.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn comparators() {
    check("  p = s32[3,50] parameter(0)\n  ROOT s = s32[3,50] sort(p), dimensions={1}, to_apply=before");
}

#[test]
fn maps() {
    check("  p = s32[200] parameter(0)\n  ROOT m = s32[200] map(p), dimensions={0}, to_apply=size");
}

/// The result of the combiner depends on the order of its operands. So each reduction has a single
/// element per result.
#[test]
fn reductions() {
    check(
        "  p = s32[40,1] parameter(0)\n  z = s32[] constant(4)
  ROOT r = s32[40] reduce(p, z), dimensions={1}, to_apply=combined",
    );
    check(
        "  p = s32[40] parameter(0)\n  z = s32[] constant(4)
  ROOT r = s32[20] reduce-window(p, z), window={size=1 stride=2}, to_apply=combined",
    );
}

#[test]
fn scatters() {
    check(
        "  p = s32[40] parameter(0)\n  i = s32[7,1] constant({{3},{8},{39},{0},{20},{50},{21}})\n  u = s32[7] parameter(1)
  ROOT s = s32[40] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=combined",
    );
    check(
        "  p = s32[8,8] parameter(0)\n  u = s32[4,4] parameter(1)\n  z = s32[] constant(4)
  ROOT s = s32[8,8] select-and-scatter(p, u, z), window={size=2x2 stride=2x2}, select=before, scatter=combined",
    );
}
