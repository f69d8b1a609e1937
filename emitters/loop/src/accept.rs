//! Which fusions the emitter takes: all whose elements can be computed one by one, and whose results are arrays of a
//! size that fits a machine.

use fusebox_core::emitter::{Decline, Fusion, Verdict};
use fusebox_core::hlo::{InstrId, Op, Shape};

/// The lowest score of all emitters: loop takes what nobody else wants.
const SCORE: u32 = 100;

/// More points than any memory holds; below it, no count in a plan overflows.
const MOST_POINTS: i64 = 1 << 48;

/// Accepts or says why not.
pub fn consider(fusion: &Fusion) -> Verdict {
    let computation = fusion.computation();
    let unwritable = fusion.roots.iter().map(|&id| computation.instruction(id)).find_map(|root| {
        let reason = root.shape.leaves().into_iter().find_map(in_the_way)?;
        Some(Decline { reason, instruction: Some(root.name.clone()) })
    });
    match unwritable.or_else(|| not_elemental(fusion)) {
        Some(decline) => Verdict::Decline(decline),
        None if fusion.roots.is_empty() => {
            Verdict::Decline(Decline { reason: "the fusion has no results".into(), instruction: None })
        }
        None => Verdict::Accept { score: SCORE },
    }
}

/// The first operation whose elements cannot be computed one by one.
fn not_elemental(fusion: &Fusion) -> Option<Decline> {
    let computation = fusion.computation();
    let is_root_tuple = |id: InstrId| id == computation.root && matches!(computation.instruction(id).op, Op::Tuple);
    let id = computation.ids().find(|&id| !computation.instruction(id).op.is_elemental() && !is_root_tuple(id))?;
    let instruction = computation.instruction(id);
    let reason = format!("the elements of a {} cannot be computed one by one", instruction.op.opcode());
    Some(Decline { reason, instruction: Some(instruction.name.clone()) })
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
