//! Operations on windows whose starts the program computes.

use fusebox_core::hlo::{BinaryOp, ElementType, InstrId, Instruction, Op, Shape, SliceDim};

use super::BoundedComputation;
use super::size_writer::{RewriteResult, SizeWriter};

impl<'b> BoundedComputation<'b> {
    pub fn dynamic_slice(&mut self, it: &'b Instruction, sizes: &[i64]) -> RewriteResult {
        let operands = self.held_inside(it, 1, sizes)?;
        Ok(self.with_operands(it, operands))
    }

    pub fn dynamic_update_slice(&mut self, it: &'b Instruction) -> RewriteResult {
        let of_update = self.dynamic(it, 1);
        if !of_update.is_empty() {
            return self.update_of_dynamic_size(it, &of_update);
        }
        let sizes = self.dims(it, 1);
        let operands = self.held_inside(it, 2, &sizes)?;
        Ok(self.with_operands(it, operands))
    }

    /// Writes a window as large as the update's bounds. Where the actual update has no elements,
    /// the window contains the old elements of the array. The array is first padded at its end, so
    /// that this window can begin wherever the actual update may begin.
    fn update_of_dynamic_size(&mut self, it: &'b Instruction, of_update: &[(usize, InstrId)]) -> RewriteResult {
        let (bounds, window) = (self.dims(it, 0), self.dims(it, 1));
        let mut operands = self.rebuild.operands(it);
        let mut behind = vec![0; bounds.len()];
        for d in 0..bounds.len() {
            let is_dynamic = self.size(it, 0, d).is_some() || self.size(it, 1, d).is_some();
            if is_dynamic {
                let (size, length) = (self.size_or_bound(it, 0, d)?, self.size_or_bound(it, 1, d)?);
                operands[2 + d] = self.writer(it).held_below(operands[2 + d], size, length)?;
            }
        }
        of_update.iter().for_each(|&(d, _)| behind[d] = window[d]);
        let mut writer = self.writer(it);
        let longer = writer.with_more_behind(operands[0], &behind);
        let starts = operands[2..].to_vec();
        let update = writer.array(operands[1]);
        let old = writer.add(
            Op::DynamicSlice { sizes: window.clone() },
            Shape::Array(update),
            [longer].into_iter().chain(starts.iter().copied()).collect(),
        );
        let within = writer.within(&window, of_update);
        let new = writer.select(within, operands[1], old);
        let whole = Shape::Array(writer.array(longer));
        let updated = writer.add(Op::DynamicUpdateSlice, whole, [longer, new].into_iter().chain(starts).collect());
        let first = |&limit: &i64| SliceDim { start: 0, limit, stride: 1 };
        Ok(writer.add(
            Op::Slice { dims: bounds.iter().map(first).collect() },
            it.shape.with_bounds_as_sizes(),
            vec![updated],
        ))
    }

    /// Returns the operands with clamped starts, so that windows of these sizes end within the
    /// actual sizes. The starts begin at operand `first`. The operation itself clamps negative
    /// starts.
    fn held_inside(&mut self, it: &'b Instruction, first: usize, sizes: &[i64]) -> RewriteResult<Vec<InstrId>> {
        let mut operands = self.rebuild.operands(it);
        for (d, size) in self.dynamic(it, 0) {
            if sizes[d] == self.dims(it, 0)[d] {
                continue;
            }
            let mut writer = self.writer(it);
            let length = writer.s32(sizes[d])?;
            operands[first + d] = writer.held_below(operands[first + d], size, length)?;
        }
        Ok(operands)
    }
}

impl SizeWriter<'_, '_> {
    /// Returns the start, or an earlier start if the window would otherwise end beyond the size.
    fn held_below(&mut self, start: InstrId, size: InstrId, length: InstrId) -> RewriteResult {
        let ty = self.array(start).element_type;
        let last = self.last_start(size, length, ty)?;
        Ok(self.binary(BinaryOp::Minimum, start, last))
    }

    /// Returns the last start at which a window of this length ends within the size, as a value of
    /// type `ty`. Returns zero if the window is longer than the size.
    pub fn last_start(&mut self, size: InstrId, length: InstrId, ty: ElementType) -> RewriteResult {
        let last = self.binary(BinaryOp::Subtract, size, length);
        let last = self.at_least_zero(last)?;
        self.as_index(last, ty)
    }

    /// Converts a size to an integer type. Saturates at the type's largest value.
    fn as_index(&mut self, size: InstrId, ty: ElementType) -> RewriteResult {
        let bits = ty.bits() - u32::from(ty.is_signed_integer());
        let size = match bits {
            0..31 => {
                let largest = self.s32((1 << bits) - 1)?;
                self.binary(BinaryOp::Minimum, size, largest)
            }
            _ => size,
        };
        Ok(match ty {
            ElementType::S32 => size,
            ty => self.add(Op::Convert, Shape::array(ty, []), vec![size]),
        })
    }
}
