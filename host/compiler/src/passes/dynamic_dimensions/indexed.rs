//! Operations on windows whose starts the program computes.

use fusebox_core::hlo::{BinaryOp, ElementType, InstrId, Instruction, SliceDim};
use fusebox_edit::Builder;

use super::masks::within;
use super::movement::with_more_behind;
use super::sizes::{at_least_zero, s32};
use super::{BoundedComputation, RewriteResult, array_of};

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

    /// Writes a window as large as the update's bounds. Beyond the actual size of the update, the
    /// window contains the old elements of the array. Pads the array at its end first, so that the
    /// window can begin at every index where an update of the actual size may begin.
    fn update_of_dynamic_size(&mut self, it: &'b Instruction, of_update: &[(usize, InstrId)]) -> RewriteResult {
        let (bounds, window) = (self.dims(it, 0), self.dims(it, 1));
        let mut operands = self.edit.operands(it);
        let mut behind = vec![0; bounds.len()];
        for d in 0..bounds.len() {
            let is_dynamic = self.size(it, 0, d).is_some() || self.size(it, 1, d).is_some();
            if is_dynamic {
                let (size, length) = (self.size_or_bound(it, 0, d)?, self.size_or_bound(it, 1, d)?);
                operands[2 + d] = held_below(&mut self.edit, operands[2 + d], size, length)?;
            }
        }
        of_update.iter().for_each(|&(d, _)| behind[d] = window[d]);
        let (array, update, starts) = (operands[0], operands[1], &operands[2..]);
        let edit = &mut self.edit;
        let longer = with_more_behind(edit, array, &behind)?;
        let old = edit.dynamic_slice(longer, starts, &window);
        let within = within(edit, &window, of_update);
        let new = edit.select(within, update, old);
        let updated = edit.dynamic_update_slice(longer, new, starts);
        Ok(edit.slice(updated, bounds.into_iter().map(SliceDim::all).collect()))
    }

    /// Returns the operands of an operation on windows, with the starts clamped so that windows of
    /// `sizes` end within the actual sizes of the array. Operand `first` is the first start. The
    /// operation itself clamps negative starts.
    fn held_inside(&mut self, it: &'b Instruction, first: usize, sizes: &[i64]) -> RewriteResult<Vec<InstrId>> {
        let mut operands = self.edit.operands(it);
        for (d, size) in self.dynamic(it, 0) {
            if sizes[d] == self.dims(it, 0)[d] {
                continue;
            }
            let length = s32(&mut self.edit, sizes[d])?;
            operands[first + d] = held_below(&mut self.edit, operands[first + d], size, length)?;
        }
        Ok(operands)
    }
}

/// Returns the start, or an earlier start if the window would otherwise end beyond the size.
fn held_below(edit: &mut Builder, start: InstrId, size: InstrId, length: InstrId) -> RewriteResult {
    let ty = array_of(edit, start)?.element_type;
    let last = last_start(edit, size, length, ty);
    Ok(edit.binary(BinaryOp::Minimum, start, last))
}

/// Returns the last start at which a window of this length ends within the size, as a value of type
/// `ty`. Returns zero if the window is longer than the size.
pub fn last_start(edit: &mut Builder, size: InstrId, length: InstrId, ty: ElementType) -> InstrId {
    let last = edit.binary(BinaryOp::Subtract, size, length);
    let last = at_least_zero(edit, last);
    as_index(edit, last, ty)
}

/// Converts a size to an integer type. Saturates at the type's largest value.
fn as_index(edit: &mut Builder, size: InstrId, ty: ElementType) -> InstrId {
    let bits = ty.bits() - u32::from(ty.is_signed_integer());
    let size = match bits {
        0..31 => {
            let largest = edit.integer(ElementType::S32, (1 << bits) - 1);
            edit.binary(BinaryOp::Minimum, size, largest)
        }
        _ => size,
    };
    edit.convert(size, ty)
}
