//! `arith`, `math` and `complex` operations.

use super::{Attribute, FunctionBuilder, OpKind, Scalar, Type, Value};
use crate::operations::table;

/// The predicates of `arith.cmpi`, which compares integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MLIR's")]
pub enum IntPredicate {
    Eq = 0,
    Ne = 1,
    Slt = 2,
    Sle = 3,
    Sgt = 4,
    Sge = 5,
    Ult = 6,
    Ule = 7,
    Ugt = 8,
    Uge = 9,
}

/// The predicates of `arith.cmpf`, which compares floats. If an operand is NaN, the predicates `O…`
/// are false and the predicates `U…` are true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MLIR's")]
pub enum FloatPredicate {
    False = 0,
    Oeq = 1,
    Ogt = 2,
    Oge = 3,
    Olt = 4,
    Ole = 5,
    One = 6,
    Ord = 7,
    Ueq = 8,
    Ugt = 9,
    Uge = 10,
    Ult = 11,
    Ule = 12,
    Une = 13,
    Uno = 14,
    True = 15,
}

/// Passes one row of the operation table to the macro `$make`, together with the form of the
/// operation: `binary` (two operands of one type), `unary` (one operand) or `cast` (one operand and
/// the target type).
macro_rules! by_form {
    // The methods for rows without documentation are written by hand.
    ($make:ident $form:ident $variant:ident $name:ident) => {};
    ($make:ident IntBinary $($rest:tt)*) => { $make! { binary int_binary $($rest)* } };
    ($make:ident FloatBinary $($rest:tt)*) => { $make! { binary float_binary $($rest)* } };
    ($make:ident IntUnary $($rest:tt)*) => { $make! { unary int_unary $($rest)* } };
    ($make:ident FloatUnary $($rest:tt)*) => { $make! { unary float_unary $($rest)* } };
    ($make:ident FloatTest $($rest:tt)*) => { $make! { unary float_test $($rest)* } };
    // All other forms are casts.
    ($make:ident $form:ident $($rest:tt)*) => { $make! { cast $($rest)* } };
}
pub(super) use by_form;

/// Defines the builder method for one row of the operation table.
macro_rules! method {
    (binary $form:ident $variant:ident $name:ident $words:literal) => {
        #[doc = concat!("[`OpKind::", stringify!($variant), "`]: ", $words)]
        #[track_caller]
        pub fn $name(&mut self, a: Value, b: Value) -> Value {
            self.$form(OpKind::$variant, a, b)
        }
    };
    (unary $form:ident $variant:ident $name:ident $words:literal) => {
        #[doc = concat!("[`OpKind::", stringify!($variant), "`]: ", $words)]
        #[track_caller]
        pub fn $name(&mut self, value: Value) -> Value {
            self.$form(OpKind::$variant, value)
        }
    };
    (cast $variant:ident $name:ident $words:literal) => {
        #[doc = concat!("[`OpKind::", stringify!($variant), "`]: ", $words)]
        #[track_caller]
        pub fn $name(&mut self, value: Value, to: Scalar) -> Value {
            let ty = self.type_of(value).with_element(to);
            self.op1(OpKind::$variant, &[value], Vec::new(), ty)
        }
    };
}

macro_rules! methods {
    ($($variant:ident = $dialect:ident.$name:ident, $form:ident, $effect:ident $(, $words:literal)?;)*) => {
        impl FunctionBuilder { $(by_form! { method $form $variant $name $($words)? })* }
    };
}

table!(methods);

impl FunctionBuilder {
    /// Records a binary operation `arith.…` on integers or `index`.
    #[track_caller]
    pub fn int_binary(&mut self, kind: OpKind, a: Value, b: Value) -> Value {
        let ty = self.type_of(a).clone();
        self.op1(kind, &[a, b], Vec::new(), ty)
    }

    /// Records a binary operation `arith.…` or `math.…` on floats, with the current fastmath flags.
    #[track_caller]
    pub fn float_binary(&mut self, kind: OpKind, a: Value, b: Value) -> Value {
        let (ty, flags) = (self.type_of(a).clone(), self.flags());
        self.op1(kind, &[a, b], flags, ty)
    }

    /// Records a unary operation on integers (`math.ctpop`, `math.ctlz`, …).
    #[track_caller]
    pub fn int_unary(&mut self, kind: OpKind, value: Value) -> Value {
        let ty = self.type_of(value).clone();
        self.op1(kind, &[value], Vec::new(), ty)
    }

    /// Records a unary operation on floats (`math.exp`, `arith.negf`, …), with the current fastmath
    /// flags.
    #[track_caller]
    pub fn float_unary(&mut self, kind: OpKind, value: Value) -> Value {
        let (ty, flags) = (self.type_of(value).clone(), self.flags());
        self.op1(kind, &[value], flags, ty)
    }

    #[track_caller]
    pub(super) fn float_test(&mut self, kind: OpKind, value: Value) -> Value {
        let (ty, flags) = (self.type_of(value).with_element(Scalar::I1), self.flags());
        self.op1(kind, &[value], flags, ty)
    }

    /// `math.fma`: `a * b + c`, rounded once.
    #[track_caller]
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let (ty, flags) = (self.type_of(a).clone(), self.flags());
        self.op1(OpKind::Fma, &[a, b, c], flags, ty)
    }

    /// `arith.cmpi`: comparison of integers.
    #[track_caller]
    pub fn cmpi(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        let ty = self.type_of(a).with_element(Scalar::I1);
        self.op1(OpKind::CmpI, &[a, b], vec![("predicate", Attribute::i64(predicate as i64))], ty)
    }

    /// `arith.cmpf`: comparison of floats.
    #[track_caller]
    pub fn cmpf(&mut self, predicate: FloatPredicate, a: Value, b: Value) -> Value {
        let ty = self.type_of(a).with_element(Scalar::I1);
        let attributes = [("predicate", Attribute::i64(predicate as i64))].into_iter().chain(self.flags()).collect();
        self.op1(OpKind::CmpF, &[a, b], attributes, ty)
    }

    /// `arith.select`: `on_true` if `condition`, else `on_false`. `on_true` and `on_false` have the
    /// same type, which may be any type.
    #[track_caller]
    pub fn select(&mut self, condition: Value, on_true: Value, on_false: Value) -> Value {
        let ty = self.type_of(on_true).clone();
        self.op1(OpKind::Select, &[condition, on_true, on_false], Vec::new(), ty)
    }

    /// `complex.create`: a complex number from its real and imaginary part, both `f32` or both
    /// `f64`.
    #[track_caller]
    pub fn complex(&mut self, re: Value, im: Value) -> Value {
        let ty = match *self.type_of(re) {
            Type::Scalar(Scalar::Float(part)) => Scalar::Complex(part).into(),
            ref other => other.clone(),
        };
        self.op1(OpKind::ComplexCreate, &[re, im], Vec::new(), ty)
    }

    /// `complex.re`: the real part.
    #[track_caller]
    pub fn re(&mut self, value: Value) -> Value {
        self.complex_part(OpKind::ComplexRe, value)
    }

    /// `complex.im`: the imaginary part.
    #[track_caller]
    pub fn im(&mut self, value: Value) -> Value {
        self.complex_part(OpKind::ComplexIm, value)
    }

    #[track_caller]
    fn complex_part(&mut self, kind: OpKind, value: Value) -> Value {
        let ty = match *self.type_of(value) {
            Type::Scalar(Scalar::Complex(part)) => Scalar::Float(part).into(),
            ref other => other.clone(),
        };
        self.op1(kind, &[value], Vec::new(), ty)
    }

    /// Returns the attribute with the current fastmath flags, or nothing if no flag is set.
    pub(super) fn flags(&self) -> Vec<(&'static str, Attribute)> {
        self.fastmath.attribute().map(|flags| ("fastmath", flags)).into_iter().collect()
    }
}
