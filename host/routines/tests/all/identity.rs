//! Executes annotations, which return their operands.

use fusebox_core::hlo::Module;
use fusebox_routines::routine_for;

use crate::support;

fn module(result: &str) -> Module {
    support::module(&format!(
        "ENTRY e {{\n  p = s32[2] parameter(0)\n  ROOT c = {result} custom-call(p), custom_call_target=\"xla.sdy.x\"\n}}\n"
    ))
}

#[test]
fn annotations_hand_on_their_operand() {
    let operand = [1, 2, 3, 4, 5, 6, 7, 8];
    let results = support::results(&module("s32[2]"), &[&operand], &support::WORKERS);
    assert_eq!(results[0].bytes(), operand);
}

#[test]
fn a_result_that_is_not_the_operand_is_refused() {
    let refused = routine_for(&module("s32[3]")).unwrap_err();
    assert!(refused.to_string().contains("whose result is not its operands"), "{refused}");
}
