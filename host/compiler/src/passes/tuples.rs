//! Removes tuples whose elements are read one by one.

use fusebox_core::hlo::{InstrId, Instruction, Module, Op};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;

/// Replaces `get-tuple-element(tuple(…))` by the element, and a `tuple` of all elements of one
/// tuple by that tuple.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in module.ids() {
        if module.computation(id).instructions.iter().any(|i| matches!(i.op, Op::Tuple)) {
            rewrite(module, id, |edit, _, instruction| {
                Ok::<_, CompileError>(match instruction.op {
                    Op::GetTupleElement { index } => element(edit, instruction, index),
                    Op::Tuple => whole(edit, instruction),
                    _ => None,
                })
            })?;
        }
    }
    Ok(())
}

fn element(edit: &Rewrite, instruction: &Instruction, index: i64) -> Option<InstrId> {
    let tuple = edit.instruction(edit.mapped(instruction.operands[0]));
    matches!(tuple.op, Op::Tuple).then(|| tuple.operands[index as usize])
}

fn whole(edit: &Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let mut source = None;
    for (position, &operand) in instruction.operands.iter().enumerate() {
        let element = edit.instruction(edit.mapped(operand));
        let Op::GetTupleElement { index } = element.op else { return None };
        if index != position as i64 || source.is_some_and(|s| s != element.operands[0]) {
            return None;
        }
        source = Some(element.operands[0]);
    }
    let source = source?;
    (*edit.shape(source) == instruction.shape).then_some(source)
}
