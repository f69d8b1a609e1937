//! Enumerations whose values have fixed names in HLO text.

use std::str::FromStr;

/// A type whose values have fixed names.
pub(crate) trait Named: Copy + FromStr + 'static {
    const ALL: &'static [Self];
    fn name(self) -> &'static str;
}

macro_rules! named {
    ($(#[$meta:meta])* $type:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $(#[doc = concat!("`", $name, "`")] $variant,)* }

        impl $type {
            /// Every value, in declaration order.
            pub const ALL: &'static [$type] = &[$($type::$variant,)*];

            /// The name in HLO text.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name,)* }
            }
        }

        impl $crate::named::Named for $type {
            const ALL: &'static [Self] = $type::ALL;
            fn name(self) -> &'static str {
                $type::name(self)
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($name => Ok($type::$variant),)* _ => Err(()) }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use named;

named! {
    /// Direction of a `compare`.
    Comparison { Eq = "EQ", Ne = "NE", Ge = "GE", Gt = "GT", Le = "LE", Lt = "LT", }
}

named! {
    /// How a `compare` orders its operands.
    ComparisonType { Float = "FLOAT", TotalOrder = "TOTALORDER", Signed = "SIGNED", Unsigned = "UNSIGNED", }
}

named! {
    /// Kind of a `fusion`. The kind does not affect the generated code.
    FusionKind { Loop = "kLoop", Input = "kInput", Output = "kOutput", Custom = "kCustom", }
}

named! {
    /// Kind of an `fft`.
    FftType { Fft = "FFT", Ifft = "IFFT", Rfft = "RFFT", Irfft = "IRFFT", }
}

named! {
    /// How `triangular-solve` uses its matrix.
    Transpose { None = "NO_TRANSPOSE", Transpose = "TRANSPOSE", Adjoint = "ADJOINT", }
}

named! {
    /// Distribution of an `rng`.
    RandomDistribution { Uniform = "rng_uniform", Normal = "rng_normal", }
}

named! {
    /// Generator of an `rng-bit-generator`.
    RandomAlgorithm { Default = "rng_default", ThreeFry = "rng_three_fry", Philox = "rng_philox", }
}
