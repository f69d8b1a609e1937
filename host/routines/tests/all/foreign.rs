//! Calls functions that this process registers.

use std::process::Command;
use std::sync::{Arc, Mutex};

use fusebox_core::hlo::{ArrayShape, ElementType, Module};
use fusebox_routines::{
    ForeignCall, ForeignFunction, PreparedCall, Value, Workers, register_foreign_function, routine_for,
};

use crate::support;

/// A function that adds the operands, and remembers its calls.
#[derive(Default)]
struct Adds {
    calls: Mutex<Vec<ForeignCall>>,
}

struct Prepared;

impl ForeignFunction for Adds {
    fn prepare(&self, call: &ForeignCall) -> Result<Box<dyn PreparedCall>, String> {
        self.calls.lock().unwrap().push(call.clone());
        if call.attributes.is_empty() { Err("no attributes".into()) } else { Ok(Box::new(Prepared)) }
    }
}

impl PreparedCall for Prepared {
    fn execute(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], _: &dyn Workers) -> Result<(), String> {
        for (at, result) in results[0].iter_mut().enumerate() {
            *result = arguments[0][at] + arguments[1][at];
        }
        Ok(())
    }
}

fn module(target: &str, config: &str) -> Module {
    support::module(&format!(
        "ENTRY e {{\n  p = u8[2,2] parameter(0)\n  q = u8[2,2] parameter(1)\n  ROOT c = u8[2,2] custom-call(p, q), \
         custom_call_target=\"{target}\", operand_layout_constraints={{u8[2,2]{{0,1}}, u8[2,2]{{1,0}}}}, \
         backend_config={config}\n}}\n"
    ))
}

#[test]
fn a_registered_function_is_called() {
    let function = Arc::new(Adds::default());
    register_foreign_function("test.adds", function.clone());
    let config = "{scale = 2 : i32, fusebox.result_layouts = [[0, 1]]}";
    let routine = routine_for(&module("test.adds", config)).unwrap();
    assert!(function.calls.lock().unwrap().is_empty(), "a call is prepared at its first execution");
    for _ in 0..2 {
        let mut result = [0; 4];
        support::execute(&*routine, &[&[1, 2, 3, 4], &[10, 20, 30, 40]], &mut [&mut result]).unwrap();
        assert_eq!(result, [11, 22, 33, 44]);
    }
    let calls = function.calls.lock().unwrap();
    let layout = |array: &ArrayShape| array.layout.clone().unwrap().minor_to_major;
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].attributes, [("scale".into(), Value::Number(ElementType::S32, "2".into()))]);
    assert_eq!((layout(&calls[0].operands[0]), layout(&calls[0].operands[1])), (vec![0, 1], vec![1, 0]));
    assert_eq!(layout(&calls[0].results[0]), [0, 1]);
}

/// Set in the process that registers a function with the name of a Schur form.
const IN_OWN_PROCESS: &str = "FUSEBOX_REGISTERED_SCHUR_FORM";

/// Runs in a process of its own, because other tests of this program execute fusebox's Schur form.
#[test]
fn a_registered_function_precedes_fuseboxs_schur_form() {
    if std::env::var_os(IN_OWN_PROCESS).is_none() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "foreign::a_registered_function_precedes_fuseboxs_schur_form"]);
        let output = command.env(IN_OWN_PROCESS, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let call = "(f64[2,2], f64[2,2], f64[2], f64[2], s32[], s32[]) custom-call(p), \
                custom_call_target=\"lapack_dgees_ffi\", backend_config={mode = 86 : ui8, sort = 78 : ui8}";
    let module = support::module(&format!("ENTRY e {{\n  p = f64[2,2] parameter(0)\n  ROOT c = {call}\n}}\n"));
    let kind = || format!("{:?}", routine_for(&module).unwrap());
    let own = kind();
    register_foreign_function("lapack_dgees_ffi", Arc::new(Adds::default()));
    assert_ne!(kind(), own);
}

#[test]
fn faults_name_the_function() {
    register_foreign_function("test.refuses", Arc::new(Adds::default()));
    let routine = routine_for(&module("test.refuses", "{}")).unwrap();
    let failed = support::execute(&*routine, &[&[0; 4], &[0; 4]], &mut [&mut [0; 4]]).unwrap_err();
    assert_eq!(failed.to_string(), "test.refuses: no attributes");
    let refused = routine_for(&module("test.unknown", "{}")).unwrap_err();
    assert!(refused.to_string().contains("no function with its name"), "{refused}");
}
