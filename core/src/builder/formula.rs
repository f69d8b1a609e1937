//! Formulas as Rust expressions, operations of the kernel IR as the result.
//!
//! A [`Term`] is a value that knows the [`Formula`] it belongs to, so `x * x + 1.0` records two operations.
//! Number literals take the type of the term they meet.
//!
//! ```
//! use fusebox_core::builder::{FunctionBuilder, Scalar};
//!
//! let mut b = FunctionBuilder::new("softplus");
//! let x = b.argument(Scalar::F32);
//! let result = b.formula(&[x], |x| Ok::<_, String>((x[0].exp() + 1.0).log()))?;
//! b.ret(&[result]);
//! assert!(b.finish().unwrap().to_string().contains("math.log"));
//! # Ok::<(), String>(())
//! ```

use std::cell::{RefCell, RefMut};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use super::arith::by_form;
use super::{Attribute, FloatPredicate, FunctionBuilder, IntPredicate, OpKind, Region, Scalar, Type, Value};
use crate::ir::Form;
use crate::ir::operations::table;

/// The integer type with as many bits; `index` stays.
fn integer_of(ty: Scalar) -> Scalar {
    if ty == Scalar::Index { ty } else { Scalar::Int(ty.bits()) }
}

/// The float type with as many bits; `f32` for fewer.
fn float_of(ty: Scalar) -> Scalar {
    if ty.bits() <= 32 { Scalar::F32 } else { Scalar::F64 }
}

/// What formulas are written into.
pub trait Recorder {
    /// Type of a value.
    fn type_of(&self, value: Value) -> &Type;

    /// A constant by its bits, in every lane of a vector.
    fn constant_of(&mut self, bits: u64, ty: &Type) -> Value;

    /// Records an operation of one result; comparisons have a predicate.
    fn operation(&mut self, kind: OpKind, operands: &[Value], predicate: Option<i64>, result: Type) -> Value;
}

impl Recorder for FunctionBuilder {
    fn type_of(&self, value: Value) -> &Type {
        FunctionBuilder::type_of(self, value)
    }

    fn constant_of(&mut self, bits: u64, ty: &Type) -> Value {
        match ty.element() {
            float @ Scalar::Float(_) => self.float_bits(bits, float),
            integer => self.int(bits as i64, integer),
        }
    }

    fn operation(&mut self, kind: OpKind, operands: &[Value], predicate: Option<i64>, result: Type) -> Value {
        let of_floats =
            matches!(kind.form(), Form::FloatBinary | Form::FloatUnary | Form::FloatTernary | Form::FloatTest);
        let flags = if of_floats || kind == OpKind::CmpF { self.flags() } else { Vec::new() };
        let predicate = predicate.map(|predicate| ("predicate", Attribute::i64(predicate)));
        self.op1(kind, operands, predicate.into_iter().chain(flags).collect(), result)
    }
}

/// The type of a complex number of such parts.
fn complex_of(part: Scalar) -> Scalar {
    if let Scalar::Float(part) = part { Scalar::Complex(part) } else { part }
}

/// The type of a complex number's parts.
fn part_of(complex: Scalar) -> Scalar {
    if let Scalar::Complex(part) = complex { Scalar::Float(part) } else { complex }
}

/// What the target of formulas does well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// It multiplies and adds in one instruction, rounded once: all of NVIDIA's, and x86 with FMA3.
    pub fma: bool,
    /// A branch costs less than what it skips. Where threads run together, it keeps conditions in the few registers
    /// for them.
    pub branches: bool,
    /// Operands of subnormal size count as zeros, and results of that size are zeros.
    pub flushes: bool,
}

/// A function while formulas are written into it.
pub struct Formula<R = FunctionBuilder> {
    recorder: RefCell<R>,
    /// The constants that can be used where the next operation goes, each once.
    constants: RefCell<Vec<(Type, u64, Value)>>,
    abilities: Abilities,
}

/// A value of a function, also a vector. Operators are those of floats or of integers, by its type; both operands have one
/// type.
#[must_use = "an operation is recorded for its result"]
pub struct Term<'f, R = FunctionBuilder> {
    formula: &'f Formula<R>,
    id: Value,
    ty: Scalar,
}

impl<R> Clone for Term<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Term<'_, R> {}

impl FunctionBuilder {
    /// Writes a formula of these values here.
    ///
    /// # Errors
    /// What `write` gives.
    pub fn formula<E>(
        &mut self,
        values: &[Value],
        write: impl for<'f> FnOnce(&[Term<'f>]) -> Result<Term<'f>, E>,
    ) -> Result<Value, E> {
        Formula::write(self, FunctionBuilder::new(""), values, write)
    }
}

impl<R: Recorder> Formula<R> {
    /// Formulas of this function; without [`fma`](Abilities::fma), [`Term::mul_add`] is a product and a sum.
    pub fn new(recorder: R, abilities: Abilities) -> Self {
        Formula { recorder: RefCell::new(recorder), constants: RefCell::default(), abilities }
    }

    /// The function.
    pub fn into_inner(self) -> R {
        self.recorder.into_inner()
    }

    /// Writes a formula of these values into a function, whose place another one takes meanwhile.
    ///
    /// # Errors
    /// What `write` gives.
    pub fn write<E>(
        recorder: &mut R,
        meanwhile: R,
        values: &[Value],
        write: impl for<'f> FnOnce(&[Term<'f, R>]) -> Result<Term<'f, R>, E>,
    ) -> Result<Value, E> {
        let formula = Formula::new(std::mem::replace(recorder, meanwhile), Abilities::default());
        let terms: Vec<Term<'_, R>> = values.iter().map(|&value| formula.term(value)).collect();
        let result = write(&terms).map(Term::id);
        *recorder = formula.into_inner();
        result
    }

    /// A value of the function.
    pub fn term(&self, id: Value) -> Term<'_, R> {
        let ty = self.record().type_of(id).element();
        Term { formula: self, id, ty }
    }

    fn record(&self) -> RefMut<'_, R> {
        self.recorder.borrow_mut()
    }

    /// A constant with as many lanes as a value.
    fn constant(&self, like: Value, ty: Scalar, bits: u64) -> Term<'_, R> {
        let (mut constants, mut recorder) = (self.constants.borrow_mut(), self.record());
        let full = recorder.type_of(like).with_element(ty);
        let known = constants.iter().find(|known| (&known.0, known.1) == (&full, bits)).map(|known| known.2);
        let id = known.unwrap_or_else(|| {
            let id = recorder.constant_of(bits, &full);
            constants.push((full, bits, id));
            id
        });
        Term { formula: self, id, ty }
    }
}

impl Formula {
    /// Repeats `body` as long as `condition` holds.
    pub fn repeat_while<'f, const N: usize>(
        &'f self,
        start: [Term<'f>; N],
        condition: impl FnOnce([Term<'f>; N]) -> Term<'f>,
        body: impl FnOnce([Term<'f>; N]) -> [Term<'f>; N],
    ) -> [Term<'f>; N] {
        let types = start.map(|term| Type::from(term.ty));
        let before = self.region(start, |state| {
            let condition = condition(state);
            let operands: Vec<Value> = [condition].iter().chain(&state).map(|term| term.id).collect();
            (OpKind::Condition, operands)
        });
        let after = self.region(start, |state| (OpKind::Yield, body(state).map(|term| term.id).to_vec()));
        let start_ids = start.map(|term| term.id);
        let results = self.record().op(OpKind::While, &start_ids, Vec::new(), &types, vec![before, after]);
        std::array::from_fn(|i| self.term(results[i]))
    }

    /// What `rare` computes where the condition holds, which is a branch, and `usual` elsewhere. Unlike
    /// [`select`](Term::select), nobody waits for `rare` where it is not needed.
    pub fn branch<'f, const N: usize>(
        &'f self,
        condition: Term<'f>,
        rare: impl FnOnce() -> [Term<'f>; N],
        usual: [Term<'f>; N],
    ) -> [Term<'f>; N] {
        let types = usual.map(|term| Type::from(term.ty));
        let ids = |terms: [Term<'f>; N]| (OpKind::Yield, terms.map(|term| term.id).to_vec());
        let branches = vec![self.region([], |[]| ids(rare())), self.region([], |[]| ids(usual))];
        let results = self.record().op(OpKind::If, &[condition.id], Vec::new(), &types, branches);
        std::array::from_fn(|i| self.term(results[i]))
    }

    /// A region with arguments of these terms' types. What makes its operations gives its terminator and the
    /// terminator's operands.
    fn region<'f, const N: usize>(
        &'f self,
        like: [Term<'f>; N],
        make: impl FnOnce([Term<'f>; N]) -> (OpKind, Vec<Value>),
    ) -> Region {
        let outside = self.constants.borrow().len();
        let (region, arguments) = self.record().detached(&like.map(|term| term.ty.into()));
        self.record().enter(region);
        let (terminator, operands) = make(std::array::from_fn(|i| self.term(arguments[i])));
        self.record().op(terminator, &operands, Vec::new(), &[], Vec::new());
        self.constants.borrow_mut().truncate(outside);
        self.record().leave()
    }
}

/// What can stand beside a term: a term, or a literal.
pub trait Operand<'f, R> {
    /// The term, made to fit beside `other`.
    fn beside(self, other: Term<'f, R>) -> Term<'f, R>;
}

impl<'f, R> Operand<'f, R> for Term<'f, R> {
    fn beside(self, _: Term<'f, R>) -> Term<'f, R> {
        self
    }
}

impl<'f, R: Recorder> Operand<'f, R> for f64 {
    fn beside(self, other: Term<'f, R>) -> Term<'f, R> {
        other.number(self)
    }
}

impl<'f, R: Recorder> Operand<'f, R> for i64 {
    fn beside(self, other: Term<'f, R>) -> Term<'f, R> {
        other.integer(self)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $float:ident $integer:ident;)*) => {$(
        impl<'f, R: Recorder, O: Operand<'f, R>> $trait<O> for Term<'f, R> {
            type Output = Term<'f, R>;
            fn $method(self, other: O) -> Term<'f, R> {
                let other = other.beside(self);
                if self.is_float() { self.$float(other) } else { self.$integer(other) }
            }
        }

        impl<'f, R: Recorder> $trait<Term<'f, R>> for f64 {
            type Output = Term<'f, R>;
            fn $method(self, other: Term<'f, R>) -> Term<'f, R> {
                self.beside(other).$method(other)
            }
        }
    )*};
}

operators! {
    Add add addf addi;
    Sub sub subf subi;
    Mul mul mulf muli;
    Div div divf divsi;
    BitAnd bitand andi andi;
    BitOr bitor ori ori;
    BitXor bitxor xori xori;
}

impl<'f, R: Recorder> Neg for Term<'f, R> {
    type Output = Term<'f, R>;
    fn neg(self) -> Term<'f, R> {
        if self.is_float() { self.negf() } else { 0i64.beside(self) - self }
    }
}

impl<'f, R: Recorder> Not for Term<'f, R> {
    type Output = Term<'f, R>;
    fn not(self) -> Term<'f, R> {
        self ^ self.integer(-1)
    }
}

/// The method of a row of the table of operations.
macro_rules! method {
    (binary $form:ident $variant:ident $name:ident $words:literal) => {
        #[doc = concat!("[`OpKind::", stringify!($variant), "`]: ", $words)]
        pub fn $name(self, other: impl Operand<'f, R>) -> Term<'f, R> {
            let other = other.beside(self);
            self.record(OpKind::$variant, &[self.id, other.id], None, self.ty)
        }
    };
    (unary $form:ident $variant:ident $name:ident $words:literal) => {
        #[doc = concat!("[`OpKind::", stringify!($variant), "`]: ", $words)]
        pub fn $name(self) -> Term<'f, R> {
            let element = if OpKind::$variant.form() == Form::FloatTest { Scalar::I1 } else { self.ty };
            self.record(OpKind::$variant, &[self.id], None, element)
        }
    };
    (cast $variant:ident $name:ident $words:literal) => {
        #[doc = concat!("[`OpKind::", stringify!($variant), "`]: ", $words, " Nothing is recorded if it is of that type.")]
        pub fn $name(self, to: Scalar) -> Term<'f, R> {
            if self.ty == to { self } else { self.record(OpKind::$variant, &[self.id], None, to) }
        }
    };
}

macro_rules! methods {
    ($($variant:ident = $dialect:ident.$name:ident, $form:ident, $effect:ident $(, $words:literal)?;)*) => {
        impl<'f, R: Recorder> Term<'f, R> { $(by_form! { method $form $variant $name $($words)? })* }
    };
}

table!(methods);

macro_rules! comparisons {
    ($($name:ident $float:ident $integer:ident $words:literal;)*) => {
        impl<'f, R: Recorder> Term<'f, R> {$(
            #[doc = concat!("Whether it is ", $words)]
            pub fn $name(self, other: impl Operand<'f, R>) -> Term<'f, R> {
                match self.is_float() {
                    true => self.cmpf(FloatPredicate::$float, other),
                    false => self.cmpi(IntPredicate::$integer, other),
                }
            }
        )*}
    };
}

comparisons! {
    lt Olt Slt "less; integers are signed, and NaN is not.";
    le Ole Sle "less or equal; integers are signed, and NaN is not.";
    gt Ogt Sgt "greater; integers are signed, and NaN is not.";
    ge Oge Sge "not less; integers are signed, and NaN is less.";
    not_below Uge Sge "not less; integers are signed, and NaN is not.";
    eq Oeq Eq "equal; NaN is not.";
    ne Une Ne "different; NaN is.";
}

impl<'f, R: Recorder> Term<'f, R> {
    /// The function it is of.
    pub fn formula(self) -> &'f Formula<R> {
        self.formula
    }

    /// Its value in the function.
    pub fn id(self) -> Value {
        self.id
    }

    /// Its type, or that of its lanes.
    pub fn scalar(self) -> Scalar {
        self.ty
    }

    /// Whether it is an `f32`.
    pub fn is_f32(self) -> bool {
        self.ty == Scalar::F32
    }

    fn is_float(self) -> bool {
        matches!(self.ty, Scalar::Float(_))
    }

    /// Records an operation that gives as many lanes as its last operand has.
    fn record(self, kind: OpKind, operands: &[Value], predicate: Option<i64>, element: Scalar) -> Term<'f, R> {
        let mut recorder = self.formula.record();
        let last = operands.last().copied().unwrap_or(self.id);
        let result = recorder.type_of(last).with_element(element);
        let id = recorder.operation(kind, operands, predicate, result);
        drop(recorder);
        self.formula.term(id)
    }

    /// The number in the float type of its width, or `f32` if it is narrower; rounded to that.
    pub fn number(self, value: f64) -> Term<'f, R> {
        match float_of(self.ty) {
            Scalar::F32 => self.formula.constant(self.id, Scalar::F32, u64::from((value as f32).to_bits())),
            float => self.formula.constant(self.id, float, value.to_bits()),
        }
    }

    /// The integer in the integer type of its width.
    pub fn integer(self, value: i64) -> Term<'f, R> {
        match integer_of(self.ty) {
            // Constants have at most 64 bits.
            wide if wide.bits() > 64 => self.formula.constant(self.id, Scalar::I64, value as u64).extsi(wide),
            ty => self.formula.constant(self.id, ty, value as u64),
        }
    }

    /// One of two, by the precision worked in.
    pub fn choose<T>(self, single: T, double: T) -> T {
        if self.ty.bits() == 32 { single } else { double }
    }

    /// `self * factor + term`, rounded once where the target can.
    pub fn mul_add(self, factor: impl Operand<'f, R>, term: impl Operand<'f, R>) -> Term<'f, R> {
        let (factor, term) = (factor.beside(self), term.beside(self));
        if !self.formula.abilities.fma {
            return self * factor + term;
        }
        self.record(OpKind::Fma, &[self.id, factor.id, term.id], None, self.ty)
    }

    /// Whether [`Self::mul_add`] rounds once.
    pub fn has_fma(self) -> bool {
        self.formula.abilities.fma
    }

    /// Whether the smallest normal number is the smallest that differs from zero.
    pub fn has_flushing(self) -> bool {
        self.formula.abilities.flushes
    }

    /// Whether a branch costs less than what it skips.
    pub fn has_branches(self) -> bool {
        self.formula.abilities.branches
    }

    /// `c[0] + c[1] x + c[2] x² + …` by Horner's rule: the fewest operations; lanes and loop iterations
    /// give the parallelism.
    pub fn polynomial(self, coefficients: &[f64]) -> Term<'f, R> {
        self.horner(coefficients.iter().map(|&c| move |x: Term<'f, R>| x.number(c)))
    }

    /// The same by Estrin's scheme (1960): the longest chain of operations is as long as the
    /// logarithm of the degree, at the cost of a product for each halving. Pays where the
    /// operations of one element wait for each other.
    pub fn polynomial_in_parallel(self, coefficients: &[f64]) -> Term<'f, R> {
        let mut terms: Vec<Term<'f, R>> = coefficients.iter().map(|&c| self.number(c)).collect();
        let mut power = self;
        while terms.len() > 1 {
            let pairs = terms.chunks(2);
            terms = pairs.map(|pair| pair.get(1).map_or(pair[0], |&odd| odd.mul_add(power, pair[0]))).collect();
            power = power * power;
        }
        terms.first().copied().unwrap_or_else(|| self.number(0.0))
    }

    /// One of two polynomials of the same degree. Choosing coefficients costs as much as another polynomial, but
    /// keeps off the units that multiply.
    pub fn polynomial_by(self, choice: Term<'f, R>, yes: &[f64], no: &[f64]) -> Term<'f, R> {
        let pairs = yes.iter().zip(no);
        self.horner(pairs.map(|(&yes, &no)| move |x: Term<'f, R>| choice.select(yes, x.number(no))))
    }

    fn horner<C: FnOnce(Term<'f, R>) -> Term<'f, R>>(self, terms: impl DoubleEndedIterator<Item = C>) -> Term<'f, R> {
        let mut terms = terms.rev();
        let first = terms.next().map_or_else(|| self.number(0.0), |first| first(self));
        terms.fold(first, |sum, term| sum.mul_add(self, term(self)))
    }

    /// The same bits as an integer.
    pub fn to_bits(self) -> Term<'f, R> {
        self.bitcast(integer_of(self.ty))
    }

    /// The same bits as a float.
    pub fn to_float(self) -> Term<'f, R> {
        self.bitcast(float_of(self.ty))
    }

    /// A float with the bits that are set in `mask` inverted.
    pub fn with_flipped(self, mask: Term<'f, R>) -> Term<'f, R> {
        (self.to_bits() ^ mask).to_float()
    }

    /// The sign bit alone.
    pub fn sign_bit(self) -> Term<'f, R> {
        self.to_bits() & self.choose(i64::from(i32::MIN), i64::MIN)
    }

    /// `arith.cmpf`: comparison of floats.
    pub fn cmpf(self, predicate: FloatPredicate, other: impl Operand<'f, R>) -> Term<'f, R> {
        let other = other.beside(self);
        self.record(OpKind::CmpF, &[self.id, other.id], Some(predicate as i64), Scalar::I1)
    }

    /// `arith.cmpi`: comparison of integers.
    pub fn cmpi(self, predicate: IntPredicate, other: impl Operand<'f, R>) -> Term<'f, R> {
        let other = other.beside(self);
        self.record(OpKind::CmpI, &[self.id, other.id], Some(predicate as i64), Scalar::I1)
    }

    /// Whether it is a float and NaN.
    pub fn is_nan(self) -> Term<'f, R> {
        self.cmpf(FloatPredicate::Uno, self)
    }

    /// `self ? yes : no`; where `yes` is a literal, it takes the type of `no`.
    pub fn select(self, yes: impl Operand<'f, R>, no: Term<'f, R>) -> Term<'f, R> {
        let yes = yes.beside(no);
        self.record(OpKind::Select, &[self.id, yes.id, no.id], None, no.ty)
    }

    /// The smaller of `self` and a bound; NaN stays. One instruction on x86.
    pub fn at_most(self, bound: impl Operand<'f, R>) -> Term<'f, R> {
        let bound = bound.beside(self);
        self.gt(bound).select(bound, self)
    }

    /// The larger of `self` and a bound; NaN stays.
    pub fn at_least(self, bound: impl Operand<'f, R>) -> Term<'f, R> {
        let bound = bound.beside(self);
        self.lt(bound).select(bound, self)
    }

    /// The complex number of this real part and an imaginary one.
    pub fn complex(self, im: Term<'f, R>) -> Term<'f, R> {
        self.record(OpKind::ComplexCreate, &[self.id, im.id], None, complex_of(self.ty))
    }

    /// The real part of a complex number.
    pub fn re(self) -> Term<'f, R> {
        self.record(OpKind::ComplexRe, &[self.id], None, part_of(self.ty))
    }

    /// The imaginary part of a complex number.
    pub fn im(self) -> Term<'f, R> {
        self.record(OpKind::ComplexIm, &[self.id], None, part_of(self.ty))
    }
}

impl<'f> Term<'f> {
    /// Low and high half of an unsigned product.
    pub fn multiply_wide(self, other: Term<'f>) -> (Term<'f>, Term<'f>) {
        let types = [Type::from(self.ty), self.ty.into()];
        let ids = [self.id, other.id];
        let halves = self.formula.record().op(OpKind::MulUIExtended, &ids, Vec::new(), &types, Vec::new());
        (self.formula.term(halves[0]), self.formula.term(halves[1]))
    }
}
