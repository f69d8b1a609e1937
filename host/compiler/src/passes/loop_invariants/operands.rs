//! Transposes operands of a loop's products, so that the operands lie in memory in the order in
//! which the products read them.
//!
//! ```text
//! dot(x, w), rows of x by rows of w    dot(x, transpose w), rows by columns    if w is loop-invariant, and x has few rows
//! dot(w, x), x a vector                as dot(x, w)                            if w is also small
//! ```
//!
//! The transpose is then hoisted out of the loop. Without hoisting, a transpose in every iteration
//! would cost more than a product with few rows gains.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, ComputationId, DotDims, InstrId, Instruction, Module, Op};
use fusebox_edit::{Rewrite, rewrite};

use super::{has_room, invariant};
use crate::CompileError;

/// Largest number of rows of the left operand for which transposing the right operand pays off.
const FEW_ROWS: i64 = 64;

/// Bytes of the largest matrix for which a transpose speeds up the product with a vector. A larger
/// matrix has long rows or many rows. Its product takes as long without a transpose, and needs no
/// second buffer.
const SMALL_MATRIX: i64 = 16 << 10;

/// Transposes right operands of a loop body's products.
pub fn lay_out(module: &mut Module, body: ComputationId, device: &DeviceDescription) -> Result<(), CompileError> {
    let invariant = invariant(module.computation(body));
    let turned = |body: &Computation, instruction: &Instruction| {
        let swapped = LoopProduct::of(instruction)
            .map(LoopProduct::swapped)
            .filter(|product| product.is_of_a_vector_and_little(body));
        [LoopProduct::of(instruction), swapped].into_iter().flatten().find(|product| {
            !invariant[product.left.index()]
                && invariant[product.right.index()]
                && has_room(body, product.right, device)
                && product.is_by_lines(body)
        })
    };
    let of_body = module.computation(body);
    if !of_body.instructions.iter().any(|instruction| turned(of_body, instruction).is_some()) {
        return Ok(());
    }
    rewrite(module, body, |edit, _, instruction| {
        Ok(turned(edit.old(), instruction).and_then(|product| product.by_steps(edit, instruction)))
    })
}

fn sizes(computation: &Computation, id: InstrId) -> &[i64] {
    computation.instruction(id).shape.as_array().map_or(&[], |array| &array.dims)
}

/// A product of the loop's body, in its original form or with its operands swapped.
struct LoopProduct {
    left: InstrId,
    right: InstrId,
    dims: DotDims,
}

impl LoopProduct {
    fn of(instruction: &Instruction) -> Option<LoopProduct> {
        match (&instruction.op, &instruction.operands[..]) {
            (Op::Dot(dims), &[left, right]) => Some(LoopProduct { left, right, dims: dims.clone() }),
            _ => None,
        }
    }

    fn swapped(self) -> LoopProduct {
        let DotDims { lhs_batch, rhs_batch, lhs_contracting, rhs_contracting, .. } = self.dims.clone();
        let dims = DotDims {
            lhs_batch: rhs_batch,
            rhs_batch: lhs_batch,
            lhs_contracting: rhs_contracting,
            rhs_contracting: lhs_contracting,
            ..self.dims
        };
        LoopProduct { left: self.right, right: self.left, dims }
    }

    /// Whether the left operand is a vector and the right operand is small. The free dimensions of
    /// the right operand are then the dimensions of the result, for either order of the operands.
    fn is_of_a_vector_and_little(&self, body: &Computation) -> bool {
        let DotDims { lhs_batch, lhs_contracting, .. } = &self.dims;
        let bytes = body.instruction(self.right).shape.as_array().map_or(i64::MAX, |array| array.byte_size());
        sizes(body, self.left).len() == lhs_batch.len() + lhs_contracting.len() && bytes <= SMALL_MATRIX
    }

    /// Whether each row of the right operand holds contiguous contracted elements, the right
    /// operand has several rows, and the left operand has few rows.
    fn is_by_lines(&self, body: &Computation) -> bool {
        let DotDims { lhs_batch, rhs_batch, lhs_contracting, rhs_contracting, .. } = &self.dims;
        let right = sizes(body, self.right);
        rhs_contracting.contains(&(right.len() as i64 - 1))
            && lines(right, rhs_batch, rhs_contracting) > 1
            && lines(sizes(body, self.left), lhs_batch, lhs_contracting) <= FEW_ROWS
    }

    /// Returns the product of the left operand with the transposed right operand, whose free
    /// dimensions come last.
    fn by_steps(&self, edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
        let [left, right] = [self.left, self.right].map(|operand| edit.mapped(operand));
        let DotDims { rhs_batch, rhs_contracting, .. } = &self.dims;
        let rank = edit.array(right)?.rank() as i64;
        let is_line = |d: &i64| !rhs_batch.contains(d) && !rhs_contracting.contains(d);
        let lines: Vec<i64> = (0..rank).filter(is_line).collect();
        let permutation = [rhs_batch.clone(), rhs_contracting.clone(), lines].concat();
        let origin = edit.instruction(right).clone();
        let turned = edit.with_origin(origin, |edit| edit.transpose(right, &permutation));
        let (batch, steps) = (rhs_batch.len() as i64, rhs_contracting.len() as i64);
        let dims = DotDims {
            rhs_batch: (0..batch).collect(),
            rhs_contracting: (batch..batch + steps).collect(),
            ..self.dims.clone()
        };
        Some(edit.add_shaped(Op::Dot(dims), instruction.shape.clone(), [left, turned]))
    }
}

/// Returns the number of rows of an operand in one batch: the product of the sizes of its free
/// dimensions.
fn lines(sizes: &[i64], batch: &[i64], steps: &[i64]) -> i64 {
    let is_line = |d: &i64| !batch.contains(d) && !steps.contains(d);
    (0..sizes.len() as i64).filter(is_line).map(|d| sizes[d as usize]).fold(1, i64::saturating_mul)
}
