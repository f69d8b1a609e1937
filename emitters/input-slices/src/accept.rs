//! Check whether the emitter supports a fusion. The emitter supports a fusion only if at least two
//! results are slices.

use fusebox_core::emitter::{Decline, Fusion};
use fusebox_core::hlo::{Op, Shape};
use fusebox_core::launch::MOST_POINTS;

use crate::reshapes::reshaped;

/// Checks that the emitter supports the fusion.
///
/// # Errors
/// Returns the reason if the emitter does not support the fusion.
pub fn check(fusion: &Fusion) -> Result<(), Decline> {
    let computation = fusion.computation();
    for root in fusion.roots.iter().map(|&root| computation.instruction(root)) {
        for leaf in root.shape.leaves() {
            match leaf {
                Shape::Array(array) if array.element_count() > MOST_POINTS => {
                    let count = array.element_count();
                    return Err(Decline::at(
                        root,
                        format!("a result has {count} elements; the limit is {MOST_POINTS}"),
                    ));
                }
                Shape::Array(_) => {}
                _ => return Err(Decline::at(root, "a result is no array; only arrays can be written")),
            }
        }
    }
    let is_slice = |&&root: &&_| matches!(computation.instruction(reshaped(computation, root)).op, Op::Slice { .. });
    match fusion.roots.iter().filter(is_slice).count() {
        0 => Err(Decline::new("no result is a slice")),
        1 => Err(Decline::new("only one result is a slice")),
        _ => Ok(()),
    }
}
