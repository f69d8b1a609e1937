//! `arith.constant`.

use std::fmt::Write as _;

use super::{Attribute, Float, FunctionBuilder, Scalar, Type, Value};

impl FunctionBuilder {
    /// An `index`.
    pub fn index(&mut self, value: i64) -> Value {
        self.int(value, Scalar::Index)
    }

    /// An `i1`.
    pub fn bool(&mut self, value: bool) -> Value {
        self.constant(Attribute::Bool(value), Type::I1)
    }

    /// An integer or `index`; bits beyond the type's width are cut off.
    pub fn int(&mut self, value: i64, ty: Scalar) -> Value {
        match ty {
            Scalar::Int(1) => self.bool(value & 1 != 0),
            Scalar::Int(bits) if bits < 64 => {
                let unused = 64 - bits;
                self.constant(Attribute::Int(value << unused >> unused, ty.into()), ty.into())
            }
            Scalar::Int(_) | Scalar::Index => self.constant(Attribute::Int(value, ty.into()), ty.into()),
            other => self.refuse("arith.constant", format!("{other} is no integer type; use `float`")),
        }
    }

    /// A float, rounded to the type. Infinities and NaN only where the width is 16 or more; narrower
    /// types do not all have them, give their [bits](Self::float_bits).
    pub fn float(&mut self, value: f64, ty: Scalar) -> Value {
        match ty {
            Scalar::Float(Float::F64) => self.float_bits(value.to_bits(), ty),
            Scalar::Float(Float::F32) => self.float_bits((value as f32).to_bits().into(), ty),
            Scalar::Float(Float::F16) => self.float_bits(half::f16::from_f64(value).to_bits().into(), ty),
            Scalar::Float(Float::BF16) => self.float_bits(half::bf16::from_f64(value).to_bits().into(), ty),
            Scalar::Float(_) if value.is_finite() => {
                self.constant(Attribute::Raw(format!("{value:.17e} : {ty}")), ty.into())
            }
            Scalar::Float(_) => self.refuse("arith.constant", format!("{value} as {ty}: use `float_bits`")),
            other => self.refuse("arith.constant", format!("{other} is no float type; use `int`")),
        }
    }

    /// A float given by its bit pattern.
    pub fn float_bits(&mut self, bits: u64, ty: Scalar) -> Value {
        match ty {
            Scalar::Float(float) if float.bits() == 64 || bits >> float.bits() == 0 => {
                self.constant(Attribute::Raw(format!("0x{bits:X} : {ty}")), ty.into())
            }
            Scalar::Float(_) => self.refuse("arith.constant", format!("0x{bits:X} has too many bits for {ty}")),
            other => self.refuse("arith.constant", format!("{other} is no float type")),
        }
    }

    /// Zero, or false, of any type.
    pub fn zero(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Scalar(Scalar::Float(float)) if *float != Float::F8E8M0FNU => {
                self.float_bits(0, Scalar::Float(*float))
            }
            Type::Scalar(Scalar::Complex(part)) => {
                let part = self.float_bits(0, Scalar::Float(*part));
                self.complex(part, part)
            }
            Type::Scalar(scalar) if scalar.is_integer() => self.int(0, *scalar),
            Type::Vector(_, element) if element.is_integer() => self.constant(dense(ty, "0"), ty.clone()),
            Type::Vector(_, Scalar::Float(_)) => self.constant(dense(ty, "0.0"), ty.clone()),
            other => self.refuse("arith.constant", format!("{other} has no zero constant")),
        }
    }

    /// A tensor from the bytes of its elements, laid out as in an
    /// [`ArrayLiteral`](crate::hlo::ArrayLiteral): row-major, little-endian, sub-byte elements one
    /// byte each.
    pub fn tensor_constant(&mut self, dims: &[i64], element: Scalar, bytes: &[u8]) -> Value {
        let ty = Type::tensor(dims, element);
        let count = dims.iter().fold(1i64, |n, &d| n.saturating_mul(d)) as usize;
        let size = element.bits().div_ceil(8) as usize;
        if bytes.len() != count.saturating_mul(size) || element == Scalar::Index {
            return self.refuse("arith.constant", format!("{} bytes do not make a {ty}", bytes.len()));
        }
        let text = match (element, count) {
            (_, 0) => String::new(),
            // MLIR packs booleans in text form; spelling them out is shorter to explain.
            (Scalar::I1, _) => nested(dims, &mut bytes.iter().map(|&b| if b & 1 != 0 { "true" } else { "false" })),
            (Scalar::Int(bits), _) if bits < 8 => hex(bytes.iter().map(|b| b & ((1 << bits) - 1))),
            _ => hex(bytes.iter().copied()),
        };
        self.constant(dense(&ty, &text), ty.clone())
    }

    fn constant(&mut self, value: Attribute, ty: Type) -> Value {
        self.op1("arith.constant", &[], vec![("value", value)], ty)
    }
}

fn dense(ty: &Type, elements: &str) -> Attribute {
    Attribute::Raw(format!("dense<{elements}> : {ty}"))
}

fn hex(bytes: impl Iterator<Item = u8>) -> String {
    let mut text = String::from("\"0x");
    // Writing to a string does not fail.
    bytes.for_each(|byte| _ = write!(text, "{byte:02X}"));
    text.push('"');
    text
}

/// `[[a, b], [c, d]]` for dimensions 2 and 2.
fn nested(dims: &[i64], elements: &mut dyn Iterator<Item = &'static str>) -> String {
    match dims.split_first() {
        None => elements.next().unwrap_or_default().to_owned(),
        Some((&n, inner)) => {
            let parts: Vec<String> = (0..n).map(|_| nested(inner, elements)).collect();
            format!("[{}]", parts.join(", "))
        }
    }
}
