//! Constants (`arith.constant`).

use super::{Attribute, Float, FunctionBuilder, OpKind, Scalar, Type, Value};

impl FunctionBuilder {
    /// Records a constant of type `index`.
    #[track_caller]
    pub fn index(&mut self, value: i64) -> Value {
        self.int(value, Scalar::Index)
    }

    /// Records a constant of type `i1`.
    #[track_caller]
    pub fn bool(&mut self, value: bool) -> Value {
        self.constant(Attribute::Bool(value), Type::I1)
    }

    /// Records a constant of an integer type or `index`. Drops bits beyond the type's width.
    #[track_caller]
    pub fn int(&mut self, value: i64, ty: Scalar) -> Value {
        match ty {
            Scalar::Int(1) => self.bool(value & 1 != 0),
            Scalar::Int(bits) if bits < 64 => {
                let unused = 64 - bits;
                self.constant(Attribute::Int(value << unused >> unused, ty.into()), ty.into())
            }
            Scalar::Int(_) | Scalar::Index => self.constant(Attribute::Int(value, ty.into()), ty.into()),
            other => self.refuse(OpKind::Constant, format!("{other} is no integer type; use `float`")),
        }
    }

    /// Records a float constant, rounded to the type. Accepts infinities and NaN only for types of
    /// 16 or more bits, because some narrower types lack these values. For narrower types, use
    /// [`float_bits`](Self::float_bits).
    #[track_caller]
    pub fn float(&mut self, value: f64, ty: Scalar) -> Value {
        match ty {
            Scalar::Float(float)
                if (value.is_finite() || float.bits() >= 16)
                    && let Some(format) = float.format() =>
            {
                self.float_bits(format.encode(value), ty)
            }
            Scalar::Float(_) => self.refuse(OpKind::Constant, format!("{value} as {ty}: use `float_bits`")),
            other => self.refuse(OpKind::Constant, format!("{other} is no float type; use `int`")),
        }
    }

    /// Records a float constant with this bit pattern.
    #[track_caller]
    pub fn float_bits(&mut self, bits: u64, ty: Scalar) -> Value {
        match ty {
            Scalar::Float(float) if float.bits() == 64 || bits >> float.bits() == 0 => {
                self.constant(Attribute::Float(bits, float), ty.into())
            }
            Scalar::Float(_) => self.refuse(OpKind::Constant, format!("0x{bits:X} has too many bits for {ty}")),
            other => self.refuse(OpKind::Constant, format!("{other} is no float type")),
        }
    }

    /// Records a constant zero (or false) of a scalar or vector type.
    #[track_caller]
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
            Type::Vector(_, element @ (Scalar::Int(_) | Scalar::Index | Scalar::Float(_))) => {
                let zero: &[u8] = &[0; 16][..element.byte_size().min(16)];
                self.constant(Attribute::Dense(ty.clone(), zero.into()), ty.clone())
            }
            other => self.refuse(OpKind::Constant, format!("{other} has no zero constant")),
        }
    }

    /// Records a tensor constant with these element bytes, in the format of an
    /// [`ArrayLiteral`](fusebox_hlo::ArrayLiteral): row-major, little-endian, one byte per sub-byte
    /// element.
    #[track_caller]
    pub fn tensor_constant(&mut self, dims: &[i64], element: Scalar, bytes: &[u8]) -> Value {
        let ty = Type::tensor(dims, element);
        let size = ty.element_count().and_then(|count| count.checked_mul(element.byte_size()));
        if Some(bytes.len()) != size || element == Scalar::Index {
            return self.refuse(OpKind::Constant, format!("{} bytes do not make a {ty}", bytes.len()));
        }
        let mut bytes = bytes.to_vec();
        element.clear_unused_bits(&mut bytes);
        self.constant(Attribute::Dense(ty.clone(), bytes.into()), ty)
    }

    #[track_caller]
    fn constant(&mut self, value: Attribute, ty: Type) -> Value {
        self.op1(OpKind::Constant, &[], vec![("value", value)], ty)
    }
}
