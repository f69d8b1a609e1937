//! Removes tuples whose elements are read one by one.

use fusebox_core::hlo::{InstrId, Instruction, Module, Op};

use crate::CompileError;
use crate::rebuild::Rebuild;

/// Replaces `get-tuple-element(tuple(…))` by the element, and a `tuple` of all elements of one
/// tuple by that tuple.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for computation in &mut module.computations {
        if computation.instructions.iter().any(|i| matches!(i.op, Op::Tuple)) {
            *computation = Rebuild::each(computation, |rebuild, _, instruction| {
                Ok::<_, CompileError>(match instruction.op {
                    Op::GetTupleElement { index } => element(rebuild, instruction, index),
                    Op::Tuple => whole(rebuild, instruction),
                    _ => None,
                })
            })?;
        }
    }
    Ok(())
}

fn element(rebuild: &Rebuild, instruction: &Instruction, index: i64) -> Option<InstrId> {
    let tuple = rebuild.instruction(rebuild.mapped(instruction.operands[0]));
    matches!(tuple.op, Op::Tuple).then(|| tuple.operands[index as usize])
}

fn whole(rebuild: &Rebuild, instruction: &Instruction) -> Option<InstrId> {
    let mut source = None;
    for (position, &operand) in instruction.operands.iter().enumerate() {
        let element = rebuild.instruction(rebuild.mapped(operand));
        let Op::GetTupleElement { index } = element.op else { return None };
        if index != position as i64 || source.is_some_and(|s| s != element.operands[0]) {
            return None;
        }
        source = Some(element.operands[0]);
    }
    let source = source?;
    (rebuild.instruction(source).shape == instruction.shape).then_some(source)
}
