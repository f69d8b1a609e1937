//! Excessive work is an error with a location. The interpreter neither aborts nor runs endlessly.

use fusebox_core::hlo::{Literal, parse_module};
use fusebox_interpreter::{EvalError, Fault, evaluate};

fn error(text: &str) -> EvalError {
    let module = parse_module(text, "m.hlo").unwrap();
    evaluate(&module, &[]).unwrap_err()
}

fn fault(text: &str) -> Fault {
    match error(text) {
        EvalError::Instruction(error) => error.fault,
        other => panic!("{other}"),
    }
}

/// `levels` computations, each of which uses the previous one `per_level` times.
fn tower(levels: usize, per_level: &str) -> String {
    let mut text = "HloModule m\nc0 { p = s32[] parameter(0)\n  ROOT r = s32[] add(p, p) }\n".to_string();
    for level in 1..=levels {
        let body = per_level.replace("INNER", &format!("c{}", level - 1));
        text += &format!("c{level} {{ p = s32[] parameter(0)\n  {body} }}\n");
    }
    text + &format!("ENTRY main {{ p = s32[] constant(1)\n  ROOT r = s32[] call(p), to_apply=c{levels} }}\n")
}

const TWICE: &str = "a = s32[] call(p), to_apply=INNER\n  ROOT r = s32[] call(a), to_apply=INNER";

#[test]
fn calls_that_double_at_each_level_are_refused() {
    let told = error(&tower(40, TWICE)).to_string();
    assert!(told.contains("calls nest so deeply that more than 10000000 instructions"), "{told}");
    assert!(told.starts_with("m.hlo:") && told.contains("`a`") | told.contains("`r`"), "{told}");
    // The limit also counts calls that only pass values on, and branches.
    let passing = "a = s32[] call(p), to_apply=INNER\n  b = s32[] call(p), to_apply=INNER\n  ROOT r = s32[] call(a), to_apply=INNER";
    assert!(matches!(fault(&tower(60, passing)), Fault::TooManyCalls { .. }));
    let branching = "t = pred[] constant(true)\n  a = s32[] conditional(t, p, p), true_computation=INNER, false_computation=INNER\n  ROOT r = s32[] conditional(t, a, a), true_computation=INNER, false_computation=INNER";
    assert!(matches!(fault(&tower(40, branching)), Fault::TooManyCalls { .. }));
}

#[test]
fn calls_that_do_not_multiply_may_nest_deeply() {
    let module = parse_module(&tower(5_000, "ROOT r = s32[] call(p), to_apply=INNER"), "m.hlo").unwrap();
    let Literal::Array(result) = evaluate(&module, &[]).unwrap() else { panic!("no array") };
    assert_eq!(result.as_integer(), Some(2));
    // 2^12 calls are below the limit.
    let module = parse_module(&tower(12, TWICE), "m.hlo").unwrap();
    let Literal::Array(result) = evaluate(&module, &[]).unwrap() else { panic!("no array") };
    assert_eq!(result.as_integer(), Some(0), "doubled 4096 times");
}

#[test]
fn arrays_too_large_for_anyone_are_refused() {
    let text =
        "HloModule m\nENTRY main { z = f32[] constant(0)\n  ROOT r = f32[100000,100000] broadcast(z), dimensions={} }";
    let told = error(text).to_string();
    assert!(told.starts_with("m.hlo:3:") && told.contains("`r`") && told.contains("10000000000 elements"), "{told}");
}
