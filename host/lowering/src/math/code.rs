//! Formulas as Rust expressions, operations of the kernel IR as the result.
//!
//! A [`Value`] is a value that knows the [`Code`] it belongs to, so `x * x + 1.0` records two operations.
//! Number literals take the type of the value they meet; they are given as bit patterns, so nothing is
//! rounded twice.

use std::cell::{RefCell, RefMut};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use fusebox_core::builder::{BuildError, FloatPredicate, FunctionBuilder, IntPredicate, OpKind, Scalar, Type};
use fusebox_core::ir;

/// The integer type with as many bits.
fn integer_of(ty: Scalar) -> Scalar {
    Scalar::Int(ty.bits())
}

/// The float type with as many bits.
fn float_of(ty: Scalar) -> Scalar {
    if ty.bits() == 32 { Scalar::F32 } else { Scalar::F64 }
}

/// One function while it is made.
pub struct Code {
    builder: RefCell<FunctionBuilder>,
    /// The constants that can be used where the next operation goes, each once.
    constants: RefCell<Vec<(Scalar, u64, ir::Value)>>,
    fma: bool,
}

/// A value of a function.
#[derive(Clone, Copy)]
pub struct Value<'c> {
    code: &'c Code,
    id: ir::Value,
    ty: Scalar,
}

impl Code {
    /// A private function without arguments yet; without `fma`, [`Value::mul_add`] is a product and a sum.
    pub fn new(name: &str, fma: bool) -> Code {
        let mut builder = FunctionBuilder::new(name);
        builder.set_private();
        Code { builder: RefCell::new(builder), constants: RefCell::default(), fma }
    }

    /// Declares the next argument.
    pub fn argument(&self, ty: Scalar) -> Value<'_> {
        let id = self.record().argument(ty);
        self.value(id, ty)
    }

    /// The function, which returns this value.
    ///
    /// # Errors
    /// If a formula mixes types.
    pub fn finish(self, result: ir::Value) -> Result<ir::Function, BuildError> {
        let mut builder = self.builder.into_inner();
        builder.ret(&[result]);
        builder.finish()
    }

    fn record(&self) -> RefMut<'_, FunctionBuilder> {
        self.builder.borrow_mut()
    }

    fn value(&self, id: ir::Value, ty: Scalar) -> Value<'_> {
        Value { code: self, id, ty }
    }

    fn constant(&self, ty: Scalar, bits: u64) -> Value<'_> {
        let mut constants = self.constants.borrow_mut();
        if let Some(&(.., id)) = constants.iter().find(|known| (known.0, known.1) == (ty, bits)) {
            return self.value(id, ty);
        }
        let id = match ty {
            Scalar::Float(_) => self.record().float_bits(bits, ty),
            _ => self.record().int(bits as i64, ty),
        };
        constants.push((ty, bits, id));
        self.value(id, ty)
    }

    /// A float constant of the width of `ty`, rounded to it.
    fn number(&self, ty: Scalar, value: f64) -> Value<'_> {
        match float_of(ty) {
            Scalar::F32 => self.constant(Scalar::F32, u64::from((value as f32).to_bits())),
            float => self.constant(float, value.to_bits()),
        }
    }

    /// An integer constant of the width of `ty`.
    fn integer(&self, ty: Scalar, value: i64) -> Value<'_> {
        self.constant(integer_of(ty), value as u64)
    }

    /// Repeats `body` as long as `condition` holds.
    pub fn repeat_while<'c, const N: usize>(
        &'c self,
        start: [Value<'c>; N],
        condition: impl FnOnce([Value<'c>; N]) -> Value<'c>,
        body: impl FnOnce([Value<'c>; N]) -> [Value<'c>; N],
    ) -> [Value<'c>; N] {
        let types = start.map(|value| Type::from(value.ty));
        let before = self.region(start, |state| {
            let condition = condition(state);
            let operands: Vec<ir::Value> = [condition].iter().chain(&state).map(|value| value.id).collect();
            (OpKind::Condition, operands)
        });
        let after = self.region(start, |state| (OpKind::Yield, body(state).map(|value| value.id).to_vec()));
        let start_ids = start.map(|value| value.id);
        let results = self.record().op(OpKind::While, &start_ids, Vec::new(), &types, vec![before, after]);
        std::array::from_fn(|i| self.value(results[i], start[i].ty))
    }

    /// A region with arguments of these values' types. What makes its operations gives its terminator and the
    /// terminator's operands.
    fn region<'c, const N: usize>(
        &'c self,
        like: [Value<'c>; N],
        make: impl FnOnce([Value<'c>; N]) -> (OpKind, Vec<ir::Value>),
    ) -> ir::Region {
        let outside = self.constants.borrow().len();
        let (region, arguments) = self.record().detached(&like.map(|value| value.ty.into()));
        self.record().enter(region);
        let (terminator, operands) = make(std::array::from_fn(|i| self.value(arguments[i], like[i].ty)));
        self.record().op(terminator, &operands, Vec::new(), &[], Vec::new());
        self.constants.borrow_mut().truncate(outside);
        self.record().leave()
    }
}

/// What can stand where a value of a known type is wanted: a value, or a literal.
pub trait Operand<'c> {
    /// The value, made to fit beside `other`.
    fn beside(self, other: Value<'c>) -> Value<'c>;
}

impl<'c> Operand<'c> for Value<'c> {
    fn beside(self, _: Value<'c>) -> Value<'c> {
        self
    }
}

impl<'c> Operand<'c> for f64 {
    fn beside(self, other: Value<'c>) -> Value<'c> {
        other.number(self)
    }
}

impl<'c> Operand<'c> for i64 {
    fn beside(self, other: Value<'c>) -> Value<'c> {
        other.integer(self)
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $float:ident $integer:ident;)*) => {$(
        impl<'c, O: Operand<'c>> $trait<O> for Value<'c> {
            type Output = Value<'c>;
            fn $method(self, other: O) -> Value<'c> {
                self.binary(OpKind::$float, OpKind::$integer, other.beside(self))
            }
        }

        impl<'c> $trait<Value<'c>> for f64 {
            type Output = Value<'c>;
            fn $method(self, other: Value<'c>) -> Value<'c> {
                self.beside(other).binary(OpKind::$float, OpKind::$integer, other)
            }
        }
    )*};
}

arithmetic! {
    Add add AddF AddI;
    Sub sub SubF SubI;
    Mul mul MulF MulI;
    Div div DivF DivSI;
    BitAnd bitand AndI AndI;
    BitOr bitor OrI OrI;
    BitXor bitxor XorI XorI;
}

impl<'c> Neg for Value<'c> {
    type Output = Value<'c>;
    fn neg(self) -> Value<'c> {
        if self.is_float() { self.unary(OpKind::NegF) } else { 0i64.beside(self) - self }
    }
}

impl<'c> Not for Value<'c> {
    type Output = Value<'c>;
    fn not(self) -> Value<'c> {
        self ^ self.integer(-1)
    }
}

impl<'c> Value<'c> {
    /// The code this value belongs to.
    pub fn code(self) -> &'c Code {
        self.code
    }

    /// Its identity in the function.
    pub fn id(self) -> ir::Value {
        self.id
    }

    /// Whether it is an `f32`.
    pub fn is_f32(self) -> bool {
        self.ty == Scalar::F32
    }

    fn is_float(self) -> bool {
        matches!(self.ty, Scalar::Float(_))
    }

    /// The number in the type of `self`, which is a float.
    pub fn number(self, value: f64) -> Value<'c> {
        self.code.number(self.ty, value)
    }

    /// The integer in the type of `self`.
    pub fn integer(self, value: i64) -> Value<'c> {
        self.code.integer(self.ty, value)
    }

    /// The remainder of an unsigned division by a number that is not 0.
    pub fn remainder(self, other: Value<'c>) -> Value<'c> {
        self.binary(OpKind::RemF, OpKind::RemUI, other)
    }

    /// Low and high half of an unsigned product.
    pub fn multiply_wide(self, other: Value<'c>) -> (Value<'c>, Value<'c>) {
        let types = [Type::from(self.ty), self.ty.into()];
        let halves = self.code.record().op(OpKind::MulUIExtended, &[self.id, other.id], Vec::new(), &types, Vec::new());
        (self.code.value(halves[0], self.ty), self.code.value(halves[1], self.ty))
    }

    /// One of two, by the precision worked in.
    pub fn choose<T>(self, single: T, double: T) -> T {
        if self.ty.bits() == 32 { single } else { double }
    }

    fn binary(self, float: OpKind, integer: OpKind, other: Value<'c>) -> Value<'c> {
        let mut builder = self.code.record();
        let id = match self.is_float() {
            true => builder.float_binary(float, self.id, other.id),
            false => builder.int_binary(integer, self.id, other.id),
        };
        self.code.value(id, self.ty)
    }

    fn unary(self, operation: OpKind) -> Value<'c> {
        self.code.value(self.code.record().float_unary(operation, self.id), self.ty)
    }

    fn cast(self, operation: fn(&mut FunctionBuilder, ir::Value, Scalar) -> ir::Value, to: Scalar) -> Value<'c> {
        if self.ty == to {
            return self;
        }
        self.code.value(operation(&mut self.code.record(), self.id, to), to)
    }

    /// `self * factor + term`, rounded once where the target can.
    pub fn mul_add(self, factor: impl Operand<'c>, term: impl Operand<'c>) -> Value<'c> {
        let (factor, term) = (factor.beside(self), term.beside(self));
        if !self.code.fma {
            return self * factor + term;
        }
        self.code.value(self.code.record().fma(self.id, factor.id, term.id), self.ty)
    }

    /// `c[0] + c[1] x + c[2] x² + …` by Horner's rule: the fewest operations; lanes and loop iterations
    /// give the parallelism.
    pub fn polynomial(self, coefficients: &[f64]) -> Value<'c> {
        let mut terms = coefficients.iter().rev().map(|&c| self.number(c));
        let first = terms.next().unwrap_or_else(|| self.number(0.0));
        terms.fold(first, |sum, term| sum.mul_add(self, term))
    }

    /// One of two polynomials of the same degree. Choosing coefficients costs as much as another polynomial, but
    /// keeps off the units that multiply.
    pub fn polynomial_by(self, choice: Value<'c>, yes: &[f64], no: &[f64]) -> Value<'c> {
        let mut terms = yes.iter().zip(no).rev().map(|(&yes, &no)| choice.select(yes, self.number(no)));
        let first = terms.next().unwrap_or_else(|| self.number(0.0));
        terms.fold(first, |sum, term| sum.mul_add(self, term))
    }

    /// Whether [`Self::mul_add`] rounds once.
    pub fn has_fma(self) -> bool {
        self.code.fma
    }

    pub fn abs(self) -> Value<'c> {
        self.unary(OpKind::AbsF)
    }

    pub fn sqrt(self) -> Value<'c> {
        self.unary(OpKind::Sqrt)
    }

    pub fn trunc(self) -> Value<'c> {
        self.unary(OpKind::Trunc)
    }

    /// The magnitude of `self` with the sign of `sign`.
    pub fn copysign(self, sign: Value<'c>) -> Value<'c> {
        self.binary(OpKind::CopySign, OpKind::CopySign, sign)
    }

    /// The same bits as an integer.
    pub fn to_bits(self) -> Value<'c> {
        self.cast(FunctionBuilder::bitcast, integer_of(self.ty))
    }

    /// A float with the bits that are set in `mask` inverted.
    pub fn with_flipped(self, mask: Value<'c>) -> Value<'c> {
        (self.to_bits() ^ mask).to_float()
    }

    /// The sign bit alone.
    pub fn sign_bit(self) -> Value<'c> {
        self.to_bits() & self.choose(i64::from(i32::MIN), i64::MIN)
    }

    /// The same bits as a float.
    pub fn to_float(self) -> Value<'c> {
        self.cast(FunctionBuilder::bitcast, float_of(self.ty))
    }

    pub fn to_f64(self) -> Value<'c> {
        self.cast(FunctionBuilder::extf, Scalar::F64)
    }

    pub fn to_f32(self) -> Value<'c> {
        self.cast(FunctionBuilder::truncf, Scalar::F32)
    }

    /// The float nearest to a signed integer of the same width.
    pub fn signed_to_float(self) -> Value<'c> {
        self.cast(FunctionBuilder::sitofp, float_of(self.ty))
    }

    pub fn to_i32(self) -> Value<'c> {
        self.cast(FunctionBuilder::trunci, Scalar::I32)
    }

    pub fn zero_extend(self) -> Value<'c> {
        self.cast(FunctionBuilder::extui, Scalar::I64)
    }

    fn int_binary(self, operation: OpKind, other: Value<'c>) -> Value<'c> {
        self.code.value(self.code.record().int_binary(operation, self.id, other.id), self.ty)
    }

    pub fn shift_left(self, by: impl Operand<'c>) -> Value<'c> {
        self.int_binary(OpKind::ShlI, by.beside(self))
    }

    /// Fills with zeros.
    pub fn shift_right(self, by: impl Operand<'c>) -> Value<'c> {
        self.int_binary(OpKind::ShrUI, by.beside(self))
    }

    /// Fills with the sign.
    pub fn shift_right_signed(self, by: impl Operand<'c>) -> Value<'c> {
        self.int_binary(OpKind::ShrSI, by.beside(self))
    }

    fn compare(self, float: FloatPredicate, integer: IntPredicate, other: Value<'c>) -> Value<'c> {
        let mut builder = self.code.record();
        let id = match self.is_float() {
            true => builder.cmpf(float, self.id, other.id),
            false => builder.cmpi(integer, self.id, other.id),
        };
        self.code.value(id, Scalar::I1)
    }

    /// False if either is NaN, as all comparisons here but [`Self::ne`] and [`Self::not_below`]; signed on integers.
    pub fn lt(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare(FloatPredicate::Olt, IntPredicate::Slt, other.beside(self))
    }

    pub fn gt(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare(FloatPredicate::Ogt, IntPredicate::Sgt, other.beside(self))
    }

    pub fn ge(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare(FloatPredicate::Oge, IntPredicate::Sge, other.beside(self))
    }

    /// True if either is NaN.
    pub fn not_below(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare(FloatPredicate::Uge, IntPredicate::Sge, other.beside(self))
    }

    pub fn eq(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare(FloatPredicate::Oeq, IntPredicate::Eq, other.beside(self))
    }

    /// True if either is NaN.
    pub fn ne(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare(FloatPredicate::Une, IntPredicate::Ne, other.beside(self))
    }

    pub fn unsigned_lt(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare(FloatPredicate::Olt, IntPredicate::Ult, other.beside(self))
    }

    pub fn is_nan(self) -> Value<'c> {
        self.compare(FloatPredicate::Uno, IntPredicate::Ne, self)
    }

    /// `self ? yes : no`; where `yes` is a literal, it takes the type of `no`.
    pub fn select(self, yes: impl Operand<'c>, no: Value<'c>) -> Value<'c> {
        let yes = yes.beside(no);
        self.code.value(self.code.record().select(self.id, yes.id, no.id), yes.ty)
    }

    /// The smaller of `self` and a bound; NaN stays. One instruction on x86.
    pub fn at_most(self, bound: impl Operand<'c>) -> Value<'c> {
        let bound = bound.beside(self);
        self.gt(bound).select(bound, self)
    }

    /// The larger of `self` and a bound; NaN stays.
    pub fn at_least(self, bound: impl Operand<'c>) -> Value<'c> {
        let bound = bound.beside(self);
        self.lt(bound).select(bound, self)
    }
}
