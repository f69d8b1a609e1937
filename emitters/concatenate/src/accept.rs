//! Check whether the emitter supports a fusion. At least one result must come from a concatenate.

use fusebox_core::analysis::Hero;
use fusebox_core::emitter::{Decline, Fusion};
use fusebox_core::hlo::{Computation, InstrId, Shape};
use fusebox_core::launch::MOST_POINTS;

use crate::operands::{is_concatenate, operands};

/// Largest number of operands of a concatenate. The kernel has a loop nest for each operand.
const MOST_OPERANDS: usize = 512;

/// Returns the hero of a result if this hero is a concatenate.
pub fn concatenate(computation: &Computation, hero: &Hero) -> Option<InstrId> {
    hero.instruction.filter(|&id| is_concatenate(computation, id))
}

/// Checks that the emitter supports a fusion whose results have the heroes `heroes`.
///
/// # Errors
/// Returns the reason if the emitter does not support the fusion.
pub fn check(fusion: &Fusion, heroes: &[Hero]) -> Result<(), Decline> {
    let computation = fusion.computation();
    let decline = |reason: String, id| Err(Decline::at(computation.instruction(id), reason));
    let concatenates: Vec<InstrId> = heroes.iter().filter_map(|hero| concatenate(computation, hero)).collect();
    if concatenates.is_empty() {
        let reason = heroes.first().map_or("the fusion has no results", |hero| &hero.reason);
        return Err(Decline::new(format!("no result comes from a concatenate: {reason}")));
    }
    for &root in &fusion.roots {
        for leaf in computation.instruction(root).shape.leaves() {
            match leaf {
                Shape::Array(array) if array.element_count() > MOST_POINTS => {
                    return decline(
                        format!("a result has {} elements; the limit is {MOST_POINTS}", array.element_count()),
                        root,
                    );
                }
                Shape::Array(_) => {}
                _ => return decline("a result is no array; only arrays can be written".into(), root),
            }
        }
    }
    for hero in concatenates {
        if computation.instruction(hero).shape.as_array().is_none_or(|array| array.element_count() == 0) {
            return decline("the concatenate has no elements".into(), hero);
        }
        let count = operands(computation, hero).len();
        if count > MOST_OPERANDS {
            return decline(format!("{count} operands; the limit is {MOST_OPERANDS}"), hero);
        }
    }
    Ok(())
}
