//! Types of values.

use std::fmt;
use std::sync::Arc;

use crate::hlo::{ArrayShape, ElementType};

macro_rules! floats {
    ($($variant:ident = $name:literal, $bits:literal, $element:ident;)*) => {
        /// A floating-point type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Float { $(#[doc = concat!("`", $name, "`")] $variant,)* }

        impl Float {
            /// The name MLIR uses.
            pub fn name(self) -> &'static str {
                match self { $(Float::$variant => $name,)* }
            }

            /// Width in bits.
            pub fn bits(self) -> u32 {
                match self { $(Float::$variant => $bits,)* }
            }

            fn of_element(element: ElementType) -> Option<Float> {
                match element { $(ElementType::$element => Some(Float::$variant),)* _ => None }
            }
        }
    };
}

floats! {
    F4E2M1FN = "f4E2M1FN", 4, F4E2M1FN;
    F6E2M3FN = "f6E2M3FN", 6, F6E2M3FN;
    F6E3M2FN = "f6E3M2FN", 6, F6E3M2FN;
    F8E3M4 = "f8E3M4", 8, F8E3M4;
    F8E4M3 = "f8E4M3", 8, F8E4M3;
    F8E4M3FN = "f8E4M3FN", 8, F8E4M3FN;
    F8E4M3B11FNUZ = "f8E4M3B11FNUZ", 8, F8E4M3B11FNUZ;
    F8E4M3FNUZ = "f8E4M3FNUZ", 8, F8E4M3FNUZ;
    F8E5M2 = "f8E5M2", 8, F8E5M2;
    F8E5M2FNUZ = "f8E5M2FNUZ", 8, F8E5M2FNUZ;
    F8E8M0FNU = "f8E8M0FNU", 8, F8E8M0FNU;
    F16 = "f16", 16, F16;
    BF16 = "bf16", 16, BF16;
    F32 = "f32", 32, F32;
    F64 = "f64", 64, F64;
}

/// A type without dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `index`: positions and counts.
    Index,
    /// `iN`, signless.
    Int(u32),
    /// A floating-point type.
    Float(Float),
    /// `complex<…>`.
    Complex(Float),
}

/// Type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One number.
    Scalar(Scalar),
    /// A statically shaped tensor.
    Tensor(Arc<[i64]>, Scalar),
    /// A vector.
    Vector(Arc<[i64]>, Scalar),
}

impl Scalar {
    /// `i1`
    pub const I1: Scalar = Scalar::Int(1);
    /// `i8`
    pub const I8: Scalar = Scalar::Int(8);
    /// `i16`
    pub const I16: Scalar = Scalar::Int(16);
    /// `i32`
    pub const I32: Scalar = Scalar::Int(32);
    /// `i64`
    pub const I64: Scalar = Scalar::Int(64);
    /// `f16`
    pub const F16: Scalar = Scalar::Float(Float::F16);
    /// `bf16`
    pub const BF16: Scalar = Scalar::Float(Float::BF16);
    /// `f32`
    pub const F32: Scalar = Scalar::Float(Float::F32);
    /// `f64`
    pub const F64: Scalar = Scalar::Float(Float::F64);

    /// The type that HLO elements of this type have in a kernel: `pred` is `i1`, integers are signless.
    pub fn of_element(element: ElementType) -> Scalar {
        match (Float::of_element(element), Float::of_element(element.real_part())) {
            (Some(float), _) => Scalar::Float(float),
            (None, Some(part)) => Scalar::Complex(part),
            (None, None) => Scalar::Int(element.bits()),
        }
    }

    /// Integers of any width and `index`.
    pub fn is_integer(self) -> bool {
        matches!(self, Scalar::Index | Scalar::Int(_))
    }

    /// Width in bits; `index` counts as 64.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::Index => 64,
            Scalar::Int(bits) => bits,
            Scalar::Float(float) => float.bits(),
            Scalar::Complex(part) => 2 * part.bits(),
        }
    }
}

impl Type {
    /// `index`
    pub const INDEX: Type = Type::Scalar(Scalar::Index);
    /// `i1`
    pub const I1: Type = Type::Scalar(Scalar::I1);
    /// `i32`
    pub const I32: Type = Type::Scalar(Scalar::I32);
    /// `i64`
    pub const I64: Type = Type::Scalar(Scalar::I64);
    /// `f32`
    pub const F32: Type = Type::Scalar(Scalar::F32);
    /// `f64`
    pub const F64: Type = Type::Scalar(Scalar::F64);

    /// A tensor of these dimensions.
    pub fn tensor(dims: &[i64], element: Scalar) -> Type {
        Type::Tensor(dims.into(), element)
    }

    /// A vector of these dimensions.
    pub fn vector(dims: &[i64], element: Scalar) -> Type {
        Type::Vector(dims.into(), element)
    }

    /// The scalar type of one HLO element.
    pub fn of_element(element: ElementType) -> Type {
        Type::Scalar(Scalar::of_element(element))
    }

    /// The tensor type of an HLO array.
    pub fn of_array(shape: &ArrayShape) -> Type {
        Type::tensor(&shape.dims, Scalar::of_element(shape.element_type))
    }

    /// The type itself, or that of its elements.
    pub fn element(&self) -> Scalar {
        match self {
            Type::Scalar(scalar) | Type::Tensor(_, scalar) | Type::Vector(_, scalar) => *scalar,
        }
    }

    /// The same dimensions with other elements.
    pub fn with_element(&self, element: Scalar) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(element),
            Type::Tensor(dims, _) => Type::Tensor(dims.clone(), element),
            Type::Vector(dims, _) => Type::Vector(dims.clone(), element),
        }
    }

    /// The scalar, if this has no dimensions.
    pub fn as_scalar(&self) -> Option<Scalar> {
        match self {
            Type::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Dimensions and elements, if this is a tensor.
    pub fn as_tensor(&self) -> Option<(&[i64], Scalar)> {
        match self {
            Type::Tensor(dims, element) => Some((dims, *element)),
            _ => None,
        }
    }

    /// Dimensions and elements, if this is a vector.
    pub fn as_vector(&self) -> Option<(&[i64], Scalar)> {
        match self {
            Type::Vector(dims, element) => Some((dims, *element)),
            _ => None,
        }
    }
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Type {
        Type::Scalar(scalar)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Index => f.write_str("index"),
            Scalar::Int(bits) => write!(f, "i{bits}"),
            Scalar::Float(float) => f.write_str(float.name()),
            Scalar::Complex(part) => write!(f, "complex<{}>", part.name()),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keyword, dims, element) = match self {
            Type::Scalar(scalar) => return scalar.fmt(f),
            Type::Tensor(dims, element) => ("tensor", dims, element),
            Type::Vector(dims, element) => ("vector", dims, element),
        };
        write!(f, "{keyword}<")?;
        for dim in dims.iter() {
            write!(f, "{dim}x")?;
        }
        write!(f, "{element}>")
    }
}
