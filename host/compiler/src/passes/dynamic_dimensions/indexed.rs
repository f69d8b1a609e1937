//! Operations on windows that begin where values say.

use fusebox_core::hlo::{BinaryOp, ElementType, InstrId, Instruction, Op, Shape};

use super::Body;
use super::writer::{Made, Writer};

impl<'b> Body<'b> {
    pub fn dynamic_slice(&mut self, it: &'b Instruction, sizes: &[i64]) -> Made {
        let operands = self.held_inside(it, 1, sizes)?;
        Ok(self.with_operands(it, operands))
    }

    pub fn dynamic_update_slice(&mut self, it: &'b Instruction) -> Made {
        if !self.dynamic(it, 1).is_empty() {
            return Err("an update of dynamic size writes what is beyond its size too; select between the old elements and the \
                        new ones, and update with a static array"
                .into());
        }
        let sizes = self.dims(it, 1);
        let operands = self.held_inside(it, 2, &sizes)?;
        Ok(self.with_operands(it, operands))
    }

    /// The operands with starts, which begin at number `first`, that leave windows of these sizes within the actual sizes. The
    /// operation itself keeps them from being negative.
    fn held_inside(&mut self, it: &'b Instruction, first: usize, sizes: &[i64]) -> Made<Vec<InstrId>> {
        let mut operands = self.rebuild.operands(it);
        for (d, size) in self.dynamic(it, 0) {
            if sizes[d] == self.dims(it, 0)[d] {
                continue;
            }
            let start = operands[first + d];
            let ty = self.writer(it).array(start).element_type;
            let mut writer = self.writer(it);
            let length = writer.s32(sizes[d])?;
            let last = writer.binary(BinaryOp::Subtract, size, length);
            let last = writer.at_least_zero(last)?;
            let last = writer.as_index(last, ty)?;
            operands[first + d] = writer.binary(BinaryOp::Minimum, start, last);
        }
        Ok(operands)
    }
}

impl Writer<'_, '_> {
    /// A size as a number of that integer type, or its largest one if that is less.
    pub fn as_index(&mut self, size: InstrId, ty: ElementType) -> Made {
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
