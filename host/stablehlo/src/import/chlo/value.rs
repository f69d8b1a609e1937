//! Formulas as code: an elementwise operation of HLO is an operator or a method of a [`Value`].

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use fusebox_core::hlo::{BinaryOp, Comparison, ElementType, InstrId, UnaryOp};
use fusebox_edit::Builder;

/// An array of a computation under construction.
#[derive(Clone, Copy)]
pub(super) struct Value<'f> {
    computation: &'f dyn Formula,
    pub id: InstrId,
    pub element_type: ElementType,
}

/// A computation to which a formula adds instructions.
trait Formula {
    fn add(&self, add: &mut dyn FnMut(&mut Builder) -> InstrId) -> (InstrId, Option<ElementType>);
}

impl Formula for RefCell<&mut Builder<'_>> {
    fn add(&self, add: &mut dyn FnMut(&mut Builder) -> InstrId) -> (InstrId, Option<ElementType>) {
        let edit = &mut **self.borrow_mut();
        let id = add(edit);
        (id, edit.array(id).map(|array| array.element_type))
    }
}

/// An operand of a formula. A number stands for an array of equal elements.
#[derive(Clone, Copy)]
pub(super) enum Operand<'f> {
    Value(Value<'f>),
    Number(f64),
}

impl<'f> From<Value<'f>> for Operand<'f> {
    fn from(value: Value<'f>) -> Self {
        Operand::Value(value)
    }
}

impl From<f64> for Operand<'_> {
    fn from(number: f64) -> Self {
        Operand::Number(number)
    }
}

impl<'f> Value<'f> {
    /// Returns an array of this element type as the operand of a formula.
    pub(super) fn new(computation: &'f RefCell<&mut Builder<'_>>, id: InstrId, element_type: ElementType) -> Self {
        Value { computation, id, element_type }
    }

    fn with(self, mut add: impl FnMut(&mut Builder) -> InstrId) -> Value<'f> {
        let (id, element_type) = self.computation.add(&mut add);
        Value { id, element_type: element_type.unwrap_or(self.element_type), ..self }
    }

    /// Returns an array with the shape and the type of this array. All elements of the result are
    /// `number`, rounded to the type.
    pub(super) fn filled(self, number: f64) -> Value<'f> {
        self.with(|edit| edit.filled_like(self.id, number))
    }

    /// Does the same as [`filled`](Self::filled) for an integer that `f64` cannot represent.
    pub(super) fn filled_with_integer(self, integer: i64) -> Value<'f> {
        self.with(|edit| {
            let (scalar, dims) = (edit.integer(self.element_type, integer), edit.dims(self.id));
            edit.spread(scalar, &dims)
        })
    }

    fn operand(self, operand: impl Into<Operand<'f>>) -> Value<'f> {
        match operand.into() {
            Operand::Value(value) => value,
            Operand::Number(number) => self.filled(number),
        }
    }

    /// Whether the elements are `f64`. All other floats use the formulas for `f32`.
    pub(super) fn is_double(self) -> bool {
        self.element_type == ElementType::F64
    }

    fn unary(self, op: UnaryOp) -> Value<'f> {
        self.with(|edit| edit.unary(op, self.id))
    }

    fn binary(self, op: BinaryOp, right: impl Into<Operand<'f>>) -> Value<'f> {
        let right = self.operand(right);
        self.with(|edit| edit.binary(op, self.id, right.id))
    }

    /// Compares each element with the corresponding element of `right`.
    pub(super) fn is(self, direction: Comparison, right: impl Into<Operand<'f>>) -> Value<'f> {
        let right = self.operand(right);
        self.with(|edit| edit.compare(direction, self.id, right.id))
    }

    /// Returns the elements of `on_true` where this predicate is true, and of `on_false` elsewhere.
    pub(super) fn choose(self, on_true: impl Into<Operand<'f>>, on_false: Value<'f>) -> Value<'f> {
        let on_true = on_false.operand(on_true);
        self.with(|edit| edit.select(self.id, on_true.id, on_false.id))
    }

    pub(super) fn converted(self, element_type: ElementType) -> Value<'f> {
        self.with(|edit| edit.convert(self.id, element_type))
    }

    /// Returns the bits of each element as another type of the same width.
    pub(super) fn bits_as(self, element_type: ElementType) -> Value<'f> {
        self.with(|edit| edit.bitcast_convert(self.id, element_type))
    }

    /// Evaluates a polynomial by Horner's rule. The coefficient of the highest power comes first.
    pub(super) fn polynomial(self, coefficients: &[f64]) -> Value<'f> {
        let Some((&first, rest)) = coefficients.split_first() else { return self.filled(0.0) };
        rest.iter().fold(self.filled(first), |sum, &coefficient| sum * self + coefficient)
    }
}

macro_rules! methods {
    (unary { $($unary:ident $unary_op:ident,)* } binary { $($binary:ident $binary_op:ident,)* }) => {
        impl<'f> Value<'f> {
            $(pub(super) fn $unary(self) -> Value<'f> {
                self.unary(UnaryOp::$unary_op)
            })*

            $(pub(super) fn $binary(self, right: impl Into<Operand<'f>>) -> Value<'f> {
                self.binary(BinaryOp::$binary_op, right)
            })*
        }
    };
}

methods! {
    unary {
        abs Abs, cos Cosine, exp Exponential, floor Floor, imag Imag, is_finite IsFinite, log Log,
        log_plus_one LogPlusOne, negate Negate, not Not, real Real, sign Sign, sin Sine, sqrt Sqrt,
    }
    binary {
        and And, atan2 Atan2, complex Complex, or Or, power Power, remainder Remainder,
    }
}

macro_rules! operators {
    ($($operator:ident, $method:ident, $op:ident;)*) => {$(
        impl<'f, R: Into<Operand<'f>>> $operator<R> for Value<'f> {
            type Output = Value<'f>;
            fn $method(self, right: R) -> Value<'f> {
                self.binary(BinaryOp::$op, right)
            }
        }

        impl<'f> $operator<Value<'f>> for f64 {
            type Output = Value<'f>;
            fn $method(self, right: Value<'f>) -> Value<'f> {
                right.filled(self).binary(BinaryOp::$op, right)
            }
        }
    )*};
}

operators! {
    Add, add, Add;
    Sub, sub, Subtract;
    Mul, mul, Multiply;
    Div, div, Divide;
}

impl<'f> Neg for Value<'f> {
    type Output = Value<'f>;
    fn neg(self) -> Value<'f> {
        self.negate()
    }
}
