//! `arith` on integers, and the parts of it that integers and floats share.

use fusebox_core::indexing::Interval;

use super::function::{Done, Function};
use super::slot::{Slot, integer_bits};
use crate::error::Unsupported;
use crate::llvm::{IntPredicate, Op, Val};
use crate::mlir::{Operation, Type, Value};

/// How far the range of an integer is followed through its definitions.
const RANGE_DEPTH: u32 = 8;

impl Function<'_, '_, '_> {
    pub(super) fn arith(&mut self, op: Operation) -> Done {
        let name = op.name();
        match name {
            "arith.constant" => self.constant(op),
            "arith.cmpi" => self.compare(op),
            "arith.select" => self.select(op),
            "arith.index_cast" => self.index_cast(op, true),
            "arith.index_castui" => self.index_cast(op, false),
            "arith.extsi" => self.convert_integer(op, true),
            "arith.extui" | "arith.trunci" => self.convert_integer(op, false),
            "arith.mulsi_extended" => self.multiply_extended(op, true),
            "arith.mului_extended" => self.multiply_extended(op, false),
            "arith.bitcast" => self.bitcast(op),
            "arith.extf" | "arith.truncf" | "arith.sitofp" | "arith.uitofp" | "arith.fptosi" | "arith.fptoui" => {
                self.convert_float(op)
            }
            "arith.addf" | "arith.subf" | "arith.mulf" | "arith.divf" | "arith.remf" | "arith.maximumf"
            | "arith.minimumf" | "arith.maxnumf" | "arith.minnumf" | "arith.negf" | "arith.cmpf" => {
                self.float_arithmetic(op)
            }
            _ if op.operand_count() != 2 => Unsupported::because("the operation is not part of the kernel IR"),
            _ if op.operand(0).ty() == Type::Index => self.index_arithmetic(op),
            _ => {
                let (a, b) = (self.plain(op.operand(0))?, self.plain(op.operand(1))?);
                self.report_division(name, a, b)?;
                let value = self.integer_arithmetic(name, a, b)?;
                self.bind_plain(op, value);
                Ok(())
            }
        }
    }

    pub(super) fn integer_arithmetic(&self, name: &str, a: Val, b: Val) -> Done<Val> {
        let llvm = self.llvm();
        let simple = |op| Ok(llvm.binary(op, a, b));
        let extreme = |intrinsic| Ok(llvm.call_intrinsic(intrinsic, &[llvm.type_of(a)], &[a, b]));
        match name {
            "arith.addi" => simple(Op::LLVMAdd),
            "arith.subi" => simple(Op::LLVMSub),
            "arith.muli" => simple(Op::LLVMMul),
            "arith.divsi" => simple(Op::LLVMSDiv),
            "arith.divui" => simple(Op::LLVMUDiv),
            "arith.remsi" => simple(Op::LLVMSRem),
            "arith.remui" => simple(Op::LLVMURem),
            "arith.floordivsi" => Ok(self.round_quotient(a, b, false)),
            "arith.ceildivsi" => Ok(self.round_quotient(a, b, true)),
            "arith.andi" if llvm.int_bits(llvm.type_of(a)) == 1 => Ok(match (llvm.known_bool(a), llvm.known_bool(b)) {
                (Some(true), _) | (_, Some(false)) => b,
                (Some(false), _) | (_, Some(true)) => a,
                _ => llvm.binary(Op::LLVMAnd, a, b),
            }),
            "arith.andi" => simple(Op::LLVMAnd),
            "arith.ori" => simple(Op::LLVMOr),
            "arith.xori" => simple(Op::LLVMXor),
            "arith.shli" => simple(Op::LLVMShl),
            "arith.shrsi" => simple(Op::LLVMAShr),
            "arith.shrui" => simple(Op::LLVMLShr),
            "arith.maxsi" => extreme("llvm.smax"),
            "arith.minsi" => extreme("llvm.smin"),
            "arith.maxui" => extreme("llvm.umax"),
            "arith.minui" => extreme("llvm.umin"),
            _ => Unsupported::because("the operation is not part of the kernel IR"),
        }
    }

    /// The signed quotient, rounded down or up instead of towards zero.
    fn round_quotient(&self, a: Val, b: Val, up: bool) -> Val {
        let llvm = self.llvm();
        let ty = llvm.type_of(a);
        let zero = llvm.const_int(ty, 0);
        let (quotient, rest) = (llvm.binary(Op::LLVMSDiv, a, b), llvm.binary(Op::LLVMSRem, a, b));
        let inexact = llvm.compare_int(IntPredicate::LLVMIntNE, rest, zero);
        let negative = llvm.compare_int(IntPredicate::LLVMIntSLT, llvm.binary(Op::LLVMXor, a, b), zero);
        let (op, wrong) = if up {
            (Op::LLVMAdd, llvm.binary(Op::LLVMXor, negative, llvm.const_int(llvm.type_of(negative), 1)))
        } else {
            (Op::LLVMSub, negative)
        };
        let correction = llvm.cast(Op::LLVMZExt, llvm.binary(Op::LLVMAnd, inexact, wrong), ty);
        llvm.binary(op, quotient, correction)
    }

    fn convert_integer(&mut self, op: Operation, signed: bool) -> Done {
        let Some(bits) = integer_bits(&op.result(0).ty()) else {
            return Unsupported::because("it converts to other than integers");
        };
        let value = self.plain(op.operand(0))?;
        let value = self.resized_as(value, bits, signed);
        self.bind_plain(op, value);
        Ok(())
    }

    fn multiply_extended(&mut self, op: Operation, signed: bool) -> Done {
        let (a, b) = (self.plain(op.operand(0))?, self.plain(op.operand(1))?);
        let bits = self.llvm().int_bits(self.llvm().type_of(a));
        let (wide_a, wide_b) = (self.resized_as(a, 2 * bits, signed), self.resized_as(b, 2 * bits, signed));
        let llvm = self.llvm();
        let product = llvm.binary(Op::LLVMMul, wide_a, wide_b);
        let shift = llvm.const_int(llvm.type_of(product), i64::from(bits));
        let (low, high) = (product, llvm.binary(Op::LLVMLShr, product, shift));
        let (low, high) = (self.resized(low, bits), self.resized(high, bits));
        self.bind(op.result(0), Slot::Plain(low));
        self.bind(op.result(1), Slot::Plain(high));
        Ok(())
    }

    fn compare(&mut self, op: Operation) -> Done {
        let Some(predicate) = op.attribute("predicate").and_then(|it| it.integer()).and_then(integer_predicate) else {
            return Unsupported::because("its predicate is unknown");
        };
        let result = if let Some(outcome) = self.decided(op) {
            self.llvm().const_int(self.llvm().int(1), i64::from(outcome))
        } else if op.operand(0).ty() == Type::Index {
            let (a, b) = (self.index(op.operand(0))?, self.index(op.operand(1))?);
            self.compare_indices(predicate, a, b)
        } else {
            let (a, b) = (self.plain(op.operand(0))?, self.plain(op.operand(1))?);
            self.llvm().compare_int(predicate, a, b)
        };
        self.bind_plain(op, result);
        Ok(())
    }

    fn select(&mut self, op: Operation) -> Done {
        let condition = self.plain(op.operand(0))?;
        let (then, otherwise) = (self.slot(op.operand(1))?, self.slot(op.operand(2))?);
        let slot = match (then, otherwise) {
            (Slot::Index(a), Slot::Index(b)) => {
                let bits = self.bits_of(a).max(self.bits_of(b));
                let (left, right) = (self.index_value(a, bits), self.index_value(b, bits));
                let range = self.indices.range(a).hull(self.indices.range(b));
                let value = self.llvm().select(condition, left, right);
                Slot::Index(self.leaf(value, range))
            }
            (Slot::Plain(a), Slot::Plain(b)) => {
                let value = self.llvm().select(condition, a, b);
                self.rounding.follow(op.name(), &[a, b], value);
                Slot::Plain(value)
            }
            (Slot::Complex(re, im), Slot::Complex(other_re, other_im)) => {
                let llvm = self.llvm();
                Slot::Complex(llvm.select(condition, re, other_re), llvm.select(condition, im, other_im))
            }
            (Slot::Tensor(a), Slot::Tensor(b)) if a.known == b.known => {
                let pointer = self.llvm().select(condition, a.pointer, b.pointer);
                Slot::Tensor(super::slot::Tensor { pointer, ..a })
            }
            _ => return Unsupported::because("it selects between values of different kinds"),
        };
        self.bind(op.result(0), slot);
        Ok(())
    }

    /// The values an integer can have, as far as its definition shows.
    pub(super) fn range_of_integer(&self, value: Value, bits: u32, signed: bool) -> Interval {
        range_of(value, bits, signed, RANGE_DEPTH)
    }
}

/// All values of an integer of so many bits.
fn full_range(bits: u32, signed: bool) -> Interval {
    match (signed, bits) {
        (_, 64..) => Interval::ALL,
        (true, bits) => Interval::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (false, bits) => Interval::new(0, (1 << bits) - 1),
    }
}

fn range_of(value: Value, bits: u32, signed: bool, depth: u32) -> Interval {
    let full = full_range(bits, signed);
    let Some(op) = value.definition().filter(|_| depth > 0) else { return full };
    let operand = |at: usize, signed| match op.operand(at).ty() {
        Type::Integer(bits) => range_of(op.operand(at), bits, signed, depth - 1),
        _ => Interval::ALL,
    };
    let found = match (op.name(), signed) {
        ("arith.constant", true) => op.attribute("value").and_then(|it| it.integer()).map_or(full, Interval::point),
        ("arith.maxsi", true) => operand(0, true).max(operand(1, true)),
        ("arith.minsi", true) => operand(0, true).min(operand(1, true)),
        ("arith.maxui", false) => operand(0, false).max(operand(1, false)),
        ("arith.minui", false) => operand(0, false).min(operand(1, false)),
        ("arith.extsi", true) => operand(0, true),
        ("arith.extui", _) => operand(0, false),
        ("arith.select", _) => operand(1, signed).hull(operand(2, signed)),
        _ => full,
    };
    found.intersect(full)
}

fn integer_predicate(number: i64) -> Option<IntPredicate> {
    Some(match number {
        0 => IntPredicate::LLVMIntEQ,
        1 => IntPredicate::LLVMIntNE,
        2 => IntPredicate::LLVMIntSLT,
        3 => IntPredicate::LLVMIntSLE,
        4 => IntPredicate::LLVMIntSGT,
        5 => IntPredicate::LLVMIntSGE,
        6 => IntPredicate::LLVMIntULT,
        7 => IntPredicate::LLVMIntULE,
        8 => IntPredicate::LLVMIntUGT,
        9 => IntPredicate::LLVMIntUGE,
        _ => return None,
    })
}
