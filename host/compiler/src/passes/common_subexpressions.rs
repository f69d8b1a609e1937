//! Merges instructions that compute the same value.

use std::collections::HashMap;

use fusebox_core::hlo::{Computation, InstrId, Instruction, Module, Op, Shape};

use crate::CompileError;
use crate::rebuild::Rebuild;

/// Everything that determines the value of an instruction.
#[derive(PartialEq, Eq, Hash)]
enum ValueKey {
    Constant(fusebox_core::hlo::Literal),
    Operation { op: String, shape: Shape, operands: Vec<InstrId> },
}

/// Merges equal instructions within each computation.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for computation in &mut module.computations {
        *computation = merge_equal(computation);
    }
    Ok(())
}

/// Returns the computation with equal instructions merged.
pub fn merge_equal(computation: &Computation) -> Computation {
    let mut seen: HashMap<ValueKey, InstrId> = HashMap::new();
    let mut rebuild = Rebuild::new(computation);
    for (id, instruction) in computation.ids().zip(&computation.instructions) {
        let key = key(&rebuild, instruction);
        let new = match key.as_ref().and_then(|key| seen.get(key)) {
            Some(&earlier) => earlier,
            None => rebuild.copy(instruction),
        };
        seen.extend(key.map(|key| (key, new)));
        rebuild.set(id, new);
    }
    rebuild.finish()
}

/// Whether equal operands always yield an equal value. False for parameters, random numbers and
/// operations with effects.
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

/// Returns the key of an instruction. `None` if the instruction must not be merged.
fn key(rebuild: &Rebuild, instruction: &Instruction) -> Option<ValueKey> {
    match &instruction.op {
        op if !depends_on_operands_alone(op) => None,
        Op::Constant(literal) => Some(ValueKey::Constant(literal.clone())),
        op => Some(ValueKey::Operation {
            op: format!("{op:?}"),
            shape: instruction.shape.clone(),
            operands: rebuild.operands(instruction),
        }),
    }
}
