//! Checks modules with deeply nested loops and branches, and operations with thousands of operands.
//! A module that compiles must also run. A module that is nested too deeply must be refused with a
//! message.

use std::fmt::Write;

use crate::program::Workplace;
use fusebox_core::hlo::MAX_CALL_DEPTH;

/// Returns a module with conditionals that are nested to this depth. Each conditional adds one if
/// its first branch is taken.
fn conditionals(depth: u32) -> String {
    let mut text = String::from(
        "HloModule m
b0 {
  ROOT x = s32[4] parameter(0)
}
other {
  x = s32[4] parameter(0)
  ROOT n = s32[4] negate(x)
}
",
    );
    for level in 1..depth {
        text += &format!("b{level} {{\n  x = s32[4] parameter(0)\n{}}}\n", branch(level));
    }
    text + &format!("ENTRY main {{\n  x = s32[4] parameter(0)\n{}}}\n", branch(depth))
}

fn branch(level: u32) -> String {
    let inner = level - 1;
    format!(
        "  one = s32[4] constant({{1, 1, 1, 1}})
  more = s32[4] add(x, one)
  first = s32[1] slice(more), slice={{[0:1]}}
  scalar = s32[] reshape(first)
  zero = s32[] constant(0)
  p = pred[] compare(scalar, zero), direction=GT
  ROOT r = s32[4] conditional(p, more, more), true_computation=b{inner}, false_computation=other
"
    )
}

/// Returns a module with loops that are nested to this depth. Each loop has one iteration, because
/// all loops share one counter.
fn loops(depth: u32) -> String {
    let mut text = String::from(
        "HloModule m
cond {
  s = (s32[], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(1)
  ROOT c = pred[] compare(i, n), direction=LT
}
b0 {
  s = (s32[], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = s32[4] get-tuple-element(s), index=1
  y = s32[4] add(x, x)
  ROOT t = (s32[], s32[4]) tuple(j, y)
}
",
    );
    for level in 1..depth {
        write!(text, "b{level} {{\n{}", repeated(level)).unwrap();
        text += "  i = s32[] get-tuple-element(w), index=0
  x = s32[4] get-tuple-element(w), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], s32[4]) tuple(j, x)
}
";
    }
    text + &format!("ENTRY main {{\n{}  ROOT x = s32[4] get-tuple-element(w), index=1\n}}\n", repeated(depth))
}

fn repeated(level: u32) -> String {
    let inner = level - 1;
    format!("  s = (s32[], s32[4]) parameter(0)\n  w = (s32[], s32[4]) while(s), condition=cond, body=b{inner}\n")
}

#[test]
fn what_is_nested_as_deep_as_allowed_compiles_and_runs() {
    let place = Workplace::with_module(&conditionals(MAX_CALL_DEPTH));
    place.run(&["compile", "m.hlo", "--emit", "executable", "-o", "m.fusebox"]).succeeded();
    place.run(&["run", "m.fusebox"]).succeeded();
}

#[test]
fn what_is_nested_deeper_is_refused_at_its_place() {
    for depth in [MAX_CALL_DEPTH + 1, 10_000] {
        for text in [conditionals(depth), loops(depth)] {
            let place = Workplace::with_module(&text);
            let words = format!("nested more than {MAX_CALL_DEPTH} deep");
            place.run(&["compile", "m.hlo", "--emit", "executable", "-o", "m.fusebox"]).failed(1, &["m.hlo:", &words]);
            assert!(!place.path("m.fusebox").exists());
        }
    }
}

/// Checks thousands of slices of three rows each. If each slice were a kernel, compilation would
/// take minutes.
#[test]
fn thousands_of_slices_are_put_together() {
    let mut text = String::from("HloModule m\nENTRY main {\n  p = s32[9000,2] parameter(0)\n");
    for number in 0..4000 {
        let start = number * 7 % 8990;
        writeln!(text, "  s{number} = s32[3,2] slice(p), slice={{[{start}:{}], [0:2]}}", start + 3).unwrap();
    }
    let names: Vec<String> = (0..4000).map(|number| format!("s{number}")).collect();
    let names = names.join(", ");
    writeln!(text, "  ROOT r = s32[12000,2] concatenate({names}), dimensions={{0}}\n}}").unwrap();
    let place = Workplace::with_module(&text);
    place.run(&["run", "m.hlo", "--check"]).succeeded();
}

/// Checks hundreds of operations in a row that move elements. To compose the indexing maps of all
/// of them would take minutes.
#[test]
fn hundreds_of_movements_in_a_row_are_compiled() {
    let mut text = String::from("HloModule m\nENTRY main {\n  v0 = s32[6,10] parameter(0)\n");
    for step in 0..100 {
        let at = 4 * step;
        let (next, last) = (at + 1, at + 4);
        writeln!(text, "  v{next} = s32[10,6] transpose(v{at}), dimensions={{1,0}}").unwrap();
        writeln!(text, "  v{} = s32[5,12] reshape(v{next})", at + 2).unwrap();
        writeln!(text, "  v{} = s32[5,12] reverse(v{}), dimensions={{0}}", at + 3, at + 2).unwrap();
        writeln!(text, "  v{last} = s32[6,10] reshape(v{})", at + 3).unwrap();
    }
    text += "  ROOT r = s32[6,10] reverse(v400), dimensions={1}\n}\n";
    Workplace::with_module(&text).run(&["run", "m.hlo", "--check"]).succeeded();
}
