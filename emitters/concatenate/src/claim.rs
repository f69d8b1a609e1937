//! Claims for concatenates.

use fusebox_core::cost::{CACHED_BYTES, bytes, first_array, per_element};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim};

/// Returns the claim for a concatenate. In the iteration space of another hero, a kernel selects an
/// operand for each element of the concatenate. In a prologue, the selection costs the same in
/// every kernel, so the claim states no loss. If one epilogue uses the concatenate and another
/// hero, and the concatenate has more than [`CACHED_BYTES`] bytes, the claim states the selections
/// as a loss.
pub fn claim(hero: &Candidate, _: &DeviceDescription) -> Option<Claim> {
    let computation = hero.region.computation();
    let concatenate = computation.instruction(hero.anchor);
    let elements = first_array(concatenate)?.element_count() as f64;
    let choices = elements * per_element(computation, concatenate);
    let lost_beside = if bytes(concatenate) > CACHED_BYTES { choices } else { 0.0 };
    Some(Claim { lost_beside, ..Claim::default() })
}
