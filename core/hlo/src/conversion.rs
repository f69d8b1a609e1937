//! Decides whether one element type can represent every value of another element type.

use super::{ElementType, FloatFormat};

impl ElementType {
    /// Whether every value of `other` is a value of this type, so that a conversion from `other` to
    /// this type loses nothing. Infinities and NaN count as values. The sign of zero is ignored.
    pub fn holds_values_of(self, other: ElementType) -> bool {
        match (other, self) {
            _ if self == other || other == ElementType::Pred => true,
            (_, ElementType::Pred) => false,
            _ if self.is_complex() => self.real_part().holds_values_of(other.real_part()),
            _ if other.is_complex() => false,
            _ if other.is_integer() && self.is_integer() => self.holds_integers_of(other),
            _ => match (FloatFormat::of(other), FloatFormat::of(self)) {
                (Some(from), Some(to)) => to.holds_values_of(from),
                (None, Some(to)) => to.holds_integers_of(other),
                _ => false,
            },
        }
    }

    fn holds_integers_of(self, other: ElementType) -> bool {
        match (other.is_signed_integer(), self.is_signed_integer()) {
            (true, false) => false,
            (false, true) => other.bits() < self.bits(),
            _ => other.bits() <= self.bits(),
        }
    }
}

impl FloatFormat {
    /// Returns the binary exponent of the smallest positive number in this format.
    pub fn smallest_exponent(self) -> i32 {
        let smallest_normal = if self.mantissa_bits > 0 { 1 } else { 0 };
        smallest_normal - self.bias - self.mantissa_bits as i32
    }

    fn largest(self) -> f64 {
        self.decode(self.max_finite_bits())
    }

    fn holds_values_of(self, other: FloatFormat) -> bool {
        self.mantissa_bits >= other.mantissa_bits
            && self.largest() >= other.largest()
            && self.smallest_exponent() <= other.smallest_exponent()
            && (self.signed || !other.signed)
            && (self.has_infinity() || !other.has_infinity())
            && (self.nan_bits().is_some() || other.nan_bits().is_none())
    }

    fn holds_integers_of(self, other: ElementType) -> bool {
        let digits = other.bits() - u32::from(other.is_signed_integer());
        self.signed && digits <= self.mantissa_bits + 1 && self.largest() >= 2f64.powi(digits as i32) - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_what() {
        let holds = |to: &str, from: &str| {
            to.parse::<ElementType>().unwrap().holds_values_of(from.parse::<ElementType>().unwrap())
        };
        for (to, from) in [
            ("f32", "bf16"),
            ("f32", "f16"),
            ("f64", "s32"),
            ("bf16", "u8"),
            ("bf16", "s8"),
            ("s16", "u8"),
            ("c64", "s16"),
            ("c128", "c64"),
            ("f16", "f8e4m3fn"),
            ("f16", "f8e5m2"),
            ("f32", "f8e8m0fnu"),
            ("s8", "pred"),
        ] {
            assert!(holds(to, from), "{to} holds {from}");
            assert!(!holds(from, to), "{from} does not hold {to}");
        }
        for (a, b) in
            [("s8", "u8"), ("bf16", "f16"), ("f32", "s32"), ("c64", "f64"), ("f8e4m3fn", "s8"), ("f8e5m2", "f8e4m3fn")]
        {
            assert!(!holds(a, b) && !holds(b, a), "{a} and {b}");
        }
    }

    /// For each pair of small float types, converts all values of the first type to the second
    /// type. Checks that `holds_values_of` is true exactly if each value survives the conversion.
    #[test]
    fn small_floats_hold_what_survives_the_way_there_and_back() {
        let small: Vec<ElementType> =
            ElementType::ALL.iter().copied().filter(|ty| ty.is_float() && ty.bits() <= 16).collect();
        for &from in &small {
            for &to in &small {
                let (source, target) = (FloatFormat::of(from).unwrap(), FloatFormat::of(to).unwrap());
                let survives = (0..1u64 << from.bits()).all(|bits| {
                    let value = source.decode(bits);
                    let there = target.decode(target.encode(value));
                    there == value || (there.is_nan() && value.is_nan())
                });
                // Zero is not a power of two and is encoded as the smallest power.
                assert_eq!(to.holds_values_of(from), survives, "{to} holds {from}");
            }
        }
    }
}
