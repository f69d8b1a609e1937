//! Checks parameters and results of dynamic sizes. A program accepts arrays of any size within the
//! bound, and returns only the elements within the actual size.

use fusebox_conformance::fusions::Chance;
use fusebox_conformance::literals::{Closeness, mixed};
use fusebox_conformance::{Compiler, Machine};
use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType};

fn array(element: ElementType, dims: &[i64]) -> ArrayLiteral {
    mixed(&ArrayShape::new(element, dims), &mut Chance::new(3))
}

fn check(text: &str, inputs: &[ArrayLiteral]) {
    let compiler = Compiler::new(Vec::new()).unwrap();
    let made = compiler.compared(text, [Machine::cpu(), Machine::simt()], inputs, Closeness::Bits);
    made.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn an_array_goes_through() {
    let text = "HloModule m\nENTRY e { x = f32[<=8] parameter(0)\n  ROOT r = f32[<=8] negate(x) }";
    for size in [0, 1, 5, 8] {
        check(text, &[array(ElementType::F32, &[size])]);
    }
}

/// Checks dynamic major and minor dimensions, a nested tuple as result, and element types of
/// several widths.
#[test]
fn several_arrays() {
    let text = "HloModule m
add { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b) }
ENTRY e {
  x = s32[3,<=5,<=7] parameter(0)
  y = u8[<=6] parameter(1)
  fixed = s32[4] parameter(2)
  zero = s32[] constant(0)
  sums = s32[3,<=7] reduce(x, zero), dimensions={1}, to_apply=add
  turned = s32[<=7,3,<=5] transpose(x), dimensions={2,0,1}
  size = s32[] get-dimension-size(x), dimensions={1}
  inner = (u8[<=6], s32[4]) tuple(y, fixed)
  ROOT r = (s32[3,<=7], s32[<=7,3,<=5], (u8[<=6], s32[4]), s32[]) tuple(sums, turned, inner, size)
}";
    for [a, b, c] in [[5, 7, 6], [0, 7, 1], [2, 0, 0], [4, 3, 5]] {
        let (s32, u8) = (ElementType::S32, ElementType::U8);
        check(text, &[array(s32, &[3, a, b]), array(u8, &[c]), array(s32, &[4])]);
    }
}

/// Checks a program that returns only the positive elements. The program computes the number of
/// these elements.
#[test]
fn a_size_that_the_program_finds() {
    let text = "HloModule m
add { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b) }
positive_first { a = f32[] parameter(0)
  b = f32[] parameter(1)
  zero = f32[] constant(0)
  x = pred[] compare(a, zero), direction=GT
  y = pred[] compare(b, zero), direction=GT
  ROOT c = pred[] compare(x, y), direction=GT }
ENTRY e {
  x = f32[40] parameter(0)
  zero = f32[] constant(0)
  none = s32[] constant(0)
  zeros = f32[40] broadcast(zero), dimensions={}
  is_positive = pred[40] compare(x, zeros), direction=GT
  ones = s32[40] convert(is_positive)
  count = s32[] reduce(ones, none), dimensions={0}, to_apply=add
  sorted = f32[40] sort(x), dimensions={0}, is_stable=true, to_apply=positive_first
  ROOT r = f32[<=40] set-dimension-size(sorted, count), dimensions={0}
}";
    check(text, &[array(ElementType::F32, &[40])]);
}

#[test]
fn a_donated_array_of_dynamic_size() {
    let text = "HloModule m, input_output_alias={ {}: (0, {}, must-alias) }
ENTRY e { x = f32[<=3,<=8] parameter(0)\n  ROOT r = f32[<=3,<=8] negate(x) }";
    for dims in [[3, 8], [2, 5], [0, 1]] {
        check(text, &[array(ElementType::F32, &dims)]);
    }
}

#[test]
fn larger_arrays_are_refused() {
    let text = "HloModule m\nENTRY e { x = f32[<=8,2] parameter(0)\n  ROOT r = f32[<=8,2] negate(x) }";
    let compiler = Compiler::new(Vec::new()).unwrap();
    for dims in [&[9, 2][..], &[3, 1], &[3]] {
        let run = compiler.run(text, &Machine::cpu(), &[array(ElementType::F32, dims)]);
        let message = run.err().unwrap().to_string();
        assert!(message.contains("f32[<=8,2]"), "{message}");
    }
}
