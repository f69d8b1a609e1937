//! Checks sorts with comparators that no routine recognises. The compiler compiles such comparators
//! for every target.

use crate::program::Workplace;
use fusebox_conformance::fusions::Chance;
use fusebox_conformance::literals::{Closeness, mixed};
use fusebox_conformance::{Compiler, Machine, inputs};

/// Returns a module that sorts arrays of these types by a comparator. The first two parameters of
/// the comparator are `a0` and `b0`.
fn sort(types: &[&str], dims: &str, dimension: usize, comparator: &str) -> String {
    let mut text = String::from("HloModule m\nless {\n");
    for (number, ty) in types.iter().enumerate() {
        let (first, second) = (2 * number, 2 * number + 1);
        text += &format!("  a{number} = {ty}[] parameter({first})\n  b{number} = {ty}[] parameter({second})\n");
    }
    text += &format!("{comparator}\n}}\nENTRY main {{\n");
    for (number, ty) in types.iter().enumerate() {
        text += &format!("  p{number} = {ty}[{dims}] parameter({number})\n");
    }
    let list = |item: &dyn Fn(usize) -> String| (0..types.len()).map(item).collect::<Vec<_>>().join(", ");
    let shapes = list(&|number| format!("{}[{dims}]", types[number]));
    let result = if types.len() == 1 { shapes } else { format!("({shapes})") };
    let operands = list(&|number| format!("p{number}"));
    text + &format!(
        "  ROOT s = {result} sort({operands}), dimensions={{{dimension}}}, is_stable=true, to_apply=less\n}}\n"
    )
}

fn check(text: &str, seed: u64) {
    let mut chance = Chance::new(seed);
    let inputs = inputs(text, |shape, _| mixed(shape, &mut chance)).unwrap_or_else(|failure| panic!("{failure}"));
    let compiler = Compiler::new(Vec::new()).unwrap();
    let made = compiler.compared(text, [Machine::cpu(), Machine::simt()], &inputs, Closeness::Bits);
    made.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn comparators_that_compute() {
    let magnitude = "  x = TYPE[] abs(a0)\n  y = TYPE[] abs(b0)\n  ROOT r = pred[] compare(x, y), direction=LT";
    for ty in ["f32", "f64", "bf16", "f16", "f8e5m2", "s8", "s64", "s4"] {
        check(&sort(&[ty], "3,40", 1, &magnitude.replace("TYPE", ty)), 1);
    }
    let by_sum = "  x = f32[] add(a0, a1)\n  y = f32[] add(b0, b1)\n  ROOT r = pred[] compare(x, y), direction=GT";
    check(&sort(&["f32", "f32"], "9,11", 0, by_sum), 2);
    let by_magnitude = "  x = f32[] abs(a1)\n  y = f32[] abs(b1)\n  ROOT r = pred[] compare(x, y), direction=LT";
    check(&sort(&["u16", "c64", "pred"], "200", 0, by_magnitude), 3);
    check(&sort(&["pred"], "70", 0, "  ROOT r = pred[] and(a0, b0)"), 4);
    check(&sort(&["c128"], "70", 0, "  ROOT r = pred[] compare(a0, b0), direction=LT"), 5);
}

/// Checks comparators that contradict themselves. The result must be a permutation of the operand,
/// and must be the same in every run.
#[test]
fn comparators_that_contradict_themselves() {
    for root in [
        "compare(a0, b0), direction=LE",
        "compare(a0, b0), direction=NE",
        "compare(a0, a0), direction=EQ",
        "constant(true)",
        "constant(false)",
    ] {
        check(&sort(&["f32"], "2,60", 1, &format!("  ROOT r = pred[] {root}")), 6);
    }
}

#[test]
fn explain_says_how_a_sort_is_done() {
    let recognised = sort(&["f32", "s32"], "8", 0, "  ROOT r = pred[] compare(a0, b0), direction=LT");
    let said = Workplace::with_module(&recognised).run(&["explain", "m.hlo"]).succeeded();
    assert!(said.contains("sort is executed by a host routine: radix sort of positions by 32-bit keys"), "{said}");
    let other = sort(&["f32"], "8", 0, "  ROOT r = pred[] compare(a0, b0), direction=LE");
    let place = Workplace::with_module(&other);
    let said = place.run(&["explain", "m.hlo"]).succeeded();
    assert!(said.contains("host routine: merge sort of positions by the compiled comparator"), "{said}");
    place.run(&["compile", "m.hlo", "--target", "simt", "--emit", "executable", "-o", "m.fusebox"]).succeeded();
    assert_eq!(place.run(&["run", "m.fusebox"]).succeeded(), place.run(&["run", "m.hlo", "--interpreter"]).succeeded());
}

/// Checks a sort of which the program uses only the first elements. Equal elements of these types
/// have equal bits.
#[test]
fn the_first_elements_of_a_sort() {
    for (ty, position, direction) in [("s32", "s32", "GT"), ("u8", "s64", "LT"), ("f32", "u16", "GT")] {
        let order = if ty == "f32" { ", type=TOTALORDER" } else { "" };
        let text = format!(
            "HloModule m\nless {{\n  a = {ty}[] parameter(0)\n  b = {ty}[] parameter(1)\n  i = {position}[] parameter(2)\n  \
             j = {position}[] parameter(3)\n  ROOT r = pred[] compare(a, b), direction={direction}{order}\n}}\n\
             ENTRY main {{\n  x = {ty}[3,500] parameter(0)\n  i = {position}[3,500] iota(), iota_dimension=1\n  \
             s = ({ty}[3,500], {position}[3,500]) sort(x, i), dimensions={{1}}, is_stable=true, to_apply=less\n  \
             v = {ty}[3,500] get-tuple-element(s), index=0\n  w = {position}[3,500] get-tuple-element(s), index=1\n  \
             f = {ty}[3,3] slice(v), slice={{[0:3], [0:3]}}\n  g = {position}[3,3] slice(w), slice={{[0:3], [0:3]}}\n  \
             ROOT t = ({ty}[3,3], {position}[3,3]) tuple(f, g)\n}}\n"
        );
        check(&text, 7);
        let said = Workplace::with_module(&text).run(&["explain", "m.hlo"]).succeeded();
        assert!(said.contains("topk is executed by a host routine: top 3 by the maxima of blocks"), "{said}");
    }
}
