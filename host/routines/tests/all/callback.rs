//! Calls functions of this process by their numbers.

use std::sync::Arc;

use fusebox_core::hlo::Module;
use fusebox_routines::{RoutineError, routine_for, set_callback};

use crate::support;

fn module(config: &str) -> Module {
    support::module(&format!(
        "ENTRY e {{\n  p = s8[2] parameter(0)\n  ROOT c = s8[2] custom-call(p), \
         custom_call_target=\"fusebox_python_callback\", backend_config=\"{config}\"\n}}\n"
    ))
}

#[test]
fn a_function_is_called_by_its_number() {
    set_callback(Arc::new(|number, arguments, results| {
        results[0].copy_from_slice(arguments[0]);
        if number == 7 { Ok(()) } else { Err(format!("no function {number}")) }
    }));
    let run = |number: u64| {
        let routine = routine_for(&module(&format!("{{id = {number} : ui64}}"))).unwrap();
        let mut result = [0; 2];
        let outcome = support::execute(&*routine, &[&[1, 2]], &mut [&mut result]);
        (outcome, result)
    };
    assert_eq!(run(7), (Ok(()), [1, 2]));
    assert_eq!(run(8).0, Err(RoutineError::Value("no function 8".into())));
    let refused = routine_for(&module("{}")).unwrap_err();
    assert!(refused.to_string().contains("without its number"), "{refused}");
}
