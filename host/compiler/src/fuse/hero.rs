//! What may stand in whose kernel, so that every costly reordering of memory is some kernel's *hero*.
//!
//! An emitter chooses its iteration space by the hero of a root: the nearest reduce, transpose or concatenate
//! with nothing but an elementwise epilogue behind it (`core::analysis`). One that stands anywhere else is
//! computed element by element inside another's iteration space: a reduce serially, a transpose with
//! strided reads. Both are right where they are small and a launch costs more.

use fusebox_core::analysis::{HeroKind, NormalTranspose, keeps_positions, kind_at_root, kind_inside};
use fusebox_core::cost::{CACHED_BYTES, LAUNCH, bytes, first_array, is_strided};
use fusebox_core::hlo::{Computation, InstrId, Instruction, Op};

/// Elements per result from which a reduce is worth a kernel that shares the work of a result.
const LEAST_REDUCED: f64 = 16.0;

/// Where in a kernel a value is computed, seen from its hero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Read at the root's own position throughout: the hero, or in its epilogue.
    Epilogue,
    /// Elsewhere: in the prologue of the hero, or read at several indices.
    Inside,
}

/// The hero of a kernel, as soon as one is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The instruction.
    pub hero: InstrId,
    /// Whether the kernel has to be made for it.
    pub is_significant: bool,
}

impl Claim {
    /// The claim of a kernel's root.
    pub fn of_root(computation: &Computation, root: InstrId) -> Option<Claim> {
        claim(computation, root, kind_at_root(computation.instruction(root)))
    }

    /// The claim of an instruction with an epilogue behind it.
    pub fn of_inner(computation: &Computation, id: InstrId) -> Option<Claim> {
        claim(computation, id, kind_inside(computation.instruction(id)))
    }
}

fn claim(computation: &Computation, hero: InstrId, kind: HeroKind) -> Option<Claim> {
    let instruction = computation.instruction(hero);
    let is_significant = match kind {
        HeroKind::None => return None,
        HeroKind::Reduce => is_large_reduce(computation, instruction),
        HeroKind::Transpose => is_strided(computation, instruction),
        HeroKind::Concatenate => bytes(instruction) > CACHED_BYTES,
        HeroKind::Scatter | HeroKind::DynamicUpdateSlice => true,
    };
    Some(Claim { hero, is_significant })
}

/// Whether a producer may be computed in a kernel that has the claim `kernel` so far, in that zone.
///
/// * In the epilogue it becomes the hero, or there must be none yet, or one of the same form: two others hide each
///   other, which only does where neither matters.
/// * Elsewhere a large reduce would be serial and a large transpose strided; a concatenate only
///   chooses between reads.
pub fn is_admitted(computation: &Computation, producer: InstrId, zone: Zone, kernel: Option<Claim>) -> bool {
    let Some(own) = Claim::of_inner(computation, producer) else {
        // What must be a root to update in place is no use inside.
        return !matches!(computation.instruction(producer).op, Op::Scatter { .. });
    };
    match (zone, kernel) {
        (Zone::Epilogue, None) => true,
        (Zone::Epilogue, Some(other)) => {
            !own.is_significant && !other.is_significant || go_together(computation, own.hero, other.hero)
        }
        (Zone::Inside, _) => {
            !own.is_significant || kind_inside(computation.instruction(producer)) == HeroKind::Concatenate
        }
    }
}

/// Whether one kernel serves both heroes: reductions of the same dimensions of equal arrays, transposes that
/// move alike, or concatenates, of which one is the hero and the others choose between reads.
fn go_together(computation: &Computation, a: InstrId, b: InstrId) -> bool {
    let (a, b) = (computation.instruction(a), computation.instruction(b));
    let dims = |reduce: &Instruction| {
        reduce.operands.first().and_then(|&id| first_array(computation.instruction(id))).map(|array| array.dims.clone())
    };
    match (&a.op, &b.op) {
        (Op::Reduce { dimensions: one, .. }, Op::Reduce { dimensions: other, .. }) => {
            one == other && dims(a) == dims(b)
        }
        (Op::Transpose { .. }, Op::Transpose { .. }) => {
            let form = NormalTranspose::of(computation, a);
            form.is_some() && form == NormalTranspose::of(computation, b)
        }
        (Op::Concatenate { .. }, Op::Concatenate { .. }) => true,
        _ => false,
    }
}

/// The zone in which `user`, itself in `zone` of a kernel of that claim, has its operands.
pub fn zone_of_operands(computation: &Computation, user: InstrId, zone: Zone, kernel: Option<Claim>) -> Zone {
    let is_hero = kernel.is_some_and(|claim| claim.hero == user);
    let passes_on = zone == Zone::Epilogue && !is_hero && keeps_positions(computation, computation.instruction(user));
    if passes_on { Zone::Epilogue } else { Zone::Inside }
}

/// Whether `operand` is what the root of a kernel updates: it stays in a buffer, so that the update can be made there.
pub fn is_updated_in_place(root: &Instruction, operand: InstrId) -> bool {
    let updated = match root.op {
        Op::DynamicUpdateSlice => 1,
        Op::Scatter { .. } => root.operands.len() / 2,
        _ => 0,
    };
    root.operands[..updated].contains(&operand)
}

fn is_large_reduce(computation: &Computation, reduce: &Instruction) -> bool {
    let read = reduce.operands.first().and_then(|&id| first_array(computation.instruction(id)));
    let (Some(read), Some(result)) = (read, first_array(reduce)) else { return true };
    let (read, results) = (read.element_count() as f64, result.element_count().max(1) as f64);
    read >= LEAST_REDUCED * results && read > LAUNCH
}
