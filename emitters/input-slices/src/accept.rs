//! Which fusions the emitter takes: those with several slices among their results.

use fusebox_core::analysis::{moves_elements, nearest};
use fusebox_core::emitter::{Decline, Fusion};
use fusebox_core::hlo::{InstrId, Op, Shape};
use fusebox_core::launch::MOST_POINTS;

use crate::slices::reshaped;

/// Every slice has blocks of its own, or shares an element that is computed once.
const SCORE: u32 = 500;
/// Another result asks for a kernel of its own kind.
const SCORE_BESIDE_OTHERS: u32 = 140;

/// The score of a fusion.
///
/// # Errors
/// Why it is none to take.
pub fn score(fusion: &Fusion) -> Result<u32, Decline> {
    let computation = fusion.computation();
    for root in fusion.roots.iter().map(|&root| computation.instruction(root)) {
        for leaf in root.shape.leaves() {
            match leaf {
                Shape::Array(array) if array.element_count() > MOST_POINTS => {
                    let count = array.element_count();
                    return Err(Decline::at(
                        root,
                        format!("a result has {count} elements; {MOST_POINTS} are the most"),
                    ));
                }
                Shape::Array(_) => {}
                _ => return Err(Decline::at(root, "a result is no array; only arrays can be written")),
            }
        }
    }
    let is_slice = |&&root: &&_| matches!(computation.instruction(reshaped(computation, root)).op, Op::Slice { .. });
    let is_other = |id: InstrId| {
        let instruction = computation.instruction(id);
        matches!(instruction.op, Op::Reduce { .. } | Op::Concatenate { .. }) || moves_elements(instruction)
    };
    match fusion.roots.iter().filter(is_slice).count() {
        0 => Err(Decline::new("no result is a slice")),
        1 => Err(Decline::new("only one result is a slice")),
        _ if fusion.roots.iter().any(|&root| !nearest(computation, root, is_other).is_empty()) => {
            Ok(SCORE_BESIDE_OTHERS)
        }
        _ => Ok(SCORE),
    }
}
