//! Rewrites arithmetic and conversions of floats.

use fusebox_core::ir::{Float, OpKind, Operation, Scalar, Value};

use super::{Scalars, kept_as_bits};
use crate::error::{Done, Required, Unsupported};
use crate::stages::Form;
use crate::stages::rewrite::Stage;

/// The largest power of two whose inverse is a normal f32: 2^126.
const LARGEST_DIVISOR: f64 = 85070591730234615865843651857942052864.0;

fn is_power_of_two(value: f64) -> bool {
    value.is_normal() && value.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1
}

impl<'s> Scalars<'s, '_> {
    pub(super) fn float_arithmetic(&mut self, op: &'s Operation) -> Done {
        let float = self.float_of(op.operands[0]).required("its operands are no floats")?;
        if kept_as_bits(float) {
            return self.narrow_arithmetic(op, float);
        }
        if op.kind == OpKind::RemF {
            return self.remainder(op);
        }
        let operands = self.operands(op)?;
        self.copied(op)?;
        let value = self.value(op.result())?;
        self.rounding.follow(op.kind, &operands, value);
        Ok(())
    }

    /// Rewrites a remainder. If the divisor is a constant power of two, the remainder needs no
    /// division, because the quotient, its integer part and the remainder are exact. Divisors below
    /// 1 are excluded, because their quotients may overflow.
    fn remainder(&mut self, op: &'s Operation) -> Done {
        let operands = self.operands(op)?;
        let divisor = self.out().as_float(operands[1]).map(f64::abs);
        let Some(divisor) = divisor.filter(|it| (1.0..=LARGEST_DIVISOR).contains(it) && is_power_of_two(*it)) else {
            return self.library_call(op);
        };
        let value =
            self.out().formula(&operands, |a| (a[0] - (a[0] * divisor.recip()).trunc() * divisor).copysign(a[0]));
        self.rounding.follow(op.kind, &operands, value);
        self.bind_value(op, value);
        Ok(())
    }

    /// Rewrites arithmetic on floats that are narrower than f32. Operations that do not round are
    /// computed in f32. For operations that round, the kernel IR must contain the conversion to f32
    /// and the rounding as operations.
    fn narrow_arithmetic(&mut self, op: &'s Operation, float: Float) -> Done {
        use OpKind::{CmpF, MaxNumF, MaximumF, MinNumF, MinimumF, NegF};
        if !matches!(op.kind, CmpF | MaximumF | MinimumF | MaxNumF | MinNumF | NegF) {
            return Unsupported::because("arithmetic below f32 is written as extf, the operation, and truncf");
        }
        let operands = self.operands(op)?;
        let wide: Vec<Value> = operands.into_iter().map(|operand| self.widened_from(operand, float)).collect();
        let value = match op.kind {
            CmpF => {
                let predicate = op.integer("predicate").required("its predicate is unknown")?;
                self.out().comparison(CmpF, predicate, wide[0], wide[1])
            }
            kind => {
                let ty = self.out().type_of(wide[0]).clone();
                let value = self.out().op(kind, &wide, Vec::new(), ty);
                self.rounding.follow(kind, &wide, value);
                self.narrowed(value, float)
            }
        };
        self.bind_value(op, value);
        Ok(())
    }

    /// Rewrites conversions from, to, and between floats.
    pub(super) fn convert(&mut self, op: &'s Operation) -> Done {
        let value = self.value(op.operands[0])?;
        let (from, to) = (self.float_of(op.operands[0]), self.float_of(op.result()));
        let result = match (op.kind.form(), from, to) {
            (Form::WidenFloat | Form::NarrowFloat, Some(from), Some(to)) => self.refloated(value, from, to),
            (Form::IntToFloat, None, Some(to)) => self.float_of_integer(op.kind, value, to),
            (Form::FloatToInt, Some(from), None) => {
                let wide = if kept_as_bits(from) { self.widened(value, from) } else { value };
                let to = self.rewriter.source.type_of(op.result()).element();
                self.out().cast(op.kind, wide, to)
            }
            _ => {
                let source = self.rewriter.source;
                let (from, to) = (source.type_of(op.operands[0]), source.type_of(op.result()));
                return Unsupported::because(format!("it converts {from} to {to}"));
            }
        };
        self.bind_value(op, result);
        Ok(())
    }

    /// Widens a float like [`Self::widened`]. Also records the number's format, so that later
    /// roundings to this format can be dropped.
    fn widened_from(&mut self, bits: Value, float: Float) -> Value {
        let wide = self.widened(bits, float);
        self.rounding.set_format(wide, float);
        wide
    }

    fn refloated(&mut self, value: Value, from: Float, to: Float) -> Value {
        let wide = if kept_as_bits(from) { self.widened_from(value, from) } else { value };
        let wide_is_double = from == Float::F64;
        match to {
            Float::F64 if !wide_is_double => self.out().cast(OpKind::ExtF, wide, Scalar::F64),
            Float::F32 if wide_is_double => self.out().cast(OpKind::TruncF, wide, Scalar::F32),
            Float::F32 | Float::F64 => wide,
            narrow if wide_is_double => {
                let odd = self.rounded_to_odd(wide);
                self.narrowed(odd, narrow)
            }
            narrow => self.narrowed(wide, narrow),
        }
    }

    fn float_of_integer(&mut self, kind: OpKind, value: Value, to: Float) -> Value {
        if !kept_as_bits(to) {
            return self.out().cast(kind, value, Scalar::Float(to));
        }
        let bits = self.out().type_of(value).element().bits();
        if bits <= 24 {
            let wide = self.out().cast(kind, value, Scalar::F32);
            return self.narrowed(wide, to);
        }
        // Converts to f64 first, which is exact for integers of up to 53 bits. The low bits of
        // larger integers only affect the rounding.
        let value = if bits > 53 { self.with_sticky_low_bits(value) } else { value };
        let wide = self.out().cast(kind, value, Scalar::F64);
        let odd = self.rounded_to_odd(wide);
        self.narrowed(odd, to)
    }
}
