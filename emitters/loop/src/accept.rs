//! Which fusions the emitter takes: all whose results are arrays of a size that fits a machine.

use fusebox_core::emitter::{Decline, Fusion, Verdict};
use fusebox_core::hlo::Shape;

/// The lowest score of all emitters: loop takes what nobody else wants.
const SCORE: u32 = 100;

/// More points than any memory holds; below it, no count in a plan overflows.
const MOST_POINTS: i64 = 1 << 48;

/// Operations are not looked at: which of them can be computed one point at a time is the host's
/// business, and an operation invented tomorrow is welcome.
pub fn consider(fusion: &Fusion) -> Verdict {
    let computation = fusion.computation();
    let declined = fusion.roots.iter().map(|&id| computation.instruction(id)).find_map(|root| {
        let reason = root.shape.leaves().into_iter().find_map(in_the_way)?;
        Some(Decline { reason, instruction: Some(root.name.clone()) })
    });
    match declined {
        Some(decline) => Verdict::Decline(decline),
        None if fusion.roots.is_empty() => {
            Verdict::Decline(Decline { reason: "the fusion has no results".into(), instruction: None })
        }
        None => Verdict::Accept { score: SCORE },
    }
}

/// Why a result cannot be written, if it cannot.
fn in_the_way(leaf: &Shape) -> Option<String> {
    match leaf {
        Shape::Array(array) if array.element_count() > MOST_POINTS => {
            Some(format!("a result has {} elements; {MOST_POINTS} are the most", array.element_count()))
        }
        Shape::Array(_) => None,
        Shape::Token => Some("a result is a token; only arrays can be written".into()),
        _ => Some("a result has no elements; only arrays can be written".into()),
    }
}
