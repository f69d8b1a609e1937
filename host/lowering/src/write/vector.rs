//! Writes operations of the dialect `vector` on vectors of one dimension.

use fusebox_core::ir::{Attribute, Combination, Float, OpKind, Operation, Scalar, Type};

use super::function::Body;
use crate::error::{Done, Unsupported};
use crate::llvm::{Op, Val};
use crate::word_products::{REGISTER_BYTES, WordProduct};

impl<'s> Body<'_, '_, 's> {
    pub(super) fn vector_operation(&mut self, op: &'s Operation) -> Done<Val> {
        let operands = self.operands(op)?;
        match op.kind {
            OpKind::FromElements => Ok(self.gathered(&operands)),
            OpKind::Broadcast => {
                let Type::Vector(lanes, _) = self.source.type_of(op.result()) else {
                    return Unsupported::because("its result is no vector of one dimension");
                };
                Ok(self.llvm().splat(operands[0], lanes.iter().product::<i64>() as u32))
            }
            OpKind::VectorExtract => {
                let position = self.position(op, &operands[1..])?;
                Ok(self.llvm().lane(operands[0], position))
            }
            OpKind::VectorInsert => {
                let position = self.position(op, &operands[2..])?;
                Ok(self.llvm().with_lane(operands[1], operands[0], position))
            }
            OpKind::Shuffle => {
                let lanes = op.integers("mask").unwrap_or_default();
                // The number -1 would request a lane with an undefined value.
                if lanes.is_empty() || lanes.iter().any(|&lane| lane < 0) {
                    return Unsupported::because("its mask leaves lanes undefined");
                }
                Ok(self.llvm().shuffled(operands[0], operands[1], lanes))
            }
            OpKind::Reduction => self.reduction(op, &operands),
            _ => self.arithmetic(op),
        }
    }

    /// Writes an instruction that multiplies the words of two vectors and adds the products to a
    /// vector of sums. The instruction operates on registers of 64 bytes.
    pub(super) fn word_product(&mut self, op: &'s Operation) -> Done<Val> {
        let available = self.translation.target.word_products;
        let product = WordProduct::of(op, self.source.type_of(op.result()), available)?;
        let operands = self.operands(op)?;
        let &[left, right, sum] = operands.as_slice() else { return Unsupported::because("it takes three vectors") };
        let llvm = self.llvm();
        let of_factor = |value: Val| match op.kind {
            // The factor's elements are integers with the bits of the `bf16` numbers.
            OpKind::WordMulF => llvm
                .float(Float::BF16)
                .map(|element| llvm.cast(Op::LLVMBitCast, value, llvm.vector(element, (REGISTER_BYTES / 2) as u32))),
            _ => Some(value),
        };
        let (Some(left), Some(right)) = (of_factor(left), of_factor(right)) else {
            return Unsupported::because("LLVM has no type for its factors");
        };
        let [left, right] = if product.is_turned { [right, left] } else { [left, right] };
        Ok(llvm.call_intrinsic(product.intrinsic, &[], &[sum, left, right]))
    }

    fn gathered(&self, elements: &[Val]) -> Val {
        let llvm = self.llvm();
        let ty = llvm.vector(llvm.type_of(elements[0]), elements.len() as u32);
        elements.iter().enumerate().fold(llvm.undefined(ty), |all, (lane, &element)| {
            llvm.with_lane(all, element, llvm.const_int(llvm.int(32), lane as i64))
        })
    }

    /// Returns the number of the lane that an operation extracts or inserts. An operand or an
    /// attribute of the operation contains the number.
    fn position(&mut self, op: &Operation, given: &[Val]) -> Done<Val> {
        match (given, op.integers("static_position")) {
            ([position], _) => Ok(*position),
            ([], Some([lane])) => Ok(self.llvm().const_int(self.llvm().int(64), *lane)),
            _ => Unsupported::because("it has other than one position"),
        }
    }

    fn reduction(&mut self, op: &Operation, operands: &[Val]) -> Done<Val> {
        let Some(Attribute::Combination(by)) = op.attribute("kind") else {
            return Unsupported::because("its combining operation is unknown");
        };
        let flags = self.flags(op);
        let vector = operands[0];
        let float = matches!(self.source.type_of(op.operands[0]).element(), Scalar::Float(_));
        let llvm = self.llvm();
        let ty = llvm.type_of(vector);
        let ordered = |name, neutral| {
            let start = operands.get(1).copied().unwrap_or_else(|| llvm.const_float(llvm.scalar_type(ty), neutral));
            llvm.with_flags(llvm.call_intrinsic(name, &[ty], &[start, vector]), flags)
        };
        let name = match by {
            Combination::Add if float => return Ok(ordered("llvm.vector.reduce.fadd", -0.0)),
            Combination::Mul if float => return Ok(ordered("llvm.vector.reduce.fmul", 1.0)),
            _ if operands.len() > 1 => return Unsupported::because("only sums and products take a start value"),
            Combination::Add => "llvm.vector.reduce.add",
            Combination::Mul => "llvm.vector.reduce.mul",
            Combination::And => "llvm.vector.reduce.and",
            Combination::Or => "llvm.vector.reduce.or",
            Combination::Xor => "llvm.vector.reduce.xor",
            Combination::MinSi => "llvm.vector.reduce.smin",
            Combination::MaxSi => "llvm.vector.reduce.smax",
            Combination::MinUi => "llvm.vector.reduce.umin",
            Combination::MaxUi => "llvm.vector.reduce.umax",
            Combination::MinimumF => "llvm.vector.reduce.fminimum",
            Combination::MaximumF => "llvm.vector.reduce.fmaximum",
            Combination::MinNumF => "llvm.vector.reduce.fmin",
            Combination::MaxNumF => "llvm.vector.reduce.fmax",
        };
        Ok(llvm.with_flags(llvm.call_intrinsic(name, &[ty], &[vector]), flags))
    }
}
