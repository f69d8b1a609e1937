//! The routine of annotations, which return their operands unchanged.

use crate::{Context, Operation, Routine, RoutineError, Unsupported};

#[derive(Debug)]
struct Identity;

/// Creates a routine that copies each operand to the result of the same index.
pub fn make(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let (arguments, results) = (operation.arguments(), operation.results());
    let fits = arguments.len() == results.len() && arguments.iter().zip(&results).all(|(a, b)| a.same_type_and_dims(b));
    if fits { Ok(Box::new(Identity)) } else { Err(Unsupported::new("an annotation whose result is not its operands")) }
}

impl Routine for Identity {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], _: &Context<'_>) -> Result<(), RoutineError> {
        for (result, argument) in results.iter_mut().zip(arguments) {
            if result.len() != argument.len() {
                return Err(RoutineError::Buffer);
            }
            result.copy_from_slice(argument);
        }
        Ok(())
    }

    fn describe(&self) -> String {
        "a copy of the operands".into()
    }
}
