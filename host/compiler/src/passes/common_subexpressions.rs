//! Merges instructions that compute the same value.

use std::collections::HashMap;

use fusebox_core::hlo::{InstrId, Instruction, Module, Op, Shape};

use crate::CompileError;
use crate::rebuild::Rebuild;

/// What decides the value of an instruction.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Constant(fusebox_core::hlo::Literal),
    Operation { op: String, shape: Shape, operands: Vec<InstrId> },
}

/// Merges within each computation.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for computation in &mut module.computations {
        let mut seen: HashMap<Key, InstrId> = HashMap::new();
        *computation = Rebuild::each(computation, |rebuild, _, instruction| {
            let Some(key) = key(rebuild, instruction) else { return Ok::<_, CompileError>(None) };
            if let Some(&earlier) = seen.get(&key) {
                return Ok(Some(earlier));
            }
            let new = rebuild.copy(instruction);
            seen.insert(key, new);
            Ok(Some(new))
        })?;
    }
    Ok(())
}

/// Whether an operation has the same value whenever its operands have: parameters, effects and random numbers have not.
pub fn depends_on_operands_alone(op: &Op) -> bool {
    !matches!(
        op,
        Op::Parameter { .. }
            | Op::CustomCall(_)
            | Op::Other { .. }
            | Op::AfterAll
            | Op::Rng { .. }
            | Op::RngGetAndUpdateState { .. }
            | Op::StochasticConvert
    )
}

/// `None` for what must not be merged.
fn key(rebuild: &Rebuild, instruction: &Instruction) -> Option<Key> {
    match &instruction.op {
        op if !depends_on_operands_alone(op) => None,
        Op::Constant(literal) => Some(Key::Constant(literal.clone())),
        op => Some(Key::Operation {
            op: format!("{op:?}"),
            shape: instruction.shape.clone(),
            operands: rebuild.operands(instruction),
        }),
    }
}
