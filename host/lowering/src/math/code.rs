//! A small straight-line code writer: formulas as Rust expressions, `arith` operations as the result.
//!
//! A [`Value`] is an SSA value that knows the [`Code`] it belongs to, so `x * x + 1.0` writes two operations.
//! Number literals take the type of the value they meet; they are written as bit patterns, so nothing is
//! rounded twice.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// Type of a [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    F32,
    F64,
    I1,
    I32,
    I64,
}

impl Kind {
    /// As MLIR spells it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::F32 => "f32",
            Kind::F64 => "f64",
            Kind::I1 => "i1",
            Kind::I32 => "i32",
            Kind::I64 => "i64",
        }
    }

    /// The integer type with as many bits.
    fn integer(self) -> Kind {
        match self {
            Kind::F32 | Kind::I32 => Kind::I32,
            Kind::F64 | Kind::I64 => Kind::I64,
            Kind::I1 => Kind::I1,
        }
    }

    /// The float type with as many bits.
    fn float(self) -> Kind {
        if self.integer() == Kind::I32 { Kind::F32 } else { Kind::F64 }
    }
}

/// The body of one function while it is written.
pub struct Code {
    text: RefCell<String>,
    next: Cell<u32>,
    depth: Cell<usize>,
    constants: RefCell<HashMap<(Kind, u64), u32>>,
    entry: RefCell<String>,
    fma: bool,
}

/// An SSA value.
#[derive(Clone, Copy)]
pub struct Value<'c> {
    code: &'c Code,
    id: u32,
    /// Which result, of an operation with several.
    part: Option<u32>,
    kind: Kind,
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Some(part) => write!(f, "%{}#{part}", self.id),
            None => write!(f, "%{}", self.id),
        }
    }
}

impl Code {
    /// An empty body; without `fma`, [`Value::mul_add`] is a product and a sum.
    pub fn new(fma: bool) -> Code {
        Code {
            text: RefCell::default(),
            next: Cell::new(0),
            depth: Cell::new(1),
            constants: RefCell::default(),
            entry: RefCell::default(),
            fma,
        }
    }

    /// Declares the next argument.
    pub fn argument(&self, kind: Kind) -> Value<'_> {
        self.fresh(kind)
    }

    /// The body's text, constants first.
    pub fn into_text(self) -> String {
        self.entry.into_inner() + &self.text.into_inner()
    }

    fn fresh(&self, kind: Kind) -> Value<'_> {
        let id = self.next.get();
        self.next.set(id + 1);
        Value { code: self, id, part: None, kind }
    }

    fn line(&self, line: std::fmt::Arguments<'_>) {
        let indent = 2 * self.depth.get();
        // Writing to a string cannot fail.
        let _ = writeln!(self.text.borrow_mut(), "{:indent$}{line}", "");
    }

    fn define(&self, kind: Kind, operation: std::fmt::Arguments<'_>) -> Value<'_> {
        let value = self.fresh(kind);
        self.line(format_args!("{value} = {operation}"));
        value
    }

    fn bits(&self, kind: Kind, bits: u64) -> Value<'_> {
        if let Some(&id) = self.constants.borrow().get(&(kind, bits)) {
            return Value { code: self, id, part: None, kind };
        }
        let value = self.fresh(kind);
        let literal = match kind {
            Kind::F32 => format!("0x{bits:08X}"),
            Kind::F64 => format!("0x{bits:016X}"),
            Kind::I1 => (if bits == 0 { "false" } else { "true" }).to_owned(),
            Kind::I32 => (bits as u32 as i32).to_string(),
            Kind::I64 => (bits as i64).to_string(),
        };
        let mut entry = self.entry.borrow_mut();
        let _ = match kind {
            Kind::I1 => writeln!(entry, "  {value} = arith.constant {literal}"),
            _ => writeln!(entry, "  {value} = arith.constant {literal} : {}", kind.name()),
        };
        self.constants.borrow_mut().insert((kind, bits), value.id);
        value
    }

    /// A float constant of type `kind`, rounded to it.
    pub fn number(&self, kind: Kind, value: f64) -> Value<'_> {
        match kind.float() {
            Kind::F32 => self.bits(Kind::F32, u64::from((value as f32).to_bits())),
            _ => self.bits(Kind::F64, value.to_bits()),
        }
    }

    /// An integer constant of type `kind`.
    pub fn integer(&self, kind: Kind, value: i64) -> Value<'_> {
        match kind.integer() {
            Kind::I32 => self.bits(Kind::I32, u64::from(value as u32)),
            other => self.bits(other, value as u64),
        }
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
        other.code.integer(other.kind, self)
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $float:literal $integer:literal;)*) => {$(
        impl<'c, O: Operand<'c>> $trait<O> for Value<'c> {
            type Output = Value<'c>;
            fn $method(self, other: O) -> Value<'c> {
                self.binary($float, $integer, other.beside(self))
            }
        }

        impl<'c> $trait<Value<'c>> for f64 {
            type Output = Value<'c>;
            fn $method(self, other: Value<'c>) -> Value<'c> {
                self.beside(other).binary($float, $integer, other)
            }
        }
    )*};
}

arithmetic! {
    Add add "addf" "addi";
    Sub sub "subf" "subi";
    Mul mul "mulf" "muli";
    Div div "divf" "divsi";
    BitAnd bitand "andi" "andi";
    BitOr bitor "ori" "ori";
    BitXor bitxor "xori" "xori";
}

impl<'c> Neg for Value<'c> {
    type Output = Value<'c>;
    fn neg(self) -> Value<'c> {
        if self.is_float() { self.unary("arith.negf") } else { 0i64.beside(self) - self }
    }
}

impl<'c> Not for Value<'c> {
    type Output = Value<'c>;
    fn not(self) -> Value<'c> {
        self ^ self.code.integer(self.kind, -1)
    }
}

impl<'c> Value<'c> {
    /// The code this value belongs to.
    pub fn code(self) -> &'c Code {
        self.code
    }

    /// Whether it is an `f32`.
    pub fn is_f32(self) -> bool {
        self.kind == Kind::F32
    }

    fn is_float(self) -> bool {
        matches!(self.kind, Kind::F32 | Kind::F64)
    }

    /// The number in the type of `self`, which is a float.
    pub fn number(self, value: f64) -> Value<'c> {
        self.code.number(self.kind, value)
    }

    /// The integer in the type of `self`.
    pub fn integer(self, value: i64) -> Value<'c> {
        self.code.integer(self.kind, value)
    }

    /// The remainder of an unsigned division by a number that is not 0.
    pub fn remainder(self, other: Value<'c>) -> Value<'c> {
        self.binary("remf", "remui", other)
    }

    /// Low and high half of an unsigned product.
    pub fn multiply_wide(self, other: Value<'c>) -> (Value<'c>, Value<'c>) {
        let [low, high] = self.code.results([self.kind; 2]);
        let (id, kind) = (low.id, self.kind.name());
        self.code.line(format_args!("%{id}:2 = arith.mului_extended {self}, {other} : {kind}"));
        (low, high)
    }

    /// One of two, by the precision worked in.
    pub fn choose<T>(self, single: T, double: T) -> T {
        if self.kind.integer() == Kind::I32 { single } else { double }
    }

    fn binary(self, float: &str, integer: &str, other: Value<'c>) -> Value<'c> {
        let operation = if self.is_float() { float } else { integer };
        let kind = self.kind.name();
        self.code.define(self.kind, format_args!("arith.{operation} {self}, {other} : {kind}"))
    }

    fn unary(self, operation: &str) -> Value<'c> {
        self.code.define(self.kind, format_args!("{operation} {self} : {}", self.kind.name()))
    }

    fn cast(self, operation: &str, to: Kind) -> Value<'c> {
        if self.kind == to {
            return self;
        }
        self.code.define(to, format_args!("arith.{operation} {self} : {} to {}", self.kind.name(), to.name()))
    }

    /// `self * factor + term`, rounded once where the target can.
    pub fn mul_add(self, factor: impl Operand<'c>, term: impl Operand<'c>) -> Value<'c> {
        let (factor, term) = (factor.beside(self), term.beside(self));
        if !self.code.fma {
            return self * factor + term;
        }
        self.code.define(self.kind, format_args!("math.fma {self}, {factor}, {term} : {}", self.kind.name()))
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
        self.unary("math.absf")
    }

    pub fn sqrt(self) -> Value<'c> {
        self.unary("math.sqrt")
    }

    pub fn trunc(self) -> Value<'c> {
        self.unary("math.trunc")
    }

    /// The magnitude of `self` with the sign of `sign`.
    pub fn copysign(self, sign: Value<'c>) -> Value<'c> {
        let kind = self.kind.name();
        self.code.define(self.kind, format_args!("math.copysign {self}, {sign} : {kind}"))
    }

    /// The same bits as an integer.
    pub fn to_bits(self) -> Value<'c> {
        self.cast("bitcast", self.kind.integer())
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
        self.cast("bitcast", self.kind.float())
    }

    pub fn to_f64(self) -> Value<'c> {
        self.cast("extf", Kind::F64)
    }

    pub fn to_f32(self) -> Value<'c> {
        self.cast("truncf", Kind::F32)
    }

    /// The float nearest to a signed integer of the same width.
    pub fn signed_to_float(self) -> Value<'c> {
        self.cast("sitofp", self.kind.float())
    }

    pub fn to_i32(self) -> Value<'c> {
        self.cast("trunci", Kind::I32)
    }

    pub fn zero_extend(self) -> Value<'c> {
        self.cast("extui", Kind::I64)
    }

    pub fn shift_left(self, by: impl Operand<'c>) -> Value<'c> {
        self.binary("", "shli", by.beside(self))
    }

    /// Fills with zeros.
    pub fn shift_right(self, by: impl Operand<'c>) -> Value<'c> {
        self.binary("", "shrui", by.beside(self))
    }

    /// Fills with the sign.
    pub fn shift_right_signed(self, by: impl Operand<'c>) -> Value<'c> {
        self.binary("", "shrsi", by.beside(self))
    }

    fn compare(self, float: &str, integer: &str, other: Value<'c>) -> Value<'c> {
        let kind = self.kind.name();
        match self.is_float() {
            true => self.code.define(Kind::I1, format_args!("arith.cmpf {float}, {self}, {other} : {kind}")),
            false => self.code.define(Kind::I1, format_args!("arith.cmpi {integer}, {self}, {other} : {kind}")),
        }
    }

    /// False if either is NaN, as all comparisons here but [`Self::ne`] and [`Self::not_below`]; signed on integers.
    pub fn lt(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare("olt", "slt", other.beside(self))
    }

    pub fn gt(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare("ogt", "sgt", other.beside(self))
    }

    pub fn ge(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare("oge", "sge", other.beside(self))
    }

    /// True if either is NaN.
    pub fn not_below(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare("uge", "sge", other.beside(self))
    }

    pub fn eq(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare("oeq", "eq", other.beside(self))
    }

    /// True if either is NaN.
    pub fn ne(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare("une", "ne", other.beside(self))
    }

    pub fn unsigned_lt(self, other: impl Operand<'c>) -> Value<'c> {
        self.compare("olt", "ult", other.beside(self))
    }

    pub fn is_nan(self) -> Value<'c> {
        self.compare("uno", "ne", self)
    }

    /// `self ? yes : no`; where `yes` is a literal, it takes the type of `no`.
    pub fn select(self, yes: impl Operand<'c>, no: Value<'c>) -> Value<'c> {
        let yes = yes.beside(no);
        self.code.define(yes.kind, format_args!("arith.select {self}, {yes}, {no} : {}", yes.kind.name()))
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

impl Code {
    /// Repeats `body` as long as `condition` holds.
    pub fn repeat_while<'c, const N: usize>(
        &'c self,
        start: [Value<'c>; N],
        condition: impl FnOnce([Value<'c>; N]) -> Value<'c>,
        body: impl FnOnce([Value<'c>; N]) -> [Value<'c>; N],
    ) -> [Value<'c>; N] {
        let kinds = start.map(|v| v.kind);
        let (before, after) = (kinds.map(|k| self.fresh(k)), kinds.map(|k| self.fresh(k)));
        let (before_text, _) = self.block(|| yield_all(&format!("scf.condition({})", condition(before)), before));
        let (after_text, _) = self.block(|| yield_all("scf.yield", body(after)));
        let results = self.results(kinds);
        let (id, types) = (results[0].id, joined(kinds.map(Kind::name)));
        let inits: [String; N] = std::array::from_fn(|i| format!("{} = {}", before[i], start[i]));
        let inits = joined(inits);
        self.line(format_args!("%{id}:{N} = scf.while ({inits}) : ({types}) -> ({types}) {{"));
        self.text.borrow_mut().push_str(&before_text);
        let arguments = joined(after.map(|v| format!("{v}: {}", v.kind.name())));
        self.line(format_args!("}} do {{"));
        self.line(format_args!("^bb0({arguments}):"));
        self.text.borrow_mut().push_str(&after_text);
        self.line(format_args!("}}"));
        results
    }

    /// What `write` writes, apart from what stands already.
    fn block<T>(&self, write: impl FnOnce() -> T) -> (String, T) {
        let outer = self.text.take();
        self.depth.set(self.depth.get() + 1);
        let result = write();
        self.depth.set(self.depth.get() - 1);
        (self.text.replace(outer), result)
    }

    fn results<const N: usize>(&self, kinds: [Kind; N]) -> [Value<'_>; N] {
        let first = self.fresh(Kind::I1).id;
        std::array::from_fn(|i| Value { code: self, id: first, part: Some(i as u32), kind: kinds[i] })
    }
}

fn joined<T: fmt::Display, const N: usize>(parts: [T; N]) -> String {
    parts.map(|p| p.to_string()).join(", ")
}

fn yield_all<const N: usize>(terminator: &str, values: [Value<'_>; N]) -> [Kind; N] {
    let kinds = values.map(|v| v.kind);
    if let Some(value) = values.first() {
        value.code.line(format_args!("{terminator} {} : {}", joined(values), joined(kinds.map(Kind::name))));
    }
    kinds
}
