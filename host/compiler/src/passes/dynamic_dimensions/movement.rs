//! Operations that move elements. Without a rewrite, elements beyond a size could end up between
//! valid elements.

use fusebox_core::hlo::{BinaryOp, ElementType, Extent, InstrId, Instruction, PaddingDim, extents};
use fusebox_edit::Builder;

use super::masks::masked;
use super::sizes::s32;
use super::{BoundedComputation, RewriteResult, array_of};

impl<'b> BoundedComputation<'b> {
    /// Copies a reshape. Refuses a reshape that merges dimensions, if a merged dimension other than
    /// the outermost one is dynamic.
    pub fn reshape(&mut self, it: &'b Instruction) -> RewriteResult {
        let operand = &self.edit.old().instruction(it.operands[0]).shape;
        let extents = extents(&it.op, &[operand], &it.shape);
        if extents.iter().flatten().any(|extent| matches!(extent, Extent::Merged(_))) {
            Err("this reshape merges a dynamic dimension that is not the outermost one, which would leave gaps: transpose it \
                         to the outside first"
                .into())
        } else {
            Ok(self.copy(it))
        }
    }

    /// Fills elements beyond the size with the padding value.
    pub fn pad(&mut self, it: &'b Instruction) -> RewriteResult {
        let sizes = self.dynamic(it, 0);
        let operands = self.edit.operands(it);
        let value = masked(&mut self.edit, operands[0], &sizes, operands[1]);
        Ok(self.with_operands(it, vec![value, operands[1]]))
    }

    /// Reverses the whole array. The reversal moves the elements within the size to the end, so
    /// this function then moves them back to the beginning.
    pub fn reverse(&mut self, it: &'b Instruction, dimensions: &[i64]) -> RewriteResult {
        let sizes = self.dynamic(it, 0);
        let mut value = self.copy(it);
        for (dimension, size) in sizes.into_iter().filter(|(d, _)| dimensions.contains(&(*d as i64))) {
            let bound = self.dims(it, 0)[dimension];
            let whole = s32(&mut self.edit, bound)?;
            let beyond = self.edit.binary(BinaryOp::Subtract, whole, size);
            value = moved_down(&mut self.edit, value, dimension, beyond)?;
        }
        Ok(value)
    }

    /// Writes the operands of a concatenation one after the other into the result. Each operand
    /// overwrites the elements beyond the size of the previous operand.
    pub fn concatenate(&mut self, it: &'b Instruction, dimension: usize) -> RewriteResult {
        if (0..it.operands.len()).all(|operand| self.size(it, operand, dimension).is_none()) {
            return Ok(self.copy(it));
        }
        let Some(result) = it.shape.as_array() else {
            return Err("concatenate gives an array".into());
        };
        let mut whole = self.edit.filled(result.element_type, &result.dims, 0.0);
        let [mut at, origin] = [(); 2].map(|()| self.edit.integer(ElementType::S32, 0));
        for (operand, &piece) in it.operands.iter().enumerate() {
            let starts: Vec<InstrId> = (0..result.rank()).map(|d| if d == dimension { at } else { origin }).collect();
            let piece = self.edit.mapped(piece);
            whole = self.edit.dynamic_update_slice(whole, piece, &starts);
            let size = self.size_or_bound(it, operand, dimension)?;
            at = self.edit.binary(BinaryOp::Add, at, size);
        }
        Ok(whole)
    }
}

/// Extends each dimension at its end by `behind` elements, whose values are arbitrary.
pub fn with_more_behind(edit: &mut Builder, value: InstrId, behind: &[i64]) -> RewriteResult {
    let zero = edit.scalar(array_of(edit, value)?.element_type, 0.0);
    let padding = behind.iter().map(|&high| PaddingDim { low: 0, high, interior: 0 }).collect();
    Ok(edit.pad(value, zero, padding))
}

/// Drops the first `by` elements of a dimension. Appends the same number of arbitrary elements.
fn moved_down(edit: &mut Builder, value: InstrId, dimension: usize, by: InstrId) -> RewriteResult {
    let dims = edit.dims(value);
    let mut behind = vec![0; dims.len()];
    behind[dimension] = dims[dimension];
    let padded = with_more_behind(edit, value, &behind)?;
    let origin = edit.integer(ElementType::S32, 0);
    let starts: Vec<InstrId> = (0..dims.len()).map(|d| if d == dimension { by } else { origin }).collect();
    Ok(edit.dynamic_slice(padded, &starts, &dims))
}
