//! The orders of dimensions in which products read their operands fastest.

use fusebox_core::emitter::Candidate;
use fusebox_core::hlo::{ArrayShape, DotDims, Op};

/// If one operand has at most this number of rows, another order of the other operand pays off.
/// With more rows, packing an operand takes little time, compared with the arithmetic.
const FEW_ROWS: i64 = 64;

/// Bytes of the largest matrix for which another order speeds up the product with a vector. The
/// product with a larger matrix takes equally long in either order, because the matrix has long
/// rows or many rows.
const SMALL_MATRIX: i64 = 16 << 10;

/// Returns for each operand of a dot the order of dimensions that kernels read fastest. The order
/// is empty if the operand's own order is equally good. Returns no orders if the hero is not a dot.
///
/// ```text
/// dot(x, w), rows of x by rows of w    order of w: columns first: a vector holds several columns
/// dot(w, x), x a vector                order of w: as above, if w is small
/// ```
pub fn orders(hero: &Candidate) -> Vec<Vec<i64>> {
    let computation = hero.region.computation();
    let dot = computation.instruction(hero.anchor);
    let (Op::Dot(dims), &[left, right]) = (&dot.op, &dot.operands[..]) else { return Vec::new() };
    let [left, right] = [left, right].map(|id| computation.instruction(id).shape.as_array());
    let (Some(left), Some(right)) = (left, right) else { return Vec::new() };
    let DotDims { lhs_batch, rhs_batch, lhs_contracting, rhs_contracting, .. } = dims;
    let left = Operand { array: left, batch: lhs_batch, contracted: lhs_contracting };
    let right = Operand { array: right, batch: rhs_batch, contracted: rhs_contracting };
    let is_little = |operand: &Operand| operand.array.byte_size() <= SMALL_MATRIX;
    let of_left = left.is_by_rows() && right.free().is_empty() && is_little(&left);
    let of_right = right.is_by_rows() && left.rows() <= FEW_ROWS;
    vec![left.order_if(of_left), right.order_if(of_right)]
}

/// An operand of a dot.
struct Operand<'a> {
    array: &'a ArrayShape,
    batch: &'a [i64],
    contracted: &'a [i64],
}

impl Operand<'_> {
    /// Returns the dimensions that are neither batch nor contracted.
    fn free(&self) -> Vec<i64> {
        (0..self.array.rank() as i64).filter(|d| !self.batch.contains(d) && !self.contracted.contains(d)).collect()
    }

    /// Returns the number of rows in one batch: the product of the sizes of the free dimensions.
    fn rows(&self) -> i64 {
        self.free().into_iter().map(|d| self.array.dims[d as usize]).fold(1, i64::saturating_mul)
    }

    /// Whether the operand has several rows, each with contiguous contracted elements.
    fn is_by_rows(&self) -> bool {
        self.contracted.contains(&(self.array.rank() as i64 - 1)) && self.rows() > 1
    }

    /// Returns the order with the free dimensions last if `is_faster`, and otherwise no order.
    fn order_if(&self, is_faster: bool) -> Vec<i64> {
        if is_faster { [self.batch, self.contracted, &self.free()].concat() } else { Vec::new() }
    }
}
