//! Rewrites operations of the dialect `math`. Operations that are one instruction on all targets
//! remain unchanged. All other operations of `math` become a few operations with an instruction, or
//! calls of the math library.

use fusebox_core::builder::FloatPredicate;
use fusebox_core::ir::{Attribute, OpKind, Operation, Scalar, Type, Value};

use super::{Scalars, kept_as_bits};
use crate::error::{Done, Required, Unsupported};
use crate::math as library;
use crate::stages::rewrite::Stage;
use crate::stages::writer::Number;

impl<'s> Scalars<'s, '_> {
    pub(super) fn math(&mut self, op: &'s Operation) -> Done {
        if self.float_of(op.operands[0]).is_some_and(kept_as_bits) {
            return Unsupported::because("math below f32 is written as extf, the operation, and truncf");
        }
        let operands = self.operands(op)?;
        match op.kind {
            OpKind::Round | OpKind::IsNan | OpKind::IsInf | OpKind::IsFinite => {
                let value = self.out().formula(&operands, |a| match op.kind {
                    OpKind::Round => round_half_away(a[0]),
                    OpKind::IsNan => a[0].is_nan(),
                    OpKind::IsInf => a[0].absf().eq(f64::INFINITY),
                    _ => a[0].absf().cmpf(FloatPredicate::One, f64::INFINITY),
                });
                self.bind_value(op, value);
            }
            kind if library::has_function(kind) => return self.library_call(op),
            _ => self.copied(op)?,
        }
        let value = self.value(op.result())?;
        self.rounding.follow(op.kind, &operands, value);
        Ok(())
    }

    /// Writes calls of a function of the math library. A vector needs one call per lane.
    pub(super) fn library_call(&mut self, op: &'s Operation) -> Done {
        let operands = self.operands(op)?;
        let ty = self.out().type_of(operands[0]).clone();
        let symbol =
            library::symbol_for(op.kind, ty.element().bits()).required("the math library has no function for it")?;
        let element = ty.element();
        let value = match &ty {
            Type::Vector(lanes, _) => {
                let lanes: i64 = lanes.iter().product();
                let each = (0..lanes).map(|lane| {
                    let scalars: Vec<Value> =
                        operands.iter().map(|&operand| self.lane(operand, lane, element)).collect();
                    self.scalar_call(op, symbol, &scalars, element)
                });
                let each: Vec<Value> = each.collect();
                self.out().op(OpKind::FromElements, &each, Vec::new(), ty.clone())
            }
            _ => self.scalar_call(op, symbol, &operands, element),
        };
        self.rounding.follow(op.kind, &operands, value);
        self.bind_value(op, value);
        Ok(())
    }

    /// Writes the extraction of one lane of a vector.
    pub(super) fn lane(&mut self, vector: Value, lane: i64, element: Scalar) -> Value {
        let position = vec![("static_position".into(), Attribute::I64Array(vec![lane]))];
        self.out().op(OpKind::VectorExtract, &[vector], position, element.into())
    }

    fn scalar_call(&mut self, op: &'s Operation, symbol: &'static str, operands: &[Value], element: Scalar) -> Value {
        let mut attributes = vec![("callee".into(), Attribute::symbol(symbol))];
        attributes.extend(op.attributes.iter().filter(|(name, _)| name == "fastmath").cloned());
        self.out().op(OpKind::Call, operands, attributes, element.into())
    }
}

/// Rounds to the nearest integer. A number halfway between two integers is rounded away from zero.
/// The fraction that truncation removes is exact, and decides in which direction the function
/// rounds.
fn round_half_away(a: Number<'_>) -> Number<'_> {
    let cut = a.trunc();
    let up = (a - cut).absf().ge(0.5);
    let next = cut + a.number(1.0).copysign(a);
    up.select(next, cut).copysign(a)
}
