//! Claims for transposes.

use fusebox_core::analysis::{NormalTranspose, moves_elements};
use fusebox_core::cost::{first_array, per_element};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim};

/// Returns the claim for a transpose. A kernel of another kind reads the transpose element by
/// element. A kernel that reads element by element loses the difference between the cost of its
/// reads and the cost of contiguous reads. One kernel can compute all transposes of one normal
/// form.
pub fn claim(hero: &Candidate, _: &DeviceDescription) -> Option<Claim> {
    let computation = hero.region.computation();
    let transpose = computation.instruction(hero.anchor);
    if !moves_elements(transpose) {
        return None;
    }
    let elements = first_array(transpose)?.element_count() as f64;
    let lost = elements * (per_element(computation, transpose) - 1.0).max(0.0);
    let form = NormalTranspose::of(computation, transpose)?.to_string();
    Some(Claim { form, lost_inside: lost, lost_beside: lost, ..Claim::default() })
}
