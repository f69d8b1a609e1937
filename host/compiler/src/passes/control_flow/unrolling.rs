//! Unrolls loops of few iterations. Determines the number of iterations by evaluating the
//! iterations with the known elements of the state.
//!
//! ```text
//! while(0, x: i < 2) { (i + 1, f(x)) }     is     (2, f(f(x)))
//! ```

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Literal, Op};
use fusebox_edit::{Builder, Rewrite};

use crate::equal_instructions::depends_on_operands_alone;
use crate::passes::constant_folding;

/// Largest number of iterations of a loop that is unrolled.
const MOST_TURNS: usize = 8;
/// Largest number of instructions that unrolling several iterations may create.
const MOST_INSTRUCTIONS: usize = 128;

/// The known values of a state's elements.
type KnownState = Vec<Option<Literal>>;

/// Unrolls a loop if it has few iterations.
pub fn unrolled(
    edit: &mut Rewrite,
    instruction: &Instruction,
    condition: ComputationId,
    body: ComputationId,
) -> Option<InstrId> {
    let module = edit.module();
    let (condition, body) = (module.computation(condition), module.computation(body));
    let mut state = edit.mapped(instruction.operands[0]);
    let iteration_count = iteration_count(condition, body, elements(edit, state))?;
    if iteration_count > 1 && (iteration_count * body.instructions.len() > MOST_INSTRUCTIONS || !is_plain(body)) {
        return None;
    }
    for _ in 0..iteration_count {
        state = edit.splice(body, &[state]);
    }
    Some(state)
}

/// Returns the number of iterations if it is known and small. Returns `None` if the condition has
/// effects, loops or branches, because the unrolled program does not evaluate the condition.
fn iteration_count(condition: &Computation, body: &Computation, mut state: KnownState) -> Option<usize> {
    if !is_plain(condition) {
        return None;
    }
    for turn in 0..=MOST_TURNS {
        let values = known(condition, &state);
        let goes_on = values[condition.root.index()].as_ref()?.as_array()?.data.first() != Some(&0);
        if !goes_on {
            return Some(turn);
        }
        let values = known(body, &state);
        let root = body.root_instruction();
        state = match root.op {
            Op::Tuple => root.operands.iter().map(|next| values[next.index()].clone()).collect(),
            _ => return None,
        };
    }
    None
}

fn elements(edit: &Builder, state: InstrId) -> KnownState {
    let value = |id: &InstrId| constant_folding::constant(edit.instruction(*id));
    match edit.instruction(state) {
        Instruction { op: Op::Tuple, operands, .. } => operands.iter().map(value).collect(),
        _ => Vec::new(),
    }
}

/// Evaluates those instructions of a computation whose values the known state determines.
fn known(computation: &Computation, state: &KnownState) -> KnownState {
    let mut values: KnownState = Vec::with_capacity(computation.instructions.len());
    for instruction in &computation.instructions {
        let value = match &instruction.op {
            Op::Constant(_) => constant_folding::constant(instruction),
            Op::GetTupleElement { index } => {
                let is_of_state = matches!(computation.instruction(instruction.operands[0]).op, Op::Parameter { .. });
                let element = usize::try_from(*index).ok().filter(|_| is_of_state);
                element.and_then(|element| state.get(element)?.clone())
            }
            _ => {
                let operands: Option<Vec<Literal>> =
                    instruction.operands.iter().map(|operand| values[operand.index()].clone()).collect();
                operands.and_then(|operands| constant_folding::value(instruction, &operands))
            }
        };
        values.push(value);
    }
    values
}

/// Whether a computation may be executed any number of times, because it has no effects, loops or
/// branches.
fn is_plain(computation: &Computation) -> bool {
    computation.instructions.iter().all(|instruction| match &instruction.op {
        Op::Parameter { .. } => true,
        Op::While { .. } | Op::Conditional { .. } => false,
        op => depends_on_operands_alone(op),
    })
}
