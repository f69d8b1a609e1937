//! Formulas as Rust expressions that record operations of the kernel IR.
//!
//! A [`Term`] is a value together with the [`Formula`] that records operations on the value. The
//! expression `x * x + 1.0` therefore records a multiplication and an addition. If one operand of
//! an operator is a number literal, the literal gets the type of the other operand.
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
use crate::Form;
use crate::operations::table;

/// Returns the integer type with as many bits as `ty`. If `ty` is `index`, returns `index`.
fn integer_of(ty: Scalar) -> Scalar {
    if ty == Scalar::Index { ty } else { Scalar::Int(ty.bits()) }
}

/// Returns `f32` if `ty` has at most 32 bits, else `f64`.
fn float_of(ty: Scalar) -> Scalar {
    if ty.bits() <= 32 { Scalar::F32 } else { Scalar::F64 }
}

/// A builder into which formulas record their operations.
pub trait Recorder {
    /// Returns the type of a value.
    fn type_of(&self, value: Value) -> &Type;

    /// Records a constant with these bits. If `ty` is a vector type, every lane has these bits.
    fn constant_of(&mut self, bits: u64, ty: &Type) -> Value;

    /// Records an operation with one result. Only comparisons have a predicate.
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

/// Returns the complex type whose real and imaginary parts have this type.
fn complex_of(part: Scalar) -> Scalar {
    if let Scalar::Float(part) = part { Scalar::Complex(part) } else { part }
}

/// Returns the type of the real and imaginary parts of a complex type.
fn part_of(complex: Scalar) -> Scalar {
    if let Scalar::Complex(part) = complex { Scalar::Float(part) } else { complex }
}

/// Properties of the target on which formulas depend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Whether the target has a fused multiply-add instruction, which rounds only once. All NVIDIA
    /// GPUs and all x86 processors with FMA3 have a fused multiply-add.
    pub fma: bool,
    /// Whether a branch costs less than the code that it skips. On targets whose threads run in
    /// lock step, formulas use selects instead of branches, because branches would occupy the few
    /// registers that can hold conditions.
    pub branches: bool,
    /// Whether the target treats subnormal operands as zeros and replaces subnormal results by
    /// zeros.
    pub flushes: bool,
}

/// A function under construction, into which formulas record their operations.
pub struct Formula<R = FunctionBuilder> {
    recorder: RefCell<R>,
    /// The constants that are in scope for the next operation, without duplicates.
    constants: RefCell<Vec<(Type, u64, Value)>>,
    abilities: Abilities,
}

/// A scalar or vector value in a formula. The type of the value determines whether operators
/// compute with floats or with integers. Both operands of an operator have the same type.
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
    /// Records a formula whose operands are `values` in this function.
    ///
    /// # Errors
    /// Returns the error of `write`.
    pub fn formula<E>(
        &mut self,
        values: &[Value],
        write: impl for<'f> FnOnce(&[Term<'f>]) -> Result<Term<'f>, E>,
    ) -> Result<Value, E> {
        Formula::write(self, FunctionBuilder::new(""), values, write)
    }
}

impl<R: Recorder> Formula<R> {
    /// Creates a [`Formula`] that records operations into `recorder`. If the target lacks
    /// [`fma`](Abilities::fma), [`Term::mul_add`] records a multiplication and an addition.
    pub fn new(recorder: R, abilities: Abilities) -> Self {
        Formula { recorder: RefCell::new(recorder), constants: RefCell::default(), abilities }
    }

    /// Returns the recorder with all recorded operations.
    pub fn into_inner(self) -> R {
        self.recorder.into_inner()
    }

    /// Records a formula into `recorder`. The operands of the formula are `values`. During the
    /// call, a [`Formula`] owns the recorder and `*recorder` holds `meanwhile`.
    ///
    /// # Errors
    /// Returns the error of `write`.
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

    /// Returns a term for a value.
    pub fn term(&self, id: Value) -> Term<'_, R> {
        let ty = self.record().type_of(id).element();
        Term { formula: self, id, ty }
    }

    fn record(&self) -> RefMut<'_, R> {
        self.recorder.borrow_mut()
    }

    /// Returns a constant with as many lanes as the value `like`. Reuses an equal constant that is
    /// in scope.
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
    /// Records a loop that repeats `body` while `condition` holds. `start` lists the initial
    /// loop-carried values.
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

    /// Records a branch that returns the values of `rare` if the condition holds, else `usual`.
    /// Unlike a [`select`](Term::select), the branch does not compute `rare` if the condition is
    /// false.
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

    /// Records a region whose arguments have the types of `like`. `make` records the operations of
    /// the region, and returns the kind and the operands of its terminator.
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

/// The second operand of an operator: a term or a literal.
pub trait Operand<'f, R> {
    /// Returns the operand as a term. A literal takes the type of `other`.
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

/// Defines the method of `Term` for one row of the operation table.
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
                if self.is_float() { self.cmpf(FloatPredicate::$float, other) } else { self.cmpi(IntPredicate::$integer, other) }
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
    /// Returns the formula that the term belongs to.
    pub fn formula(self) -> &'f Formula<R> {
        self.formula
    }

    /// Returns the term's value in the function.
    pub fn id(self) -> Value {
        self.id
    }

    /// Returns the scalar type of the value, or of its lanes if the value is a vector.
    pub fn scalar(self) -> Scalar {
        self.ty
    }

    /// Whether the type is `f32`.
    pub fn is_f32(self) -> bool {
        self.ty == Scalar::F32
    }

    fn is_float(self) -> bool {
        matches!(self.ty, Scalar::Float(_))
    }

    /// Records an operation whose result has as many lanes as the last operand.
    fn record(self, kind: OpKind, operands: &[Value], predicate: Option<i64>, element: Scalar) -> Term<'f, R> {
        let mut recorder = self.formula.record();
        let last = operands.last().copied().unwrap_or(self.id);
        let result = recorder.type_of(last).with_element(element);
        let id = recorder.operation(kind, operands, predicate, result);
        drop(recorder);
        self.formula.term(id)
    }

    /// Returns the number as a constant with as many lanes as the term. Rounds the number to `f32`
    /// if the term has at most 32 bits, else to `f64`.
    pub fn number(self, value: f64) -> Term<'f, R> {
        match float_of(self.ty) {
            Scalar::F32 => self.formula.constant(self.id, Scalar::F32, u64::from((value as f32).to_bits())),
            float => self.formula.constant(self.id, float, value.to_bits()),
        }
    }

    /// Returns the integer as a constant with as many lanes as the term, in the integer type that
    /// is as wide as the term.
    pub fn integer(self, value: i64) -> Term<'f, R> {
        match integer_of(self.ty) {
            // Constants have at most 64 bits.
            wide if wide.bits() > 64 => self.formula.constant(self.id, Scalar::I64, value as u64).extsi(wide),
            ty => self.formula.constant(self.id, ty, value as u64),
        }
    }

    /// Returns `single` if the term has 32 bits, else `double`.
    pub fn choose<T>(self, single: T, double: T) -> T {
        if self.ty.bits() == 32 { single } else { double }
    }

    /// Computes `self * factor + term`, rounded once if the target has a fused multiply-add.
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

    /// Whether the target flushes subnormal numbers to zero.
    pub fn has_flushing(self) -> bool {
        self.formula.abilities.flushes
    }

    /// Whether a branch costs less than the code it skips.
    pub fn has_branches(self) -> bool {
        self.formula.abilities.branches
    }

    /// Evaluates `c[0] + c[1] x + c[2] x² + …` by Horner's rule, which needs the fewest operations.
    /// In Horner's rule, each operation depends on the previous operation. The evaluation is
    /// therefore fast only if the processor overlaps the operations of several lanes or loop
    /// iterations.
    pub fn polynomial(self, coefficients: &[f64]) -> Term<'f, R> {
        self.horner(coefficients.iter().map(|&c| move |x: Term<'f, R>| x.number(c)))
    }

    /// Evaluates the same sum as [`polynomial`](Self::polynomial), by Estrin's scheme (1960). Each
    /// round of Estrin's scheme combines pairs of terms, and squares the power of `self` by one
    /// additional multiplication. The longest chain of dependent operations therefore grows only
    /// with the logarithm of the polynomial's degree. Estrin's scheme is faster than Horner's rule
    /// if dependences between the operations of one element limit the speed.
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

    /// Evaluates the polynomial `yes` if `choice` holds, else the polynomial `no`. The polynomials
    /// `yes` and `no` have the same degree. Selecting the coefficients takes as many operations as
    /// evaluating a second polynomial, but does not occupy the processor's multipliers.
    pub fn polynomial_by(self, choice: Term<'f, R>, yes: &[f64], no: &[f64]) -> Term<'f, R> {
        let pairs = yes.iter().zip(no);
        self.horner(pairs.map(|(&yes, &no)| move |x: Term<'f, R>| choice.select(yes, x.number(no))))
    }

    fn horner<C: FnOnce(Term<'f, R>) -> Term<'f, R>>(self, terms: impl DoubleEndedIterator<Item = C>) -> Term<'f, R> {
        let mut terms = terms.rev();
        let first = terms.next().map_or_else(|| self.number(0.0), |first| first(self));
        terms.fold(first, |sum, term| sum.mul_add(self, term(self)))
    }

    /// Reinterprets the bits as an integer.
    pub fn to_bits(self) -> Term<'f, R> {
        self.bitcast(integer_of(self.ty))
    }

    /// Reinterprets the bits as a float.
    pub fn to_float(self) -> Term<'f, R> {
        self.bitcast(float_of(self.ty))
    }

    /// Inverts the bits of a float at all positions where `mask` has a 1.
    pub fn with_flipped(self, mask: Term<'f, R>) -> Term<'f, R> {
        (self.to_bits() ^ mask).to_float()
    }

    /// Returns the sign bit; all other bits are zero.
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

    /// Whether the float is NaN.
    pub fn is_nan(self) -> Term<'f, R> {
        self.cmpf(FloatPredicate::Uno, self)
    }

    /// `self ? yes : no`. If `yes` is a literal, `yes` gets the type of `no`.
    pub fn select(self, yes: impl Operand<'f, R>, no: Term<'f, R>) -> Term<'f, R> {
        let yes = yes.beside(no);
        self.record(OpKind::Select, &[self.id, yes.id, no.id], None, no.ty)
    }

    /// Returns the smaller of `self` and `bound`, or NaN if `self` is NaN. On x86, one instruction
    /// computes this minimum.
    pub fn at_most(self, bound: impl Operand<'f, R>) -> Term<'f, R> {
        let bound = bound.beside(self);
        self.gt(bound).select(bound, self)
    }

    /// Returns the larger of `self` and `bound`, or NaN if `self` is NaN.
    pub fn at_least(self, bound: impl Operand<'f, R>) -> Term<'f, R> {
        let bound = bound.beside(self);
        self.lt(bound).select(bound, self)
    }

    /// Returns the complex number with the real part `self` and the imaginary part `im`.
    pub fn complex(self, im: Term<'f, R>) -> Term<'f, R> {
        self.record(OpKind::ComplexCreate, &[self.id, im.id], None, complex_of(self.ty))
    }

    /// Returns the real part of a complex number.
    pub fn re(self) -> Term<'f, R> {
        self.record(OpKind::ComplexRe, &[self.id], None, part_of(self.ty))
    }

    /// Returns the imaginary part of a complex number.
    pub fn im(self) -> Term<'f, R> {
        self.record(OpKind::ComplexIm, &[self.id], None, part_of(self.ty))
    }
}

impl<'f> Term<'f> {
    /// Returns the low and the high half of the unsigned product.
    pub fn multiply_wide(self, other: Term<'f>) -> (Term<'f>, Term<'f>) {
        let types = [Type::from(self.ty), self.ty.into()];
        let ids = [self.id, other.id];
        let halves = self.formula.record().op(OpKind::MulUIExtended, &ids, Vec::new(), &types, Vec::new());
        (self.formula.term(halves[0]), self.formula.term(halves[1]))
    }
}
