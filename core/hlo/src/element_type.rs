//! Element types of arrays. One table contains their names, numbers and formats.

use std::fmt;
use std::str::FromStr;

use super::{FloatFormat, Specials};

/// The meaning of an element type's bits.
#[derive(Clone, Copy)]
enum Kind {
    Pred,
    /// A two's complement integer with this number of bits.
    Signed(u32),
    Unsigned(u32),
    Float(FloatFormat),
    /// A pair of numbers of this float type.
    Complex(ElementType),
}

const fn format(exponent_bits: u32, mantissa_bits: u32, bias: i32, specials: Specials) -> FloatFormat {
    FloatFormat { exponent_bits, mantissa_bits, bias, specials, signed: true }
}

const fn float(exponent_bits: u32, mantissa_bits: u32, bias: i32, specials: Specials) -> Kind {
    Kind::Float(format(exponent_bits, mantissa_bits, bias, specials))
}

/// Defines each type with its name in HLO text, its number in XLA and its kind.
macro_rules! element_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $number:literal, $kind:expr;)*) => {
        /// The type of one array element.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ElementType { $($(#[$doc])* $variant,)* }

        impl ElementType {
            /// Every element type, in declaration order.
            pub const ALL: &'static [ElementType] = &[$(ElementType::$variant,)*];

            /// The name in HLO text.
            pub fn name(self) -> &'static str {
                match self { $(ElementType::$variant => $name,)* }
            }

            /// Returns the number that XLA gives the type, in protobuf messages and in the
            /// interface for foreign functions.
            pub fn number(self) -> i32 {
                match self { $(ElementType::$variant => $number,)* }
            }

            fn kind(self) -> Kind {
                match self { $(ElementType::$variant => $kind,)* }
            }
        }

        impl FromStr for ElementType {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($name => Ok(ElementType::$variant),)* _ => Err(()) }
            }
        }
    };
}

element_types! {
    /// Boolean.
    Pred = "pred", 1, Kind::Pred;
    /// Signed integer of 1 bit.
    S1 = "s1", 30, Kind::Signed(1);
    /// Signed integer of 2 bits.
    S2 = "s2", 26, Kind::Signed(2);
    /// Signed integer of 4 bits.
    S4 = "s4", 21, Kind::Signed(4);
    /// Signed integer of 8 bits.
    S8 = "s8", 2, Kind::Signed(8);
    /// Signed integer of 16 bits.
    S16 = "s16", 3, Kind::Signed(16);
    /// Signed integer of 32 bits.
    S32 = "s32", 4, Kind::Signed(32);
    /// Signed integer of 64 bits.
    S64 = "s64", 5, Kind::Signed(64);
    /// Unsigned integer of 1 bit.
    U1 = "u1", 31, Kind::Unsigned(1);
    /// Unsigned integer of 2 bits.
    U2 = "u2", 27, Kind::Unsigned(2);
    /// Unsigned integer of 4 bits.
    U4 = "u4", 22, Kind::Unsigned(4);
    /// Unsigned integer of 8 bits.
    U8 = "u8", 6, Kind::Unsigned(8);
    /// Unsigned integer of 16 bits.
    U16 = "u16", 7, Kind::Unsigned(16);
    /// Unsigned integer of 32 bits.
    U32 = "u32", 8, Kind::Unsigned(32);
    /// Unsigned integer of 64 bits.
    U64 = "u64", 9, Kind::Unsigned(64);
    /// 4-bit float, 2 exponent and 1 mantissa bits, finite only.
    F4E2M1FN = "f4e2m1fn", 32, float(2, 1, 1, Specials::None);
    /// 6-bit float, 2 exponent and 3 mantissa bits, finite only.
    F6E2M3FN = "f6e2m3fn", 36, float(2, 3, 1, Specials::None);
    /// 6-bit float, 3 exponent and 2 mantissa bits, finite only.
    F6E3M2FN = "f6e3m2fn", 35, float(3, 2, 3, Specials::None);
    /// 8-bit float, 3 exponent and 4 mantissa bits, IEEE-like.
    F8E3M4 = "f8e3m4", 29, float(3, 4, 3, Specials::Ieee);
    /// 8-bit float, 4 exponent and 3 mantissa bits, IEEE-like.
    F8E4M3 = "f8e4m3", 28, float(4, 3, 7, Specials::Ieee);
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities.
    F8E4M3FN = "f8e4m3fn", 20, float(4, 3, 7, Specials::NanAllOnes);
    /// 8-bit float, 4 exponent and 3 mantissa bits, bias 11, one NaN, no infinities, no negative
    /// zero.
    F8E4M3B11FNUZ = "f8e4m3b11fnuz", 23, float(4, 3, 11, Specials::NanNegativeZero);
    /// 8-bit float, 4 exponent and 3 mantissa bits, one NaN, no infinities, no negative zero.
    F8E4M3FNUZ = "f8e4m3fnuz", 25, float(4, 3, 8, Specials::NanNegativeZero);
    /// 8-bit float, 5 exponent and 2 mantissa bits, IEEE-like.
    F8E5M2 = "f8e5m2", 19, float(5, 2, 15, Specials::Ieee);
    /// 8-bit float, 5 exponent and 2 mantissa bits, one NaN, no infinities, no negative zero.
    F8E5M2FNUZ = "f8e5m2fnuz", 24, float(5, 2, 16, Specials::NanNegativeZero);
    /// 8-bit float that has only exponent bits: a positive power of two.
    F8E8M0FNU = "f8e8m0fnu", 33, Kind::Float(FloatFormat { signed: false, ..format(8, 0, 127, Specials::NanAllOnes) });
    /// IEEE half precision.
    F16 = "f16", 10, float(5, 10, 15, Specials::Ieee);
    /// The upper half of an `f32`.
    BF16 = "bf16", 16, float(8, 7, 127, Specials::Ieee);
    /// IEEE single precision.
    F32 = "f32", 11, float(8, 23, 127, Specials::Ieee);
    /// IEEE double precision.
    F64 = "f64", 12, float(11, 52, 1023, Specials::Ieee);
    /// Pair of `f32`, real part first.
    C64 = "c64", 15, Kind::Complex(ElementType::F32);
    /// Pair of `f64`, real part first.
    C128 = "c128", 18, Kind::Complex(ElementType::F64);
}

impl ElementType {
    /// Number of bytes that one element occupies in fusebox's buffers and literals. An element of a
    /// sub-byte type occupies one byte.
    pub fn byte_size(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// Number of bits of a value; 1 for `pred`.
    pub fn bits(self) -> u32 {
        match self.kind() {
            Kind::Pred => 1,
            Kind::Signed(bits) | Kind::Unsigned(bits) => bits,
            Kind::Float(format) => format.bits(),
            Kind::Complex(part) => 2 * part.bits(),
        }
    }

    /// Number of bits that `bitcast` and `bitcast-convert` reinterpret per element; 8 for `pred`.
    pub fn stored_bits(self) -> u32 {
        if self == ElementType::Pred { 8 } else { self.bits() }
    }

    /// Whether this is a signed integer of any width.
    pub fn is_signed_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed(_))
    }

    /// Whether this is an unsigned integer of any width, not `pred`.
    pub fn is_unsigned_integer(self) -> bool {
        matches!(self.kind(), Kind::Unsigned(_))
    }

    /// Whether this is a signed or unsigned integer, not `pred`.
    pub fn is_integer(self) -> bool {
        self.is_signed_integer() || self.is_unsigned_integer()
    }

    /// Whether this is an integer or `pred`.
    pub fn is_integer_or_pred(self) -> bool {
        self.is_integer() || self == ElementType::Pred
    }

    /// Whether this is a real floating-point type of any width.
    pub fn is_float(self) -> bool {
        self.float_format().is_some()
    }

    /// The format of a real floating-point type.
    pub fn float_format(self) -> Option<FloatFormat> {
        match self.kind() {
            Kind::Float(format) => Some(format),
            _ => None,
        }
    }

    /// Whether this is `c64` or `c128`.
    pub fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex(_))
    }

    /// Returns the type of the real and imaginary part of a complex type. Returns other types
    /// unchanged.
    pub fn real_part(self) -> ElementType {
        match self.kind() {
            Kind::Complex(part) => part,
            _ => self,
        }
    }
}

impl FloatFormat {
    /// The format of a float type; `None` for types that are not real floats.
    pub fn of(element_type: ElementType) -> Option<FloatFormat> {
        element_type.float_format()
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
