//! What repeated work and launches cost, in additions.

use fusebox_core::cost::{first_array, per_element};
use fusebox_core::hlo::{Computation, InstrId, Instruction, Op};

/// Additions that launching a kernel costs.
pub const LAUNCH: f64 = 4000.0;
/// Additions that writing an element and reading it again costs.
pub const ROUND_TRIP: f64 = 4.0;
/// Most additions of a scalar that every block computes for itself instead of reading it.
pub const CHEAP_SCALAR: f64 = 10.0;

/// Cost of one element that is computed where it is used instead of read from a buffer: the operation and the
/// reads of its operands, less the read saved.
pub fn per_repetition(computation: &Computation, instruction: &Instruction) -> f64 {
    let is_read = |operand: &&InstrId| is_read(computation, **operand);
    let reads = instruction.operands.iter().filter(is_read).count() as f64;
    (per_element(computation, instruction) + reads - 1.0).max(0.0)
}

/// Whether a value comes from memory element by element, as long as it is not fused.
fn is_read(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    match instruction.op {
        Op::Iota { .. } => false,
        Op::Broadcast { .. } => is_read(computation, instruction.operands[0]),
        _ => first_array(instruction).is_some_and(|array| array.element_count() > 1),
    }
}
