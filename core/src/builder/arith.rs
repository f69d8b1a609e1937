//! `arith`, `math` and `complex` operations.

use super::{Attribute, Float, FunctionBuilder, Scalar, Type, Value};

/// How `arith.cmpi` compares.
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

/// How `arith.cmpf` compares: `O…` is false if an operand is NaN, `U…` is true.
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

macro_rules! binary {
    ($kind:ident: $($method:ident = $name:literal, $doc:literal;)*) => {
        impl FunctionBuilder {
            $(
                #[doc = concat!("`", $name, "`: ", $doc)]
                pub fn $method(&mut self, a: Value, b: Value) -> Value {
                    self.$kind($name, a, b)
                }
            )*
        }
    };
}

binary! { int_binary:
    addi = "arith.addi", "sum, modulo two to the width.";
    subi = "arith.subi", "difference, modulo two to the width.";
    muli = "arith.muli", "product, modulo two to the width.";
    divsi = "arith.divsi", "signed quotient, towards zero; the divisor is not zero.";
    divui = "arith.divui", "unsigned quotient; the divisor is not zero.";
    remsi = "arith.remsi", "signed remainder, sign of the dividend; the divisor is not zero.";
    remui = "arith.remui", "unsigned remainder; the divisor is not zero.";
    floordivsi = "arith.floordivsi", "signed quotient, towards minus infinity.";
    ceildivsi = "arith.ceildivsi", "signed quotient, towards plus infinity.";
    andi = "arith.andi", "bitwise and.";
    ori = "arith.ori", "bitwise or.";
    xori = "arith.xori", "bitwise exclusive or.";
    shli = "arith.shli", "shift left; the amount is below the width.";
    shrsi = "arith.shrsi", "shift right, copies of the sign come in; the amount is below the width.";
    shrui = "arith.shrui", "shift right, zeros come in; the amount is below the width.";
    maxsi = "arith.maxsi", "signed maximum.";
    maxui = "arith.maxui", "unsigned maximum.";
    minsi = "arith.minsi", "signed minimum.";
    minui = "arith.minui", "unsigned minimum.";
}

binary! { float_binary:
    addf = "arith.addf", "sum.";
    subf = "arith.subf", "difference.";
    mulf = "arith.mulf", "product.";
    divf = "arith.divf", "quotient.";
    remf = "arith.remf", "remainder, sign of the dividend.";
    maximumf = "arith.maximumf", "maximum, NaN if an operand is NaN.";
    minimumf = "arith.minimumf", "minimum, NaN if an operand is NaN.";
    maxnumf = "arith.maxnumf", "maximum, the other operand if one is NaN.";
    minnumf = "arith.minnumf", "minimum, the other operand if one is NaN.";
}

macro_rules! casts {
    ($($method:ident = $name:literal, $check:expr, $doc:literal;)*) => {
        impl FunctionBuilder {
            $(
                #[doc = concat!("`", $name, "`: ", $doc)]
                pub fn $method(&mut self, value: Value, to: Scalar) -> Value {
                    let allowed: fn(Scalar, Scalar) -> bool = $check;
                    self.cast($name, value, to, allowed)
                }
            )*
        }
    };
}

casts! {
    extsi = "arith.extsi", |a, b| widens_int(a, b), "to a wider integer, copies of the sign come in.";
    extui = "arith.extui", |a, b| widens_int(a, b), "to a wider integer, zeros come in.";
    trunci = "arith.trunci", |a, b| widens_int(b, a), "to a narrower integer, the upper bits go.";
    extf = "arith.extf", |a, b| widens_float(a, b), "to a wider float.";
    truncf = "arith.truncf", |a, b| widens_float(b, a), "to a narrower float, rounded to nearest even.";
    sitofp = "arith.sitofp", |a, b| is_int(a) && is_float(b), "signed integer to float.";
    uitofp = "arith.uitofp", |a, b| is_int(a) && is_float(b), "unsigned integer to float.";
    fptosi = "arith.fptosi", |a, b| is_float(a) && is_int(b), "float to signed integer, towards zero; out of range is undefined.";
    fptoui = "arith.fptoui", |a, b| is_float(a) && is_int(b), "float to unsigned integer, towards zero; out of range is undefined.";
    index_cast = "arith.index_cast", |a, b| index_and_int(a, b), "between `index` and a signed integer.";
    index_castui = "arith.index_castui", |a, b| index_and_int(a, b), "between `index` and an unsigned integer.";
    bitcast = "arith.bitcast", |a, b| is_bits(a) && is_bits(b) && a.bits() == b.bits(), "the same bits as another type of that width.";
}

impl FunctionBuilder {
    /// A binary operation on integers or `index` of that name, `arith.…`.
    pub fn int_binary(&mut self, name: &str, a: Value, b: Value) -> Value {
        self.same_type(name, &[a, b], "integers", Scalar::is_integer, None)
    }

    /// A binary operation on floats of that name, `arith.…` or `math.…`, with the current fastmath flags.
    pub fn float_binary(&mut self, name: &str, a: Value, b: Value) -> Value {
        let flags = self.fastmath.attribute();
        self.same_type(name, &[a, b], "floats", is_float, flags)
    }

    /// A unary operation on floats of that name (`math.exp`, `arith.negf`, …), with the current fastmath
    /// flags.
    pub fn float_unary(&mut self, name: &str, value: Value) -> Value {
        let flags = self.fastmath.attribute();
        self.same_type(name, &[value], "floats", is_float, flags)
    }

    /// A unary operation on integers of that name (`math.ctpop`, `math.ctlz`, …).
    pub fn int_unary(&mut self, name: &str, value: Value) -> Value {
        self.same_type(name, &[value], "integers", Scalar::is_integer, None)
    }

    /// `arith.negf`: the sign flipped.
    pub fn negf(&mut self, value: Value) -> Value {
        self.float_unary("arith.negf", value)
    }

    /// `math.fma`: `a * b + c`, rounded once.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let flags = self.fastmath.attribute();
        self.same_type("math.fma", &[a, b, c], "floats", is_float, flags)
    }

    /// `arith.cmpi`: comparison of integers.
    pub fn cmpi(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.compare("arith.cmpi", predicate as i64, [a, b], "integers", Scalar::is_integer, None)
    }

    /// `arith.cmpf`: comparison of floats.
    pub fn cmpf(&mut self, predicate: FloatPredicate, a: Value, b: Value) -> Value {
        let flags = self.fastmath.attribute();
        self.compare("arith.cmpf", predicate as i64, [a, b], "floats", is_float, flags)
    }

    /// `arith.select`: `on_true` if `condition`, else `on_false`; both of any type.
    pub fn select(&mut self, condition: Value, on_true: Value, on_false: Value) -> Value {
        const NAME: &str = "arith.select";
        let operands = [condition, on_true, on_false];
        let ty = self.type_of(on_true).clone();
        if Self::any_poison(&operands) {
            return self.op1(NAME, &operands, Vec::new(), ty);
        }
        let condition_type = self.type_of(condition);
        if *condition_type != Type::I1 && *condition_type != ty.with_element(Scalar::I1) {
            let found = condition_type.to_string();
            return self.refuse(NAME, format!("the condition is {found}, it must be i1 (or a vector of i1)"));
        }
        if *self.type_of(on_false) != ty {
            let other = self.type_of(on_false);
            let message = format!("the choices have types {ty} and {other}; both must be equal");
            return self.refuse(NAME, message);
        }
        self.op1(NAME, &operands, Vec::new(), ty)
    }

    /// `complex.create`: from real and imaginary part, both `f32` or both `f64`.
    pub fn complex(&mut self, re: Value, im: Value) -> Value {
        const NAME: &str = "complex.create";
        match (self.type_of(re).clone(), self.type_of(im).clone()) {
            _ if Self::any_poison(&[re, im]) => self.op1(NAME, &[re, im], Vec::new(), Type::F32),
            (Type::Scalar(Scalar::Float(a @ (Float::F32 | Float::F64))), b) if b == Type::Scalar(Scalar::Float(a)) => {
                self.op1(NAME, &[re, im], Vec::new(), Scalar::Complex(a).into())
            }
            (a, b) => self.refuse(NAME, format!("the parts have types {a} and {b}; both must be f32 or both f64")),
        }
    }

    /// `complex.re`: the real part.
    pub fn re(&mut self, value: Value) -> Value {
        self.complex_part("complex.re", value)
    }

    /// `complex.im`: the imaginary part.
    pub fn im(&mut self, value: Value) -> Value {
        self.complex_part("complex.im", value)
    }

    fn complex_part(&mut self, name: &str, value: Value) -> Value {
        match *self.type_of(value) {
            _ if Self::any_poison(&[value]) => value,
            Type::Scalar(Scalar::Complex(part)) => self.op1(name, &[value], Vec::new(), Scalar::Float(part).into()),
            ref other => {
                let message = format!("the operand is {other}, it must be complex");
                self.refuse(name, message)
            }
        }
    }

    /// An operation whose operands and result have one and the same type.
    fn same_type(
        &mut self,
        name: &str,
        operands: &[Value],
        wanted: &str,
        accepts: fn(Scalar) -> bool,
        fastmath: Option<Attribute>,
    ) -> Value {
        let ty = self.type_of(operands[0]).clone();
        match self.check_same(name, operands, wanted, accepts) {
            Ok(()) => self.op1(name, operands, fastmath.map(|flags| ("fastmath", flags)).into_iter().collect(), ty),
            Err(poison) => poison,
        }
    }

    fn compare(
        &mut self,
        name: &str,
        predicate: i64,
        operands: [Value; 2],
        wanted: &str,
        accepts: fn(Scalar) -> bool,
        fastmath: Option<Attribute>,
    ) -> Value {
        let ty = self.type_of(operands[0]).with_element(Scalar::I1);
        let mut attributes = vec![("predicate", Attribute::i64(predicate))];
        attributes.extend(fastmath.map(|flags| ("fastmath", flags)));
        match self.check_same(name, &operands, wanted, accepts) {
            Ok(()) => self.op1(name, &operands, attributes, ty),
            Err(poison) => poison,
        }
    }

    fn check_same(
        &mut self,
        name: &str,
        operands: &[Value],
        wanted: &str,
        accepts: fn(Scalar) -> bool,
    ) -> Result<(), Value> {
        if Self::any_poison(operands) {
            return Ok(());
        }
        let first = self.type_of(operands[0]);
        let fits = accepts(first.element()) && first.as_tensor().is_none();
        if fits && operands.iter().all(|&v| self.type_of(v) == first) {
            return Ok(());
        }
        let types: Vec<String> = operands.iter().map(|&v| self.type_of(v).to_string()).collect();
        Err(self.refuse(name, format!("the operands are {}; wanted are {wanted} of one type", types.join(", "))))
    }

    fn cast(&mut self, name: &str, value: Value, to: Scalar, allowed: fn(Scalar, Scalar) -> bool) -> Value {
        let from = self.type_of(value);
        if Self::any_poison(&[value]) {
            return value;
        }
        if from.as_tensor().is_some() || !allowed(from.element(), to) {
            let message = format!("cannot take {from} to {to}");
            return self.refuse(name, message);
        }
        let ty = from.with_element(to);
        self.op1(name, &[value], Vec::new(), ty)
    }
}

fn is_float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Float(_))
}

fn is_int(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Int(_))
}

fn is_bits(scalar: Scalar) -> bool {
    is_int(scalar) || is_float(scalar)
}

fn widens_int(from: Scalar, to: Scalar) -> bool {
    is_int(from) && is_int(to) && from.bits() < to.bits()
}

fn widens_float(from: Scalar, to: Scalar) -> bool {
    is_float(from) && is_float(to) && from.bits() < to.bits()
}

fn index_and_int(a: Scalar, b: Scalar) -> bool {
    (a == Scalar::Index && is_int(b)) || (is_int(a) && b == Scalar::Index)
}
