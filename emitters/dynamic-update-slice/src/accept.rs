//! Which fusions the emitter takes.

use fusebox_core::emitter::{Fusion, Verdict};

use crate::hazards::hazard;
use crate::updates::Work;

/// What is not updated is not touched.
const SCORE: u32 = 700;

pub fn consider(fusion: &Fusion) -> Verdict {
    let work = match Work::of(fusion) {
        Ok(work) => work,
        Err(decline) => return Verdict::Decline(decline),
    };
    match hazard(fusion, &work) {
        Some(decline) => Verdict::Decline(decline),
        None => Verdict::Accept { score: SCORE },
    }
}
