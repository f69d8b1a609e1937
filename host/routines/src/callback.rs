//! Calls functions of the process that runs the program. The program does not contain the code of
//! these functions: a custom call contains only the number of a function. The process sets a
//! callback that calls the function with a given number.

use std::sync::{Arc, PoisonError, RwLock};

use fusebox_core::hlo::Op;

use crate::attributes::Attributes;
use crate::{Context, Operation, Routine, RoutineError, Unsupported};

/// A callback that calls the function with a given number. The callback gets the bytes of the
/// operands and writes the bytes of the results. If the call fails, the callback returns a message.
pub type CallFunction = dyn Fn(u64, &[&[u8]], &mut [&mut [u8]]) -> Result<(), String> + Send + Sync;

/// The callback with which this process calls its functions.
static CALL: RwLock<Option<Arc<CallFunction>>> = RwLock::new(None);

/// Sets the callback with which this process calls functions by their numbers. Programs that run
/// afterwards use the new callback.
pub fn set_callback(call: Arc<CallFunction>) {
    *CALL.write().unwrap_or_else(PoisonError::into_inner) = Some(call);
}

#[derive(Debug)]
struct Callback {
    number: u64,
}

/// Creates the routine of a custom call whose attribute `id` is the number of a function.
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
