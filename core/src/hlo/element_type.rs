//! Element types of arrays.

use std::fmt;
use std::str::FromStr;

macro_rules! element_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $bits:literal;)*) => {
        /// The type of one array element.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ElementType { $($(#[$doc])* $variant,)* }

        impl ElementType {
            /// Every element type, in declaration order.
            pub const ALL: &'static [ElementType] = &[$(ElementType::$variant,)*];

            /// The name HLO text uses.
            pub fn name(self) -> &'static str {
                match self { $(ElementType::$variant => $name,)* }
            }

            /// Width of the value in bits; `pred` counts as 1.
            pub fn bits(self) -> u32 {
                match self { $(ElementType::$variant => $bits,)* }
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
    Pred = "pred", 1;
    /// Signed integer of 1 bit.
    S1 = "s1", 1;
    /// Signed integer of 2 bits.
    S2 = "s2", 2;
    /// Signed integer of 4 bits.
    S4 = "s4", 4;
    /// Signed integer of 8 bits.
    S8 = "s8", 8;
    /// Signed integer of 16 bits.
    S16 = "s16", 16;
    /// Signed integer of 32 bits.
    S32 = "s32", 32;
    /// Signed integer of 64 bits.
    S64 = "s64", 64;
    /// Unsigned integer of 1 bit.
    U1 = "u1", 1;
    /// Unsigned integer of 2 bits.
    U2 = "u2", 2;
    /// Unsigned integer of 4 bits.
    U4 = "u4", 4;
    /// Unsigned integer of 8 bits.
    U8 = "u8", 8;
    /// Unsigned integer of 16 bits.
    U16 = "u16", 16;
    /// Unsigned integer of 32 bits.
    U32 = "u32", 32;
    /// Unsigned integer of 64 bits.
    U64 = "u64", 64;
    /// 4-bit float, 2 exponent and 1 mantissa bits, finite only.
    F4E2M1FN = "f4e2m1fn", 4;
    /// 6-bit float, 2 exponent and 3 mantissa bits, finite only.
    F6E2M3FN = "f6e2m3fn", 6;
    /// 6-bit float, 3 exponent and 2 mantissa bits, finite only.
    F6E3M2FN = "f6e3m2fn", 6;
    /// 8-bit float, 3 exponent and 4 mantissa bits, IEEE-like.
    F8E3M4 = "f8e3m4", 8;
    /// 8-bit float, 4 exponent and 3 mantissa bits, IEEE-like.
    F8E4M3 = "f8e4m3", 8;
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities.
    F8E4M3FN = "f8e4m3fn", 8;
    /// 8-bit float, 4 exponent and 3 mantissa bits, bias 11, one NaN, no infinities, no negative zero.
    F8E4M3B11FNUZ = "f8e4m3b11fnuz", 8;
    /// 8-bit float, 4 exponent and 3 mantissa bits, one NaN, no infinities, no negative zero.
    F8E4M3FNUZ = "f8e4m3fnuz", 8;
    /// 8-bit float, 5 exponent and 2 mantissa bits, IEEE-like.
    F8E5M2 = "f8e5m2", 8;
    /// 8-bit float, 5 exponent and 2 mantissa bits, one NaN, no infinities, no negative zero.
    F8E5M2FNUZ = "f8e5m2fnuz", 8;
    /// 8-bit unsigned power of two.
    F8E8M0FNU = "f8e8m0fnu", 8;
    /// IEEE half precision.
    F16 = "f16", 16;
    /// The upper half of an `f32`.
    BF16 = "bf16", 16;
    /// IEEE single precision.
    F32 = "f32", 32;
    /// IEEE double precision.
    F64 = "f64", 64;
    /// Pair of `f32`, real part first.
    C64 = "c64", 64;
    /// Pair of `f64`, real part first.
    C128 = "c128", 128;
}

impl ElementType {
    /// Bytes one element takes in fusebox's buffers and literals: sub-byte types take one byte.
    pub fn byte_size(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// Signed integers of any width.
    pub fn is_signed_integer(self) -> bool {
        (ElementType::S1..=ElementType::S64).contains(&self)
    }

    /// Unsigned integers of any width, without `pred`.
    pub fn is_unsigned_integer(self) -> bool {
        (ElementType::U1..=ElementType::U64).contains(&self)
    }

    /// Signed or unsigned integers, without `pred`.
    pub fn is_integer(self) -> bool {
        self.is_signed_integer() || self.is_unsigned_integer()
    }

    /// Real floating-point types of any width.
    pub fn is_float(self) -> bool {
        (ElementType::F4E2M1FN..=ElementType::F64).contains(&self)
    }

    /// `c64` and `c128`.
    pub fn is_complex(self) -> bool {
        matches!(self, ElementType::C64 | ElementType::C128)
    }

    /// The type of the real and imaginary part of a complex type; other types are returned as they are.
    pub fn real_part(self) -> ElementType {
        match self {
            ElementType::C64 => ElementType::F32,
            ElementType::C128 => ElementType::F64,
            other => other,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
