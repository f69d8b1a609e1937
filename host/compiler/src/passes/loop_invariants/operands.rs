//! Operands of a loop's products in the order in which products read them.
//!
//! ```text
//! dot(x, w), rows of both multiplied     dot(x, transpose w), rows by columns     if w is the same in every turn, and x has few rows
//! ```
//!
//! The transpose is then computed before the loop. Few rows do not make up for turning an operand anew in every turn.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, DotDims, InstrId, Instruction, Op, Shape};

use super::{has_room, invariant};
use crate::CompileError;
use crate::rebuild::Rebuild;

/// Rows of the left operand for which turning the right one counts.
const FEW_ROWS: i64 = 64;

/// The body of a loop with the right operands of its products laid out; `None` if they all are.
pub fn laid_out(body: &Computation, device: &DeviceDescription) -> Result<Option<Computation>, CompileError> {
    let invariant = invariant(body);
    let is_turned = |instruction: &Instruction| match &instruction.op {
        Op::Dot(dims) => {
            let [left, right] = [0, 1].map(|side| instruction.operands[side]);
            !invariant[left.index()]
                && invariant[right.index()]
                && has_room(body, right, device)
                && is_by_lines(body, right, dims)
                && lines(sizes(body, left), &dims.lhs_batch, &dims.lhs_contracting) <= FEW_ROWS
        }
        _ => false,
    };
    if !body.instructions.iter().any(is_turned) {
        return Ok(None);
    }
    let new = Rebuild::each(body, |rebuild, _, instruction| {
        Ok::<_, CompileError>(match &instruction.op {
            Op::Dot(dims) if is_turned(instruction) => by_steps(rebuild, instruction, dims),
            _ => None,
        })
    })?;
    Ok(Some(new))
}

fn sizes(computation: &Computation, id: InstrId) -> &[i64] {
    computation.instruction(id).shape.as_array().map_or(&[], |array| &array.dims)
}

/// Whether what is added up lies side by side, and there are several such lines.
fn is_by_lines(body: &Computation, right: InstrId, dims: &DotDims) -> bool {
    let last = sizes(body, right).len() as i64 - 1;
    dims.rhs_contracting.contains(&last) && lines(sizes(body, right), &dims.rhs_batch, &dims.rhs_contracting) > 1
}

/// Lines of an operand that are multiplied, of one batch.
fn lines(sizes: &[i64], batch: &[i64], steps: &[i64]) -> i64 {
    let is_line = |d: &i64| !batch.contains(d) && !steps.contains(d);
    (0..sizes.len() as i64).filter(is_line).map(|d| sizes[d as usize]).fold(1, i64::saturating_mul)
}

/// The product of the left operand and the right one's transpose, in which lines come last.
fn by_steps(rebuild: &mut Rebuild, instruction: &Instruction, dims: &DotDims) -> Option<InstrId> {
    let [left, right] = rebuild.operands(instruction)[..] else { return None };
    let origin = rebuild.instruction(right).clone();
    let array = origin.shape.as_array()?;
    let is_line = |d: &i64| !dims.rhs_batch.contains(d) && !dims.rhs_contracting.contains(d);
    let lines: Vec<i64> = (0..array.rank() as i64).filter(is_line).collect();
    let permutation = [dims.rhs_batch.clone(), dims.rhs_contracting.clone(), lines].concat();
    let shape =
        Shape::array(array.element_type, permutation.iter().map(|&d| array.dims[d as usize]).collect::<Vec<_>>());
    let turned = rebuild.add(&origin, Op::Transpose { permutation }, shape, vec![right]);
    let (batch, steps) = (dims.rhs_batch.len() as i64, dims.rhs_contracting.len() as i64);
    let dims =
        DotDims { rhs_batch: (0..batch).collect(), rhs_contracting: (batch..batch + steps).collect(), ..dims.clone() };
    Some(rebuild.add(instruction, Op::Dot(dims), instruction.shape.clone(), vec![left, turned]))
}
