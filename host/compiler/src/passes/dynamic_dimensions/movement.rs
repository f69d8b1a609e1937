//! Operations that move elements. Without a rewrite, elements beyond a size could end up between
//! valid elements.

use fusebox_core::hlo::{BinaryOp, Extent, InstrId, Instruction, Op, PaddingDim, Shape, extents};

use super::BoundedComputation;
use super::size_writer::{RewriteResult, SizeWriter};

impl<'b> BoundedComputation<'b> {
    /// Copies a reshape. Refuses a reshape that merges dimensions if a dynamic one of them is not
    /// the outermost.
    pub fn reshape(&mut self, it: &'b Instruction) -> RewriteResult {
        let operand = &self.old.instruction(it.operands[0]).shape;
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
        let operands = self.rebuild.operands(it);
        let value = self.writer(it).masked(operands[0], &sizes, operands[1]);
        Ok(self.with_operands(it, vec![value, operands[1]]))
    }

    /// Reverses the whole array. This moves the elements within the size to the end, so this
    /// function then moves them back to the beginning.
    pub fn reverse(&mut self, it: &'b Instruction, dimensions: &[i64]) -> RewriteResult {
        let sizes = self.dynamic(it, 0);
        let mut value = self.copy(it);
        for (dimension, size) in sizes.into_iter().filter(|(d, _)| dimensions.contains(&(*d as i64))) {
            let bound = self.dims(it, 0)[dimension];
            let mut writer = self.writer(it);
            let whole = writer.s32(bound)?;
            let beyond = writer.binary(BinaryOp::Subtract, whole, size);
            value = writer.moved_down(value, dimension, beyond)?;
        }
        Ok(value)
    }

    /// Writes the pieces one after the other. Each piece overwrites the elements beyond the size of
    /// the previous piece.
    pub fn concatenate(&mut self, it: &'b Instruction, dimension: usize) -> RewriteResult {
        if (0..it.operands.len()).all(|operand| self.size(it, operand, dimension).is_none()) {
            return Ok(self.copy(it));
        }
        let Shape::Array(result) = it.shape.with_bounds_as_sizes() else {
            return Err("concatenate gives an array".into());
        };
        let zero = self.writer(it).zero(result.element_type);
        let mut whole = self.writer(it).everywhere(zero, &result.dims);
        let (mut at, origin) = (self.writer(it).s32(0)?, self.writer(it).s32(0)?);
        for operand in 0..it.operands.len() {
            let piece = self.rebuild.mapped(it.operands[operand]);
            let starts = (0..result.rank()).map(|d| if d == dimension { at } else { origin });
            let operands: Vec<InstrId> = [whole, piece].into_iter().chain(starts).collect();
            let shape = Shape::Array(result.clone());
            let mut writer = self.writer(it);
            whole = writer.add(Op::DynamicUpdateSlice, shape, operands);
            let size = self.size_or_bound(it, operand, dimension)?;
            at = self.writer(it).binary(BinaryOp::Add, at, size);
        }
        Ok(whole)
    }
}

impl SizeWriter<'_, '_> {
    /// Extends each dimension at its end by `behind` elements, whose values are arbitrary.
    pub fn with_more_behind(&mut self, value: InstrId, behind: &[i64]) -> InstrId {
        let array = self.array(value);
        let longer: Vec<i64> = array.dims.iter().zip(behind).map(|(size, more)| size + more).collect();
        let padding = behind.iter().map(|&high| PaddingDim { low: 0, high, interior: 0 }).collect();
        let zero = self.zero(array.element_type);
        self.add(Op::Pad { dims: padding }, Shape::array(array.element_type, longer), vec![value, zero])
    }

    /// Drops the first `by` elements of a dimension. Appends the same number of arbitrary elements.
    fn moved_down(&mut self, value: InstrId, dimension: usize, by: InstrId) -> RewriteResult {
        let array = self.array(value);
        let mut behind = vec![0; array.rank()];
        behind[dimension] = array.dims[dimension];
        let padded = self.with_more_behind(value, &behind);
        let origin = self.s32(0)?;
        let starts = (0..array.rank()).map(|d| if d == dimension { by } else { origin });
        let operands = [padded].into_iter().chain(starts).collect();
        Ok(self.add(Op::DynamicSlice { sizes: array.dims.clone() }, Shape::Array(array), operands))
    }
}
