//! Writes expressions as integer arithmetic.

use fusebox_core::indexing::Interval;
use fusebox_core::ir::{Attribute, OpKind, Scalar, Type, Value};

use super::Indexed;
use crate::indices::{Ix, Kind, Sum};
use crate::stages::rewrite::Stage;
use crate::stages::writer::Attributes;

const I32: Interval = Interval::new(i32::MIN as i64, i32::MAX as i64);

fn integer(bits: u32) -> Type {
    Type::Scalar(Scalar::Int(bits))
}

impl Indexed<'_, '_> {
    /// Returns the width in bits of the integers with which the kernel computes an index.
    pub(super) fn bits_of(&mut self, ix: Ix) -> u32 {
        if self.target.index_bits == 64 {
            return 64;
        }
        if let Some(value) = self.tracker.leaf_value(ix) {
            return self.out().type_of(value).element().bits();
        }
        let algebra = &self.tracker.algebra;
        if !I32.contains_interval(algebra.range(ix)) {
            return 64;
        }
        match &*algebra.kind(ix) {
            Kind::Sum(sum) => {
                let size = |range: Interval| i128::from(range.lower).abs().max(i128::from(range.upper).abs());
                let total = sum.terms.iter().fold(i128::from(sum.constant).abs(), |total, &(term, factor)| {
                    total + size(algebra.range(term)) * i128::from(factor).abs()
                });
                if total <= i128::from(i32::MAX) { 32 } else { 64 }
            }
            Kind::Min(a, b) | Kind::Max(a, b) => self.bits_of(*a).max(self.bits_of(*b)),
            _ => 32,
        }
    }

    /// Returns an index as an integer of `bits` bits. Writes the operations that compute the
    /// integer, or reuses a value that was written before.
    pub(super) fn index_value(&mut self, ix: Ix, bits: u32) -> Value {
        if let Some(value) = self.tracker.algebra.as_constant(ix) {
            return self.out().int(value, &integer(bits));
        }
        if let Some(&(value, scope)) = self.written.get(&(ix, bits))
            && self.out().is_visible(scope)
        {
            return value;
        }
        let own = self.bits_of(ix);
        let value = if own == bits {
            self.write(ix, bits)
        } else {
            let value = self.index_value(ix, own);
            if own < bits && self.tracker.algebra.range(ix).lower >= 0 {
                self.widened(value, bits)
            } else {
                self.out().resized(value, bits, true)
            }
        };
        let scope = self.out().scope();
        self.written.insert((ix, bits), (value, scope));
        value
    }

    /// Widens a value that is never negative.
    fn widened(&mut self, value: Value, bits: u32) -> Value {
        self.out().op(OpKind::ExtUI, &[value], vec![("nonNeg".into(), Attribute::Unit)], integer(bits))
    }

    /// Writes an operation whose signed result does not overflow.
    pub(super) fn exact(&mut self, kind: OpKind, a: Value, b: Value) -> Value {
        let flags: Attributes = vec![("overflowFlags".into(), Attribute::raw("#arith.overflow<nsw>"))];
        let ty = self.out().type_of(a).clone();
        self.out().op(kind, &[a, b], flags, ty)
    }

    fn write(&mut self, ix: Ix, bits: u32) -> Value {
        if let Some(value) = self.tracker.leaf_value(ix) {
            return value;
        }
        let kind = self.tracker.algebra.kind(ix);
        match &*kind {
            // `leaf_value` handles leaves above.
            Kind::Leaf(_) => self.out().int(0, &integer(bits)),
            Kind::Sum(sum) => self.write_sum(sum, bits),
            Kind::FloorDiv(inner, divisor) => self.write_division(*inner, *divisor, bits, true),
            Kind::Mod(inner, divisor) => self.write_division(*inner, *divisor, bits, false),
            Kind::Min(a, b) => self.write_both(OpKind::MinSI, *a, *b, bits),
            Kind::Max(a, b) => self.write_both(OpKind::MaxSI, *a, *b, bits),
            Kind::Product(a, b) => {
                let (left, right) = (self.index_value(*a, bits), self.index_value(*b, bits));
                self.exact(OpKind::MulI, left, right)
            }
            Kind::Whole(inner) => self.index_value(*inner, bits),
        }
    }

    fn write_both(&mut self, kind: OpKind, a: Ix, b: Ix, bits: u32) -> Value {
        let (left, right) = (self.index_value(a, bits), self.index_value(b, bits));
        self.out().binary(kind, left, right)
    }

    /// Writes a sum, beginning with the terms of outer regions, so that LLVM can hoist these terms.
    /// Adds the constant of the sum last, so that adjacent accesses reuse the sum of the other
    /// terms.
    fn write_sum(&mut self, sum: &Sum, bits: u32) -> Value {
        if sum.constant != 0 {
            let rest = self.tracker.algebra.sum(Sum { terms: sum.terms.clone(), constant: 0 });
            let rest = self.index_value(rest, bits);
            let constant = self.out().int(sum.constant, &integer(bits));
            return self.exact(OpKind::AddI, rest, constant);
        }
        let mut terms = sum.terms.clone();
        terms.sort_by_key(|&(term, factor)| (self.tracker.algebra.depth(term), factor < 0, term));
        let mut total: Option<Value> = None;
        for (term, factor) in terms {
            let value = self.index_value(term, bits);
            let scaled = match factor.unsigned_abs() {
                1 => value,
                factor => {
                    let factor = self.out().int(factor as i64, &integer(bits));
                    self.exact(OpKind::MulI, value, factor)
                }
            };
            total = Some(match (total, factor < 0) {
                (None, false) => scaled,
                (None, true) => {
                    let zero = self.out().int(0, &integer(bits));
                    self.exact(OpKind::SubI, zero, scaled)
                }
                (Some(total), false) => self.exact(OpKind::AddI, total, scaled),
                (Some(total), true) => self.exact(OpKind::SubI, total, scaled),
            });
        }
        total.unwrap_or_else(|| self.out().int(0, &integer(bits)))
    }

    fn write_division(&mut self, inner: Ix, divisor: i64, bits: u32, quotient: bool) -> Value {
        let range = self.tracker.algebra.range(inner);
        let own = self.bits_of(inner);
        if let Some(turns) = turns_above_zero(range, divisor, own) {
            return self.write_shifted_division(inner, divisor, bits, quotient, turns);
        }
        let value = self.index_value(inner, own);
        if range.lower < 0 {
            let result = self.write_rounding_down(value, divisor, quotient);
            return self.out().resized(result, bits, true);
        }
        // Division with 32 bits is much cheaper, above all in vectors.
        let small = range.upper <= i64::from(u32::MAX) && divisor <= i64::from(u32::MAX);
        let width = if small { 32 } else { own };
        let value = self.out().resized(value, width, true);
        let divisor = self.out().int(divisor, &integer(width));
        let kind = if quotient { OpKind::DivUI } else { OpKind::RemUI };
        let result = self.out().binary(kind, value, divisor);
        if width < bits { self.widened(result, bits) } else { self.out().resized(result, bits, true) }
    }

    /// Writes `(x + turns · divisor) / divisor - turns`. The dividend `x + turns · divisor` is
    /// never negative, so a division that rounds towards zero needs no correction. The remainder of
    /// `x + turns · divisor` equals the remainder of `x`.
    fn write_shifted_division(&mut self, inner: Ix, divisor: i64, bits: u32, quotient: bool, turns: i64) -> Value {
        let algebra = &mut self.tracker.algebra;
        let shift = algebra.constant(turns * divisor);
        let shifted = algebra.add(inner, shift);
        let result = self.write_division(shifted, divisor, bits, quotient);
        if !quotient {
            return result;
        }
        let turns = self.out().int(turns, &integer(bits));
        self.exact(OpKind::SubI, result, turns)
    }

    fn write_rounding_down(&mut self, value: Value, divisor: i64, quotient: bool) -> Value {
        self.out().formula(&[value], |value| {
            let value = value[0];
            if divisor & (divisor - 1) == 0 {
                let bits = i64::from(divisor.trailing_zeros());
                return if quotient { value.shrsi(bits) } else { value & (divisor - 1) };
            }
            let (zero, divisor) = (value.integer(0), value.integer(divisor));
            let rest = value.remsi(divisor);
            let below = rest.lt(zero);
            if quotient {
                value.divsi(divisor) + below.extsi(value.scalar())
            } else {
                below.select(rest + divisor, rest)
            }
        })
    }
}

/// Returns how many times the divisor must be added to the dividends in `range` so that none is
/// negative. Returns `None` if no dividend is negative or if `bits` bits cannot hold the sum. Also
/// returns `None` if the divisor is a power of two. In this case a shift, which rounds down,
/// replaces the division.
fn turns_above_zero(range: Interval, divisor: i64, bits: u32) -> Option<i64> {
    let room = if bits == 32 { I32.upper } else { i64::MAX };
    let turns = range.lower.checked_neg().filter(|&below| below > 0)?.checked_add(divisor - 1)? / divisor;
    let highest = range.upper.checked_add(turns.checked_mul(divisor)?)?;
    (divisor & (divisor - 1) != 0 && highest <= room).then_some(turns)
}
