//! Estimates the cost of a point, and finds the work that values have in common.

use std::collections::HashSet;

use super::Cost;
use crate::cost;
use crate::device::DeviceDescription;
use crate::hlo::{Computation, InstrId, Op, Shape};
use crate::indexing::combined_elements;

/// Estimates the cost of computing one element of each of `values`. The cost consists of the bytes
/// that a kernel reads and writes for these elements, and of the arithmetic of all transitive
/// operands. The function multiplies the costs of a reduction and of its operands by the number of
/// elements that the reduction combines.
pub fn cost_per_point(computation: &Computation, values: &[InstrId]) -> Cost {
    let bytes = |id: InstrId| {
        let arrays = computation.instruction(id).shape.leaves().into_iter().filter_map(|leaf| leaf.as_array());
        arrays.filter(|array| array.rank() > 0).map(|array| array.element_type.byte_size() as i64).sum::<i64>()
    };
    let mut cost = Cost { bytes: values.iter().map(|&id| bytes(id)).sum(), arithmetic: 0 };
    // Number of elements of each instruction that one point needs.
    let mut times = vec![0i64; computation.instructions.len()];
    values.iter().for_each(|id| times[id.index()] = 1);
    for id in computation.ids().rev() {
        let own = times[id.index()];
        if own == 0 {
            continue;
        }
        let instruction = computation.instruction(id);
        let read = own.saturating_mul(combined_elements(computation, instruction));
        let arithmetic = cost::arithmetic_bytes(computation, instruction);
        let of_one = match instruction.op {
            Op::Parameter { .. } => Cost { bytes: bytes(id), arithmetic: 0 }.times(own),
            _ => Cost { bytes: 0, arithmetic }.times(read),
        };
        cost = cost + of_one;
        for operand in &instruction.operands {
            times[operand.index()] = times[operand.index()].max(read);
        }
    }
    cost
}

/// Returns the instruction and its transitive operands, without scalars, constants, iotas and
/// broadcasts. If the returned sets of two values intersect, one loop nest should compute both
/// values, because computing or reading the common instructions only once saves work.
pub fn worth_sharing(computation: &Computation, from: InstrId) -> HashSet<InstrId> {
    let mut seen = HashSet::from([from]);
    let mut pending = vec![from];
    while let Some(id) = pending.pop() {
        pending.extend(computation.instruction(id).operands.iter().filter(|operand| seen.insert(**operand)));
    }
    seen.retain(|&id| {
        let instruction = computation.instruction(id);
        let scalar = instruction.shape.as_array().is_some_and(|array| array.rank() == 0);
        !scalar && !instruction.op.is_generated()
    });
    seen
}

/// Returns the largest number of adjacent points that one vector instruction can process. This
/// number is a power of two that divides all of `lengths`. The number is at most the number of
/// lanes in a vector of the values' smallest type. `lengths` contains the lengths of all rows that
/// are read or written. `lengths` also contains the offset of the first point in each of these
/// rows. Callers store the returned number in [`Nest::lanes`](super::Nest::lanes).
pub fn lanes_along(computation: &Computation, values: &[InstrId], lengths: &[i64], device: &DeviceDescription) -> i64 {
    let leaves = values.iter().flat_map(|&id| computation.instruction(id).shape.leaves());
    let smallest = leaves.filter_map(Shape::as_array).map(|array| array.element_type.byte_size() as i64).min();
    let limit = i64::from(device.vector_bytes) / smallest.unwrap_or(1).max(1);
    let fits = |&lanes: &i64| lanes <= limit && lengths.iter().all(|length| length % lanes == 0);
    (0..7).map(|exponent| 1 << exponent).take_while(fits).last().unwrap_or(1)
}
