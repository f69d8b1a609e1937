//! Check whether the emitter supports a fusion. The kernel must be able to compute the elements of
//! all instructions separately, and the results must be arrays that fit in a machine's memory.

use fusebox_core::emitter::{Decline, Fusion};
use fusebox_core::hlo::{InstrId, Op, Shape};

/// Largest number of points that the emitter accepts. No memory holds more points, and counts up to
/// this number do not overflow in a plan.
const MOST_POINTS: i64 = 1 << 48;

/// Checks that the emitter supports the fusion.
///
/// # Errors
/// Returns the reason if the emitter does not support the fusion.
pub fn check(fusion: &Fusion) -> Result<(), Decline> {
    let computation = fusion.computation();
    for root in fusion.roots.iter().map(|&id| computation.instruction(id)) {
        if let Some(reason) = root.shape.leaves().into_iter().find_map(in_the_way) {
            return Err(Decline::at(root, reason));
        }
    }
    let is_root_tuple = |id: InstrId| id == computation.root && matches!(computation.instruction(id).op, Op::Tuple);
    if let Some(id) = computation.ids().find(|&id| !computation.instruction(id).op.is_elemental() && !is_root_tuple(id))
    {
        let instruction = computation.instruction(id);
        let reason = format!("the elements of a {} cannot be computed one by one", instruction.op.opcode());
        return Err(Decline::at(instruction, reason));
    }
    if fusion.roots.is_empty() { Err(Decline::new("the fusion has no results")) } else { Ok(()) }
}

/// Returns the reason why the kernel cannot write a result, or `None` if the kernel can write it.
fn in_the_way(leaf: &Shape) -> Option<String> {
    match leaf {
        Shape::Array(array) if array.element_count() > MOST_POINTS => {
            Some(format!("a result has {} elements; the limit is {MOST_POINTS}", array.element_count()))
        }
        Shape::Array(_) => None,
        Shape::Token => Some("a result is a token; only arrays can be written".into()),
        _ => Some("a result has no elements; only arrays can be written".into()),
    }
}
