//! What concatenates ask for.

use fusebox_core::cost::{CACHED_BYTES, bytes, first_array, per_element};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim};

/// One concatenate sets the iteration space; wherever others are read, they are a choice between reads, which costs no more
/// inside of another kernel. Only where a large one is bound to the order of another hero, every element makes the choice anew.
pub fn claim(hero: &Candidate, _: &DeviceDescription) -> Option<Claim> {
    let computation = hero.region.computation();
    let concatenate = computation.instruction(hero.anchor);
    let elements = first_array(concatenate)?.element_count() as f64;
    let choices = elements * per_element(computation, concatenate);
    let lost_beside = if bytes(concatenate) > CACHED_BYTES { choices } else { 0.0 };
    Some(Claim { lost_beside, ..Claim::default() })
}
