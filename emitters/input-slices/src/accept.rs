//! Which fusions the emitter takes: those with several slices among their results.

use fusebox_core::analysis::{HeroKind, heroes};
use fusebox_core::emitter::{Decline, Fusion, Verdict};
use fusebox_core::hlo::{Op, Shape};
use fusebox_core::launch::MOST_POINTS;

use crate::slices::reshaped;

/// Every slice has blocks of its own, or shares an element that is computed once.
const SCORE: u32 = 500;
/// Another result asks for a kernel of its own kind.
const SCORE_BESIDE_OTHERS: u32 = 140;

pub fn consider(fusion: &Fusion) -> Verdict {
    let computation = fusion.computation();
    let decline = |reason: String, instruction| Verdict::Decline(Decline { reason, instruction });
    for &root in &fusion.roots {
        let name = Some(computation.instruction(root).name.clone());
        for leaf in computation.instruction(root).shape.leaves() {
            match leaf {
                Shape::Array(array) if array.element_count() > MOST_POINTS => {
                    return decline(
                        format!("a result has {} elements; {MOST_POINTS} are the most", array.element_count()),
                        name,
                    );
                }
                Shape::Array(_) => {}
                _ => return decline("a result is no array; only arrays can be written".into(), name),
            }
        }
    }
    let is_slice = |&&root: &&_| matches!(computation.instruction(reshaped(computation, root)).op, Op::Slice { .. });
    match fusion.roots.iter().filter(is_slice).count() {
        0 => decline("no result is a slice".into(), None),
        1 => decline("only one result is a slice".into(), None),
        _ if heroes(fusion).iter().any(|hero| hero.kind != HeroKind::None) => {
            Verdict::Accept { score: SCORE_BESIDE_OTHERS }
        }
        _ => Verdict::Accept { score: SCORE },
    }
}
