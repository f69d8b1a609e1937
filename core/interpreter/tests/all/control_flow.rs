//! Calls, loops, branches, tuples; and errors.

use crate::support::{ADD, elements, run, scalar, try_run, values, vector, with};
use fusebox_core::hlo::{InstrId, parse_module};
use fusebox_interpreter::{EvalError, Fault, evaluate_computation, evaluate_instruction};

#[test]
fn a_loop_runs_until_its_condition_fails() {
    let condition = "below { t = (s32[], f32[2]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n\
        n = s32[] constant(10)\n ROOT r = pred[] compare(i, n), direction=LT }";
    let step = "step { t = (s32[], f32[2]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n\
        x = f32[2] get-tuple-element(t), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n\
        y = f32[2] add(x, x)\n ROOT r = (s32[], f32[2]) tuple(j, y) }";
    let text = "i = s32[] parameter(0)\nx = f32[2] parameter(1)\nt = (s32[], f32[2]) tuple(i, x)\n\
        ROOT w = (s32[], f32[2]) while(t), condition=below, body=step";
    let results = elements(&with(&[condition, step], text, &[scalar(7i32), vector(&[1f32, 3.0])]));
    assert_eq!((values::<i32>(&results[0]), values::<f32>(&results[1])), (vec![10], vec![8.0, 24.0]));
    let none = elements(&with(&[condition, step], text, &[scalar(99i32), vector(&[1f32, 3.0])]));
    assert_eq!(values::<f32>(&none[1]), [1.0, 3.0]);
}

#[test]
fn branches_out_of_range_take_the_last() {
    let branches = "a { x = s32[] parameter(0)\n ROOT r = s32[] negate(x) }\nb { ROOT x = s32[] parameter(0) }";
    let text = "i = s32[] parameter(0)\nx = s32[] constant(5)\n\
        ROOT r = s32[] conditional(i, x, x), branch_computations={a, b}";
    for (index, want) in [(0, -5), (1, 5), (2, 5), (-1, 5)] {
        assert_eq!(values::<i32>(&with(&[branches], text, &[scalar(index)])), [want]);
    }
    let text = "p = pred[] parameter(0)\nx = s32[] constant(5)\n\
        ROOT r = s32[] conditional(p, x, x), true_computation=a, false_computation=b";
    assert_eq!(values::<i32>(&with(&[branches], text, &[scalar(true)])), [-5]);
}

#[test]
fn an_element_read_twice_is_still_there() {
    // The interpreter may move a tuple's elements out, but only for their last reader.
    let text = "x = s32[2] parameter(0)\nt = (s32[2], s32[2]) tuple(x, x)\na = s32[2] get-tuple-element(t), index=0\n\
        i = s32[] constant(0)\nu = s32[1] constant({9})\nd = s32[2] dynamic-update-slice(a, u, i)\n\
        b = s32[2] get-tuple-element(t), index=0\nc = s32[2] get-tuple-element(t), index=1\n\
        ROOT r = (s32[2], s32[2], s32[2]) tuple(d, b, c)";
    let results = elements(&with(&[], text, &[vector(&[1i32, 2])]));
    assert_eq!(values::<i32>(&results[0]), [9, 2]);
    assert_eq!(values::<i32>(&results[1]), [1, 2]);
    assert_eq!(values::<i32>(&results[2]), [1, 2]);
}

#[test]
fn calls_nested_a_thousand_deep() {
    let mut text = String::from(
        "HloModule m\nf0 { x = s32[] parameter(0)\n one = s32[] constant(1)\n ROOT r = s32[] add(x, one) }\n",
    );
    for k in 1..1000 {
        text += &format!("f{k} {{ x = s32[] parameter(0)\n ROOT r = s32[] call(x), to_apply=f{} }}\n", k - 1);
    }
    text += "ENTRY e { x = s32[] parameter(0)\n ROOT r = s32[] call(x), to_apply=f999 }\n";
    assert_eq!(values::<i32>(&run(&text, &[scalar(41i32)])), [42]);
}

#[test]
fn dead_instructions_are_not_evaluated() {
    let text =
        "x = f32[2] parameter(0)\nd = f32[2] custom-call(x), custom_call_target=\"nobody\"\nROOT r = f32[2] negate(x)";
    assert_eq!(values::<f32>(&with(&[], text, &[vector(&[1f32, 2.0])])), [-1.0, -2.0]);
}

#[test]
fn one_device_exchanges_with_itself() {
    let text = "x = f32[2] parameter(0)\nROOT r = f32[2] all-reduce(x), replica_groups={}, to_apply=add";
    assert_eq!(values::<f32>(&with(&[ADD], text, &[vector(&[1f32, 2.0])])), [1.0, 2.0]);
}

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    let text = "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] custom-call(x), custom_call_target=\"nobody\"\n}\n";
    match try_run(text, &[vector(&[1f32, 2.0])]) {
        Err(EvalError::Instruction(error)) => {
            assert_eq!((error.span.line, error.instruction.as_str(), error.computation.as_str()), (4, "y", "e"));
            assert!(matches!(&error.fault, Fault::Unsupported(what) if what.contains("nobody")));
            assert!(error.to_string().starts_with("test.hlo:4:"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fault_in_a_called_computation_keeps_its_own_place() {
    let text = "HloModule m\nf {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] custom-call(x), custom_call_target=\"nobody\"\n}\n\
        ENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] call(x), to_apply=f\n}\n";
    match try_run(text, &[vector(&[1f32, 2.0])]) {
        Err(EvalError::Instruction(error)) => assert_eq!((error.span.line, error.computation.as_str()), (4, "f")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_are_checked() {
    let text = "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] negate(x)\n}\n";
    for inputs in [vec![], vec![vector(&[1f32])], vec![vector(&[1i32, 2])], vec![scalar(1f32), scalar(1f32)]] {
        assert!(matches!(try_run(text, &inputs), Err(EvalError::Arguments { .. })), "{inputs:?}");
    }
}

#[test]
fn arrays_beyond_the_limit_are_refused_before_they_are_made() {
    let text = "HloModule m\nENTRY e {\n  c = f32[] constant(1)\n  ROOT r = f32[1099511627776] broadcast(c), dimensions={}\n}\n";
    match try_run(text, &[]) {
        Err(EvalError::Instruction(error)) => assert!(matches!(error.fault, Fault::TooLarge { .. })),
        other => panic!("{other:?}"),
    }
}

#[test]
fn single_instructions_and_computations() {
    let text = "HloModule m\nf {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] negate(x)\n}\n\
        ENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] call(x), to_apply=f\n}\n";
    let module = parse_module(text, "test.hlo").unwrap();
    let f = module.find_computation("f").unwrap();
    let x = [vector(&[1f32, 2.0])];
    assert_eq!(values::<f32>(&evaluate_computation(&module, f, &x).unwrap()), [-1.0, -2.0]);
    assert_eq!(values::<f32>(&evaluate_instruction(&module, f, InstrId(1), &x).unwrap()), [-1.0, -2.0]);
    let entry = module.entry.unwrap();
    assert_eq!(values::<f32>(&evaluate_instruction(&module, entry, InstrId(1), &x).unwrap()), [-1.0, -2.0]);
}
