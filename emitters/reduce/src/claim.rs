//! Claims for reductions.

use fusebox_core::cost::first_array;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim, Pass};
use fusebox_core::hlo::Op;

use crate::parts::parts;

/// Least number of elements per result with which several threads per result pay off.
const LEAST_REDUCED: f64 = 16.0;

/// Returns the claim for a reduction. In kernels of other emitters, each thread reduces its results
/// alone. A reduction's kernel visits all elements of the reduction's operands. In the same pass
/// over these elements, the kernel can compute other reductions of the same dimensions, and
/// instructions with as many elements as the operands.
pub fn claim(hero: &Candidate, device: &DeviceDescription) -> Option<Claim> {
    let computation = hero.region.computation();
    let reduce = computation.instruction(hero.anchor);
    let Op::Reduce { dimensions, .. } = &reduce.op else { return None };
    let read = computation.instruction(*reduce.operands.first()?).shape.as_array()?;
    let results = first_array(reduce)?.element_count().max(1) as f64;
    let elements = read.element_count() as f64;
    let lost = if elements >= LEAST_REDUCED * results { elements } else { 0.0 };
    let mut dimensions = dimensions.clone();
    dimensions.sort_unstable();
    let parts = parts(read, &dimensions, device);
    Some(Claim {
        form: format!("{:?} over {dimensions:?}", read.dims),
        lost_inside: lost,
        lost_beside: lost,
        pass: Some(Pass { dims: read.dims.clone(), operands: reduce.operands.len() / 2 }),
        parts,
        ..Claim::default()
    })
}
