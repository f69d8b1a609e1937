//! Claims for scatters.

use fusebox_core::analysis::ScatterShape;
use fusebox_core::cost::first_array;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim, HeroPlace};
use fusebox_core::hlo::InstrId;

/// Number of updates of one window that a thread or a vector combines for each read of an index
/// vector.
const UPDATES_PER_INDEX: i64 = 32;

/// Returns the claim for a scatter, which needs a separate kernel. The initial values of the
/// results are the scatter's operands. The kernel reads every update once, and an index vector once
/// for every few updates.
pub fn claim(hero: &Candidate, _: &DeviceDescription) -> Option<Claim> {
    let computation = hero.region.computation();
    let scatter = computation.instruction(hero.anchor);
    let shape = ScatterShape::of(computation, scatter)?;
    let results = first_array(scatter)?.element_count().max(1) as f64;
    let looks = (shape.window_elements() / UPDATES_PER_INDEX).max(1) as f64;
    let read = |(position, &operand): (usize, &InstrId)| {
        let elements = first_array(computation.instruction(operand))?.element_count() as f64 / results;
        Some(if position == shape.arrays { elements * looks } else { elements })
    };
    Some(Claim {
        place: HeroPlace::Root,
        lost_inside: f64::INFINITY,
        lost_beside: f64::INFINITY,
        starts_from: shape.arrays,
        reads: scatter.operands.iter().enumerate().map(read).collect::<Option<_>>()?,
        ..Claim::default()
    })
}
