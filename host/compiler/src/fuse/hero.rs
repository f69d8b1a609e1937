//! What may stand in whose kernel, so that every operation that is costly elsewhere is some kernel's *hero*.
//!
//! A kernel takes its iteration space from the hero of its root: the nearest operation for which an emitter asks for a
//! kernel, with nothing but an elementwise epilogue behind it. One that stands anywhere else is computed element by
//! element inside another's iteration space. That is right where it costs less than a launch, and how much it costs the
//! emitters say (`claims`).

use fusebox_core::analysis::keeps_positions;
use fusebox_core::cost::LAUNCH;
use fusebox_core::hlo::{Computation, InstrId};

use super::claims::Heroes;

/// Where in a kernel a value is computed, seen from its hero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Read at the root's own position throughout: the hero, or in its epilogue.
    Epilogue,
    /// Elsewhere: in the prologue of the hero, or read at several indices.
    Inside,
}

/// Whether a producer may be computed in a kernel that has this hero so far, in that zone.
///
/// In the epilogue it becomes the hero, or joins one of the same form; two others hide each other, which only does where
/// neither loses much. Elsewhere its elements are computed one by one.
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

/// The zone in which `user`, itself in `zone` of a kernel of that hero, has its operands.
pub fn zone_of_operands(computation: &Computation, user: InstrId, zone: Zone, hero: Option<InstrId>) -> Zone {
    let passes_on =
        zone == Zone::Epilogue && hero != Some(user) && keeps_positions(computation, computation.instruction(user));
    if passes_on { Zone::Epilogue } else { Zone::Inside }
}
