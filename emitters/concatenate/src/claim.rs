//! Claims for concatenates.

use fusebox_core::cost::{CACHED_BYTES, bytes, first_array, per_element};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim};

/// Returns the claim for a concatenate. One concatenate determines the iteration space of a kernel.
/// For all other concatenates, the kernel chooses an operand for each element, and this choice
/// costs the same in every kernel. So only a large concatenate in the iteration space of another
/// hero loses time: the kernel repeats the choice for every element.
pub fn claim(hero: &Candidate, _: &DeviceDescription) -> Option<Claim> {
    let computation = hero.region.computation();
    let concatenate = computation.instruction(hero.anchor);
    let elements = first_array(concatenate)?.element_count() as f64;
    let choices = elements * per_element(computation, concatenate);
    let lost_beside = if bytes(concatenate) > CACHED_BYTES { choices } else { 0.0 };
    Some(Claim { lost_beside, ..Claim::default() })
}
