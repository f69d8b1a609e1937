//! Index arithmetic: remembered as expressions, written where its value is needed.

use fusebox_core::indexing::Interval;

use super::function::{Done, Function};
use super::slot::Slot;
use crate::error::Unsupported;
use crate::indices::{Ix, Kind, Sum};
use crate::llvm::{IntPredicate, Op, Val};
use crate::mlir::{Operation, Type};

const I32: Interval = Interval::new(i32::MIN as i64, i32::MAX as i64);

impl Function<'_, '_, '_> {
    pub(super) fn apply_indexing(&mut self, op: Operation) -> Done {
        let map = self.map_once(op)?;
        let operands = op.operands().map(|operand| self.index(operand)).collect::<Done<Vec<Ix>>>()?;
        let (dims, rest) = operands.split_at(map.dims.len());
        let (ranges, runtime) = rest.split_at(map.ranges.len());
        for (result, expr) in op.results().zip(&map.results) {
            let ix = self.indices.substitute(expr, dims, ranges, runtime).map_err(Unsupported)?;
            self.bind(result, Slot::Index(ix));
        }
        Ok(())
    }

    /// An `arith` operation on indices.
    pub(super) fn index_arithmetic(&mut self, op: Operation) -> Done {
        let (a, b) = (self.index(op.operand(0))?, self.index(op.operand(1))?);
        match self.index_result(op.name(), a, b) {
            Some(ix) => self.bind(op.result(0), Slot::Index(ix)),
            None => self.opaque_index_arithmetic(op, a, b)?,
        }
        Ok(())
    }

    /// The expression that an operation on indices computes, if it has one.
    pub(super) fn index_result(&mut self, name: &str, a: Ix, b: Ix) -> Option<Ix> {
        let divisor = self.indices.as_constant(b).filter(|&value| value > 0);
        let not_negative = self.indices.range(a).lower >= 0;
        Some(match (name, divisor) {
            ("arith.addi", _) => self.indices.add(a, b),
            ("arith.subi", _) => self.indices.sub(a, b),
            ("arith.muli", _) => self.indices.product(a, b),
            ("arith.minsi", _) => self.indices.min(a, b),
            ("arith.maxsi", _) => self.indices.max(a, b),
            ("arith.floordivsi", Some(divisor)) => self.indices.floor_div(a, divisor),
            ("arith.divsi" | "arith.divui", Some(divisor)) if not_negative => self.indices.floor_div(a, divisor),
            ("arith.remsi" | "arith.remui", Some(divisor)) if not_negative => self.indices.modulo(a, divisor),
            ("arith.ceildivsi", Some(divisor)) => {
                let shift = self.indices.constant(divisor - 1);
                let shifted = self.indices.add(a, shift);
                self.indices.floor_div(shifted, divisor)
            }
            _ => return None,
        })
    }

    /// Computed like integers; the result is a leaf.
    fn opaque_index_arithmetic(&mut self, op: Operation, a: Ix, b: Ix) -> Done {
        let (left, right) = (self.index_value(a, 64), self.index_value(b, 64));
        self.report_division(op.name(), left, right)?;
        let value = self.integer_arithmetic(op.name(), left, right)?;
        let ix = self.leaf(value, Interval::ALL);
        self.bind(op.result(0), Slot::Index(ix));
        Ok(())
    }

    /// `arith.cmpi` of indices.
    pub(super) fn compare_indices(&mut self, predicate: IntPredicate, a: Ix, b: Ix) -> Val {
        let difference = self.indices.sub(a, b);
        let range = self.indices.range(difference);
        // A saturated range says nothing about the sign of the real difference.
        let trusted = range.lower > i64::MIN && range.upper < i64::MAX;
        if let Some(value) = decide(predicate, range).filter(|_| trusted) {
            return self.llvm().const_int(self.llvm().int(1), i64::from(value));
        }
        let bits = self.bits_of(a).max(self.bits_of(b));
        let (left, right) = (self.index_value(a, bits), self.index_value(b, bits));
        self.llvm().compare_int(predicate, left, right)
    }

    /// `arith.index_cast` and `index_castui`.
    pub(super) fn index_cast(&mut self, op: Operation, signed: bool) -> Done {
        let (from, to) = (op.operand(0).ty(), op.result(0).ty());
        match (&from, &to) {
            (Type::Index, Type::Integer(bits)) => {
                let ix = self.index(op.operand(0))?;
                let value = self.index_value(ix, (*bits).max(32));
                let value = self.resized(value, *bits);
                self.bind_plain(op, value);
            }
            (Type::Integer(bits), Type::Index) => {
                let range = self.range_of_integer(op.operand(0), *bits, signed);
                let value = self.plain(op.operand(0))?;
                let wide = 64.min((*bits).max(self.translation.traits.index_bits));
                let value = match (signed, wide == *bits) {
                    (_, true) => value,
                    (true, _) => self.llvm().cast(Op::LLVMSExt, value, self.llvm().int(wide)),
                    (false, _) => self.llvm().cast(Op::LLVMZExt, value, self.llvm().int(wide)),
                };
                // What was unsigned and of 64 bits is taken as it is: indices have no more.
                let range = if !signed && *bits == 64 { Interval::ALL } else { range };
                let ix = self.leaf(value, range);
                self.bind(op.result(0), Slot::Index(ix));
            }
            (Type::Vector { .. }, Type::Vector { element, .. }) => {
                let value = self.plain(op.operand(0))?;
                let bits = if **element == Type::Index { 64 } else { super::slot::integer_bits(&to).unwrap_or(64) };
                let value = self.resized_as(value, bits, signed);
                self.bind_plain(op, value);
            }
            _ => return Unsupported::because(format!("it casts {from:?} to {to:?}")),
        }
        Ok(())
    }

    /// Sign-extends or truncates.
    pub(super) fn resized(&self, value: Val, bits: u32) -> Val {
        self.resized_as(value, bits, true)
    }

    pub(super) fn resized_as(&self, value: Val, bits: u32, signed: bool) -> Val {
        let llvm = self.llvm();
        let ty = llvm.type_of(value);
        let target = llvm.shaped_like(llvm.int(bits), ty);
        match llvm.int_bits(ty).cmp(&bits) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => llvm.cast(Op::LLVMTrunc, value, target),
            std::cmp::Ordering::Less if signed => llvm.cast(Op::LLVMSExt, value, target),
            std::cmp::Ordering::Less => llvm.cast(Op::LLVMZExt, value, target),
        }
    }

    /// Bits in which an index is computed.
    pub(super) fn bits_of(&self, ix: Ix) -> u32 {
        if self.translation.traits.index_bits == 64 {
            return 64;
        }
        if let Some(&value) = self.leaves.get(&ix) {
            return self.llvm().int_bits(self.llvm().type_of(value));
        }
        if !I32.contains_interval(self.indices.range(ix)) {
            return 64;
        }
        match &*self.indices.kind(ix) {
            Kind::Sum(sum) => {
                let size = |range: Interval| i128::from(range.lower).abs().max(i128::from(range.upper).abs());
                let total = sum.terms.iter().fold(i128::from(sum.constant).abs(), |total, &(term, factor)| {
                    total + size(self.indices.range(term)) * i128::from(factor).abs()
                });
                if total <= i128::from(i32::MAX) { 32 } else { 64 }
            }
            Kind::Min(a, b) | Kind::Max(a, b) => self.bits_of(*a).max(self.bits_of(*b)),
            _ => 32,
        }
    }

    /// Writes an index of this many bits, or reuses what was written.
    pub(super) fn index_value(&mut self, ix: Ix, bits: u32) -> Val {
        if let Some(value) = self.indices.as_constant(ix) {
            return self.llvm().const_int(self.llvm().int(bits), value);
        }
        if let Some(&(value, scope)) = self.written.get(&(ix, bits))
            && self.is_visible(scope)
        {
            return value;
        }
        let own = self.bits_of(ix);
        let value = if own == bits {
            self.write(ix, bits)
        } else {
            let value = self.index_value(ix, own);
            if own < bits && self.indices.range(ix).lower >= 0 {
                self.llvm().zext_non_negative(value, self.llvm().int(bits))
            } else {
                self.resized(value, bits)
            }
        };
        let scope = self.scope();
        self.written.insert((ix, bits), (value, scope));
        value
    }

    fn write(&mut self, ix: Ix, bits: u32) -> Val {
        if let Some(&value) = self.leaves.get(&ix) {
            return value;
        }
        match &*self.indices.kind(ix) {
            // Leaves are found above.
            Kind::Leaf(_) => self.llvm().undefined(self.llvm().int(bits)),
            Kind::Sum(sum) => self.write_sum(sum, bits),
            Kind::FloorDiv(inner, divisor) => self.write_division(*inner, *divisor, bits, true),
            Kind::Mod(inner, divisor) => self.write_division(*inner, *divisor, bits, false),
            Kind::Min(a, b) => self.write_extreme("llvm.smin", *a, *b, bits),
            Kind::Max(a, b) => self.write_extreme("llvm.smax", *a, *b, bits),
            Kind::Product(a, b) => {
                let (left, right) = (self.index_value(*a, bits), self.index_value(*b, bits));
                self.llvm().binary_nsw(Op::LLVMMul, left, right)
            }
            Kind::Whole(inner) => self.index_value(*inner, bits),
        }
    }

    /// Parts that are known in outer blocks come first, so that LLVM can move them there; the constant comes
    /// last, so that accesses next to each other share the rest.
    fn write_sum(&mut self, sum: &Sum, bits: u32) -> Val {
        if sum.constant != 0 {
            let rest = self.indices.sum(Sum { terms: sum.terms.clone(), constant: 0 });
            let rest = self.index_value(rest, bits);
            let constant = self.llvm().const_int(self.llvm().int(bits), sum.constant);
            return self.llvm().binary_nsw(Op::LLVMAdd, rest, constant);
        }
        let mut terms = sum.terms.clone();
        terms.sort_by_key(|&(term, factor)| (self.indices.depth(term), factor < 0, term));
        let mut total: Option<Val> = None;
        for (term, factor) in terms {
            let value = self.index_value(term, bits);
            let llvm = self.llvm();
            let scaled = match factor.unsigned_abs() {
                1 => value,
                factor => llvm.binary_nsw(Op::LLVMMul, value, llvm.const_int(llvm.int(bits), factor as i64)),
            };
            total = Some(match (total, factor < 0) {
                (None, false) => scaled,
                (None, true) => llvm.binary_nsw(Op::LLVMSub, llvm.const_int(llvm.int(bits), 0), scaled),
                (Some(total), false) => llvm.binary_nsw(Op::LLVMAdd, total, scaled),
                (Some(total), true) => llvm.binary_nsw(Op::LLVMSub, total, scaled),
            });
        }
        total.unwrap_or_else(|| self.llvm().const_int(self.llvm().int(bits), 0))
    }

    fn write_extreme(&mut self, intrinsic: &str, a: Ix, b: Ix, bits: u32) -> Val {
        let (left, right) = (self.index_value(a, bits), self.index_value(b, bits));
        self.llvm().call_intrinsic(intrinsic, &[self.llvm().int(bits)], &[left, right])
    }

    fn write_division(&mut self, inner: Ix, divisor: i64, bits: u32, quotient: bool) -> Val {
        let range = self.indices.range(inner);
        if range.lower < 0 {
            return self.write_rounding_down(inner, divisor, bits, quotient);
        }
        // Division of 32 bits is much cheaper, in vectors most of all.
        let small = range.upper <= i64::from(u32::MAX) && divisor <= i64::from(u32::MAX);
        let own = self.bits_of(inner);
        let width = if small { 32 } else { own };
        let value = self.index_value(inner, own);
        let value = self.resized(value, width);
        let llvm = self.llvm();
        let divisor = llvm.const_int(llvm.int(width), divisor);
        let op = if quotient { Op::LLVMUDiv } else { Op::LLVMURem };
        let result = llvm.binary(op, value, divisor);
        if width < bits { llvm.zext_non_negative(result, llvm.int(bits)) } else { self.resized(result, bits) }
    }

    fn write_rounding_down(&mut self, inner: Ix, divisor: i64, bits: u32, quotient: bool) -> Val {
        let own = self.bits_of(inner);
        let value = self.index_value(inner, own);
        let llvm = self.llvm();
        let ty = llvm.int(own);
        let (zero, constant) = (llvm.const_int(ty, 0), llvm.const_int(ty, divisor));
        let result = if divisor & (divisor - 1) == 0 {
            let shift = llvm.const_int(ty, i64::from(divisor.trailing_zeros()));
            let mask = llvm.const_int(ty, divisor - 1);
            if quotient { llvm.binary(Op::LLVMAShr, value, shift) } else { llvm.binary(Op::LLVMAnd, value, mask) }
        } else {
            let rest = llvm.binary(Op::LLVMSRem, value, constant);
            let below = llvm.compare_int(IntPredicate::LLVMIntSLT, rest, zero);
            if quotient {
                let truncated = llvm.binary(Op::LLVMSDiv, value, constant);
                llvm.binary(Op::LLVMAdd, truncated, llvm.cast(Op::LLVMSExt, below, ty))
            } else {
                llvm.select(below, llvm.binary(Op::LLVMAdd, rest, constant), rest)
            }
        };
        self.resized(result, bits)
    }
}

/// The outcome of comparing, where the range of the difference decides it.
fn decide(predicate: IntPredicate, difference: Interval) -> Option<bool> {
    let Interval { lower, upper } = difference;
    match predicate {
        IntPredicate::LLVMIntEQ if lower == 0 && upper == 0 => Some(true),
        IntPredicate::LLVMIntEQ if lower > 0 || upper < 0 => Some(false),
        IntPredicate::LLVMIntNE => decide(IntPredicate::LLVMIntEQ, difference).map(|equal| !equal),
        IntPredicate::LLVMIntSLT if upper < 0 => Some(true),
        IntPredicate::LLVMIntSLT if lower >= 0 => Some(false),
        IntPredicate::LLVMIntSLE if upper <= 0 => Some(true),
        IntPredicate::LLVMIntSLE if lower > 0 => Some(false),
        IntPredicate::LLVMIntSGT => decide(IntPredicate::LLVMIntSLE, difference).map(|at_most| !at_most),
        IntPredicate::LLVMIntSGE => decide(IntPredicate::LLVMIntSLT, difference).map(|less| !less),
        _ => None,
    }
}
