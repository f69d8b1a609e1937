//! The remainder of floats, exactly and without a library: long division of the significands.

use super::function::{Done, Function};
use crate::error::Unsupported;
use crate::llvm::{Bb, IntPredicate, Op, Ty, Val};
use llvm_sys::LLVMRealPredicate;

/// Widths of a format's fields.
#[derive(Clone, Copy)]
struct Fields {
    bits: u32,
    mantissa: u32,
    bias: i64,
}

impl Function<'_, '_, '_> {
    /// `a - b * trunc(a / b)` with the sign of `a`.
    pub(super) fn remainder(&mut self, a: Val, b: Val) -> Done<Val> {
        let ty = self.llvm().type_of(a);
        if self.llvm().lanes(ty).is_some() {
            return Unsupported::because("remainders of vectors are not handled");
        }
        let fields = if ty == self.llvm().float() {
            Fields { bits: 32, mantissa: 23, bias: 127 }
        } else {
            Fields { bits: 64, mantissa: 52, bias: 1023 }
        };
        let name = format!("fusebox_remainder_f{}", fields.bits);
        let declared = match self.translation.functions.get(&name) {
            Some(declared) => declared.clone(),
            None => {
                let declared = self.declare(&name, &[ty, ty], vec![super::slot::Shape::Plain(ty)]);
                let here = self.llvm().current_block();
                self.define_remainder(declared.function, ty, fields);
                self.llvm().position_at_end(here);
                declared
            }
        };
        Ok(self.llvm().call(declared.signature, declared.function, &[a, b]))
    }

    fn define_remainder(&self, function: Val, ty: Ty, fields: Fields) {
        let llvm = self.llvm();
        let (a, b) = (llvm.parameter(function, 0), llvm.parameter(function, 1));
        let [entry, divide, head, step, finish, simple] = [(); 6].map(|()| llvm.add_block(function));
        llvm.position_at_end(entry);
        let magnitude = |value| llvm.call_intrinsic("llvm.fabs", &[ty], &[value]);
        let (size_a, size_b) = (magnitude(a), magnitude(b));
        // Infinite or NaN over anything, anything over zero or NaN: NaN. Smaller over larger: itself.
        let infinity = llvm.const_float(ty, f64::INFINITY);
        let finite = llvm.compare_float(LLVMRealPredicate::LLVMRealOLT, size_a, infinity);
        let nonzero = llvm.compare_float(LLVMRealPredicate::LLVMRealOGT, size_b, llvm.const_float(ty, 0.0));
        let valid = llvm.binary(Op::LLVMAnd, finite, nonzero);
        let larger = llvm.compare_float(LLVMRealPredicate::LLVMRealOGE, size_a, size_b);
        llvm.branch_if(llvm.binary(Op::LLVMAnd, valid, larger), divide, simple);

        llvm.position_at_end(simple);
        let nan = llvm.binary(Op::LLVMFSub, infinity, infinity);
        llvm.return_value(Some(llvm.select(valid, a, nan)));

        llvm.position_at_end(divide);
        let (exponent_a, significand_a) = self.taken_apart(size_a, fields);
        let (exponent_b, significand_b) = self.taken_apart(size_b, fields);
        let distance = llvm.binary(Op::LLVMSub, exponent_a, exponent_b);
        let word = llvm.int(64);
        let first = llvm.binary(Op::LLVMURem, significand_a, significand_b);
        llvm.branch(head);

        // rest = significand_a * 2^(shifts done) mod significand_b, some bits at a time.
        llvm.position_at_end(head);
        let (rest, left) = (llvm.phi(word), llvm.phi(word));
        llvm.add_incoming(rest, first, divide);
        llvm.add_incoming(left, distance, divide);
        let more = llvm.compare_int(IntPredicate::LLVMIntSGT, left, llvm.const_int(word, 0));
        llvm.branch_if(more, step, finish);

        llvm.position_at_end(step);
        let at_once = llvm.const_int(word, 63 - i64::from(fields.mantissa));
        let shift = llvm.call_intrinsic("llvm.smin", &[word], &[left, at_once]);
        let shifted = llvm.binary(Op::LLVMShl, rest, shift);
        llvm.add_incoming(rest, llvm.binary(Op::LLVMURem, shifted, significand_b), step);
        llvm.add_incoming(left, llvm.binary(Op::LLVMSub, left, shift), step);
        llvm.branch(head);

        self.put_together(finish, rest, exponent_b, a, ty, fields);
    }

    /// Exponent and significand of a positive finite number; subnormals have the smallest exponent.
    fn taken_apart(&self, value: Val, fields: Fields) -> (Val, Val) {
        let llvm = self.llvm();
        let word = llvm.int(64);
        let constant = |value| llvm.const_int(word, value);
        let bits = self.resized_as(llvm.cast(Op::LLVMBitCast, value, llvm.int(fields.bits)), 64, false);
        let exponent = llvm.binary(Op::LLVMLShr, bits, constant(i64::from(fields.mantissa)));
        let fraction = llvm.binary(Op::LLVMAnd, bits, constant((1 << fields.mantissa) - 1));
        let normal = self.is_not_zero(exponent);
        let hidden = llvm.binary(Op::LLVMOr, fraction, constant(1 << fields.mantissa));
        (llvm.select(normal, exponent, constant(1)), llvm.select(normal, hidden, fraction))
    }

    /// `rest * 2^exponent` with the sign of `a`. The rest is below the divisor's significand, so the number is
    /// exact; converting and multiplying by two powers keeps it so.
    fn put_together(&self, finish: Bb, rest: Val, exponent: Val, a: Val, ty: Ty, fields: Fields) {
        let llvm = self.llvm();
        llvm.position_at_end(finish);
        let word = llvm.int(64);
        let constant = |value| llvm.const_int(word, value);
        // A number is its significand times 2^(exponent - bias - mantissa); that power can be too small for a
        // normal number, its square root's cannot.
        let power = llvm.binary(Op::LLVMSub, exponent, constant(fields.bias + i64::from(fields.mantissa)));
        let half = llvm.binary(Op::LLVMAShr, power, constant(1));
        let other = llvm.binary(Op::LLVMSub, power, half);
        let two_to = |power: Val| {
            let biased = llvm.binary(Op::LLVMAdd, power, constant(fields.bias));
            let bits = llvm.binary(Op::LLVMShl, biased, constant(i64::from(fields.mantissa)));
            llvm.cast(Op::LLVMBitCast, self.resized(bits, fields.bits), ty)
        };
        let number = llvm.cast(Op::LLVMSIToFP, rest, ty);
        let scaled = llvm.binary(Op::LLVMFMul, llvm.binary(Op::LLVMFMul, number, two_to(half)), two_to(other));
        llvm.return_value(Some(llvm.call_intrinsic("llvm.copysign", &[ty], &[scaled, a])));
    }
}
