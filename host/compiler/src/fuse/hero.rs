//! Decides which producers a kernel admits. An operation that would be expensive in another
//! operation's iteration space is not admitted, but becomes the *hero* of its own kernel.
//!
//! A kernel gets its iteration space from the hero of its root. The hero is the claimed operation
//! nearest to the root. Only an elementwise epilogue may follow the hero. A claimed operation in
//! any other position is computed element by element in another hero's iteration space. Computing a
//! claimed operation element by element is allowed if it costs less than a launch. The emitters'
//! claims state the cost.

use fusebox_core::analysis::keeps_positions;
use fusebox_core::cost::LAUNCH;
use fusebox_core::hlo::{Computation, InstrId};

use super::claims::Heroes;

/// Position of a value in a kernel relative to the kernel's hero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// The hero or its epilogue: all reads are at the root's own index.
    Epilogue,
    /// The prologue of the hero, or a value that is read at several indices.
    Inside,
}

/// Whether a kernel may compute a producer in a zone. `hero` is the kernel's hero so far.
///
/// In the epilogue zone the producer becomes the hero, or an additional hero of the same form. A
/// producer of another form is admitted only if neither the producer nor the hero loses much time.
/// In the inside zone, the producer's elements are computed one by one.
pub fn is_admitted(heroes: &Heroes, producer: InstrId, zone: Zone, hero: Option<InstrId>) -> bool {
    let Some(own) = heroes.claim(producer) else { return true };
    let lost = match (zone, heroes.claim_before_epilogue(producer), hero) {
        (Zone::Epilogue, Some(_), None) => 0.0,
        (Zone::Epilogue, Some(_), Some(hero)) if heroes.go_together(producer, hero) => 0.0,
        (Zone::Epilogue, Some(_), Some(hero)) => {
            heroes.claim(hero).map_or(0.0, |other| other.lost_beside).max(own.lost_beside)
        }
        _ => own.lost_inside,
    };
    lost <= LAUNCH
}

/// Returns the zone of the operands of `user`. `zone` is the zone of `user` itself in a kernel with
/// this hero.
pub fn zone_of_operands(computation: &Computation, user: InstrId, zone: Zone, hero: Option<InstrId>) -> Zone {
    let passes_on =
        zone == Zone::Epilogue && hero != Some(user) && keeps_positions(computation, computation.instruction(user));
    if passes_on { Zone::Epilogue } else { Zone::Inside }
}
