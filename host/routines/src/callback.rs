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
