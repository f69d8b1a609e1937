//! Error messages for modules that the interpreter cannot evaluate.

use crate::support::vector;
use fusebox_core::hlo::{Literal, parse_module, verify};
use fusebox_interpreter::evaluate;

/// The message, and whether the verifier accepts the module.
fn message(text: &str, inputs: &[Literal]) -> (String, bool) {
    let module = parse_module(&format!("HloModule m\nENTRY main {{\n{text}\n}}\n"), "m.hlo").unwrap();
    let message = evaluate(&module, inputs).unwrap_err().to_string();
    (message, verify(&module).is_ok())
}

#[test]
fn the_verifier_is_recommended_only_where_it_has_something_to_say() {
    let text = "x = f32[4] parameter(0)\nROOT r = f32[4] custom-call(x), custom_call_target=\"TopK\"";
    let (found, verified) = message(text, &[vector(&[1f32, 2.0, 3.0, 4.0])]);
    assert!(verified && found.contains("not supported by the interpreter: TopK gives a tuple of arrays"), "{found}");
    let text = "x = f32[4] parameter(0)\ny = f32[3] parameter(1)\nROOT r = f32[4] add(x, y)";
    let (found, verified) = message(text, &[vector(&[1f32, 2.0, 3.0, 4.0]), vector(&[1f32, 2.0, 3.0])]);
    assert!(!verified && found.contains("run the verifier on the module first"), "{found}");
}
