//! Calls of functions of the process that runs the program. Such a function has no code in the
//! program: a custom call contains its number, and the process says how numbers are called.

use std::sync::{Arc, PoisonError, RwLock};

use fusebox_core::hlo::Op;

use crate::attributes::Attributes;
use crate::{Context, Operation, Routine, RoutineError, Unsupported};

/// Calls the function with a number. Gets the bytes of the operands, writes the bytes of the
/// results, and returns the message of an error.
pub type CallFunction = dyn Fn(u64, &[&[u8]], &mut [&mut [u8]]) -> Result<(), String> + Send + Sync;

/// The way in which this process calls its functions.
static CALL: RwLock<Option<Arc<CallFunction>>> = RwLock::new(None);

/// Sets how this process calls functions by their numbers. Programs that run afterwards use it.
pub fn set_callback(call: Arc<CallFunction>) {
    *CALL.write().unwrap_or_else(PoisonError::into_inner) = Some(call);
}

#[derive(Debug)]
struct Callback {
    number: u64,
}

/// Creates the routine of a custom call with the number of a function in its attribute `id`.
pub fn make(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let is_typed = matches!(&operation.instruction.op, Op::CustomCall(call) if call.called.is_empty());
    let number = Attributes::new(operation.backend_config())?.get("id")?;
    match number.filter(|_| is_typed) {
        Some(number) => Ok(Box::new(Callback { number })),
        None => Err(Unsupported::new("a call of a function without its number in the attribute `id`")),
    }
}

impl Routine for Callback {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], _: &Context<'_>) -> Result<(), RoutineError> {
        let call = CALL.read().unwrap_or_else(PoisonError::into_inner).clone();
        let missing = || RoutineError::Value("the program calls functions of another process".into());
        call.ok_or_else(missing)?(self.number, arguments, results).map_err(RoutineError::Value)
    }

    fn needs_subnormals(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("a call of the process's function {}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fusebox_core::hlo::parse_module;

    use super::set_callback;
    use crate::{CallingThread, Context, RoutineError, routine_for};

    fn module(config: &str) -> String {
        format!(
            "ENTRY e {{\n  p = s8[2] parameter(0)\n  ROOT c = s8[2] custom-call(p), \
             custom_call_target=\"fusebox_python_callback\", backend_config=\"{config}\"\n}}\n"
        )
    }

    #[test]
    fn a_function_is_called_by_its_number() {
        set_callback(Arc::new(|number, arguments, results| {
            results[0].copy_from_slice(arguments[0]);
            if number == 7 { Ok(()) } else { Err(format!("no function {number}")) }
        }));
        let run = |number: u64| {
            let routine = routine_for(&parse_module(&module(&format!("{{id = {number} : ui64}}")), "m").unwrap());
            let context = Context { workers: &CallingThread, generator: &Default::default(), collectives: None };
            let mut result = [0; 2];
            let outcome = routine.unwrap().run(&[&[1, 2]], &mut [&mut result], &context);
            (outcome, result)
        };
        assert_eq!(run(7), (Ok(()), [1, 2]));
        assert_eq!(run(8).0, Err(RoutineError::Value("no function 8".into())));
        let refused = routine_for(&parse_module(&module("{}"), "m").unwrap()).unwrap_err();
        assert!(refused.to_string().contains("without its number"), "{refused}");
    }
}
