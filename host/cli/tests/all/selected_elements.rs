//! Compares `select-and-scatter` with the interpreter, for windows that overlap, touch, or leave
//! gaps.

use fusebox_conformance::fusions::Chance;
use fusebox_conformance::literals::{Closeness, mixed};
use fusebox_conformance::{Compiler, Machine, inputs};

/// Checks one `select-and-scatter`. The elements have few different values. Because many elements
/// are equal, a window must select the first of several equal elements. Sums of the scattered
/// values are rounded differently if the order changes.
fn check(array: &str, source: &str, window: &str, [element, select, scatter]: [&str; 3]) {
    let text = format!(
        "HloModule m
selects {{
  a = {element}[] parameter(0)\n  b = {element}[] parameter(1)
  ROOT c = pred[] compare(a, b), direction={select}
}}
scatters {{
  a = {element}[] parameter(0)\n  b = {element}[] parameter(1)
  ROOT c = {element}[] {scatter}
}}
ENTRY e {{
  x = s8[{array}] parameter(0)
  few = {element}[{array}] convert(x)
  y = {element}[{source}] parameter(1)
  zero = {element}[] constant(3)
  ROOT r = {element}[{array}] select-and-scatter(few, y, zero), window={{{window}}}, select=selects, scatter=scatters
}}
"
    );
    let mut chance = Chance::new(7);
    let inputs = inputs(&text, |shape, _| mixed(shape, &mut chance)).unwrap_or_else(|failure| panic!("{failure}"));
    let compiler = Compiler::new(Vec::new()).unwrap();
    let made = compiler.compared(&text, [Machine::cpu(), Machine::simt()], &inputs, Closeness::Bits);
    made.unwrap_or_else(|failure| panic!("{window}: {failure}"));
}

const LARGEST: [&str; 3] = ["f32", "GE", "add(a, b)"];

#[test]
fn windows_overlap() {
    check("40", "19", "size=3 stride=2", LARGEST);
    check("40", "20", "size=5 stride=2 pad=1_2", LARGEST);
    check("2,9,8,3", "2,9,8,3", "size=1x3x3x1 pad=0_0x1_1x1_1x0_0", LARGEST);
    check("7,8,9", "4,3,7", "size=2x4x3 stride=2x3x1 pad=1_0x1_1x0_0", ["f32", "LE", "add(a, b)"]);
}

#[test]
fn windows_touch_or_leave_gaps() {
    check("4,6,6,2", "4,3,3,2", "size=1x2x2x1 stride=1x2x2x1", LARGEST);
    check("4,7,6,2", "4,3,3,2", "size=1x2x2x1 stride=1x2x2x1", LARGEST);
    check("31", "8", "size=2 stride=4", LARGEST);
    check("31", "8", "size=2 stride=4 pad=2_0", LARGEST);
}

/// Checks two arrays: one has a window that contains only padding, and the other loses elements at
/// both ends.
#[test]
fn windows_lie_beyond_the_array() {
    check("6", "5", "size=2 stride=2 pad=2_2", LARGEST);
    check("20", "7", "size=3 stride=2 pad=-2_-3", LARGEST);
}

#[test]
fn of_other_types() {
    check("5,30", "5,15", "size=1x3 stride=1x2 pad=0_0x1_0", ["s32", "LT", "maximum(b, a)"]);
    check("5,30", "5,15", "size=1x3 stride=1x2 pad=0_0x1_0", ["f64", "GT", "multiply(a, b)"]);
    check("5,30", "5,15", "size=1x3 stride=1x2 pad=0_0x1_0", ["bf16", "GE", "add(a, b)"]);
}

/// Checks a non-commutative combiner. Where windows overlap, HLO does not define the order.
#[test]
fn differences() {
    check("20", "9", "size=3 stride=2", ["f32", "GE", "subtract(a, b)"]);
    check("20", "10", "size=2 stride=2", ["f32", "GE", "subtract(b, a)"]);
}

/// Checks a stride that is larger than the array, and strides whose products overflow.
#[test]
fn windows_far_apart() {
    check("6", "2", "size=2 stride=100 pad=100_4", LARGEST);
    check("8", "3", "size=2 stride=4000000000000000000 pad=4000000000000000000_4000000000000000000", LARGEST);
}

/// Checks a case in which an element belongs to so many windows that not every window is expanded.
#[test]
fn many_windows_over_one_element() {
    check("60", "13", "size=48", LARGEST);
}
