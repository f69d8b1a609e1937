//! Transposes operands of a loop's products, so that memory holds the operands in the order in
//! which the products read them. The emitter that claims a product states the order in which the
//! product reads an operand.
//!
//! ```text
//! dot(x, w)                dot(x, transpose w)    if w is loop-invariant, and x is not
//! dot(w, x), x a vector    dot(x, transpose w)    likewise
//! ```
//!
//! The pass `loop-invariants` then hoists the transpose out of the loop. Without hoisting, a
//! transpose in every iteration would cost more than most products gain from the stated order.

use std::collections::HashMap;

use fusebox_core::hlo::{ComputationId, DotDims, InstrId, Instruction, Module, Op};
use fusebox_edit::{Rewrite, rewrite};

use super::{has_room, invariant};
use crate::CompileError;
use crate::fuse::Claims;

/// Transposes loop-invariant operands of a loop body's products to the orders that emitters state.
pub fn lay_out(module: &mut Module, body: ComputationId, claims: &mut Claims) -> Result<(), CompileError> {
    let computation = module.computation(body);
    let invariant = invariant(computation);
    let mut ordered: HashMap<InstrId, OrderedOperand> = HashMap::new();
    for id in computation.ids().filter(|&id| matches!(computation.instruction(id).op, Op::Dot(_))) {
        let operands = &computation.instruction(id).operands;
        // Considers the right operand first, because its order does not exchange the product's
        // operands.
        for side in [1, 0] {
            let (operand, other) = (operands[side], operands[1 - side]);
            let is_hoisted = invariant[operand.index()] && !invariant[other.index()];
            if is_hoisted && has_room(computation, operand, claims.device()) {
                let order = claims.order_of_operand(module, computation, id, side);
                if let Some(order) = order {
                    ordered.entry(id).or_insert(OrderedOperand { side, order });
                }
            }
        }
    }
    if ordered.is_empty() {
        return Ok(());
    }
    rewrite(module, body, |edit, id, instruction| {
        Ok(ordered.get(&id).and_then(|operand| operand.transposed(edit, instruction)))
    })
}

/// An operand of a product, and the order of dimensions that the product's emitter states for it.
struct OrderedOperand {
    side: usize,
    order: Vec<i64>,
}

impl OrderedOperand {
    /// Adds the product with the operand in the stated order.
    fn transposed(&self, edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
        let Op::Dot(dims) = &instruction.op else { return None };
        let mut dims = dims.clone();
        let mut operands = edit.operands(instruction);
        let operand = operands[self.side];
        let origin = edit.instruction(operand).clone();
        operands[self.side] = edit.with_origin(origin, |edit| edit.transpose(operand, &self.order));
        let place = |d: &i64| self.order.iter().position(|old| old == d).map(|new| new as i64);
        let placed = |dims: &[i64]| dims.iter().map(place).collect::<Option<Vec<i64>>>();
        let (batch, contracting) = match self.side {
            0 => (&mut dims.lhs_batch, &mut dims.lhs_contracting),
            _ => (&mut dims.rhs_batch, &mut dims.rhs_contracting),
        };
        (*batch, *contracting) = (placed(batch)?, placed(contracting)?);
        let other = edit.array(operands[1 - self.side])?.rank();
        let is_vector = other == dims.lhs_batch.len() + dims.lhs_contracting.len();
        // The product of a matrix with a vector is that of the vector with the matrix. The pass
        // `row-products` knows only the second form.
        if self.side == 0 && is_vector {
            operands.reverse();
            dims = exchanged(dims);
        }
        Some(edit.add_shaped(Op::Dot(dims), instruction.shape.clone(), operands))
    }
}

/// Returns the dimension numbers of a product whose operands are exchanged.
fn exchanged(dims: DotDims) -> DotDims {
    DotDims {
        lhs_batch: dims.rhs_batch,
        rhs_batch: dims.lhs_batch,
        lhs_contracting: dims.rhs_contracting,
        rhs_contracting: dims.lhs_contracting,
        algorithm: dims.algorithm,
    }
}
