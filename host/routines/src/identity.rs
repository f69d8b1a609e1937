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

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::parse_module;

    use crate::{CallingThread, Context, routine_for};

    fn module(result: &str) -> String {
        format!(
            "ENTRY e {{\n  p = s32[2] parameter(0)\n  ROOT c = {result} custom-call(p), custom_call_target=\"xla.sdy.x\"\n}}\n"
        )
    }

    #[test]
    fn annotations_hand_on_their_operand() {
        let routine = routine_for(&parse_module(&module("s32[2]"), "m").unwrap()).unwrap();
        let mut result = [0; 8];
        routine
            .run(
                &[&[1, 2, 3, 4, 5, 6, 7, 8]],
                &mut [&mut result],
                &Context { workers: &CallingThread, generator: &Default::default(), collectives: None },
            )
            .unwrap();
        assert_eq!(result, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_result_that_is_not_the_operand_is_refused() {
        let refused = routine_for(&parse_module(&module("s32[3]"), "m").unwrap()).unwrap_err();
        assert!(refused.to_string().contains("whose result is not its operands"), "{refused}");
    }
}
