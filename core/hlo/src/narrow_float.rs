//! Converts the bit patterns of every float type to and from `f64`.

/// The bit layout of a float type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    /// Number of bits of the exponent.
    pub exponent_bits: u32,
    /// Number of bits of the mantissa, without the hidden bit.
    pub mantissa_bits: u32,
    /// The number subtracted from the stored exponent.
    pub bias: i32,
    /// The bit patterns that are not numbers.
    pub specials: Specials,
    /// Whether there is a sign bit.
    pub signed: bool,
}

/// The patterns of a float type that are infinities and NaNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// As in IEEE: if the exponent bits are all ones, the value is infinity (mantissa zero) or NaN.
    Ieee,
    /// No infinities. If exponent and mantissa bits are all ones, the value is NaN (`fn`).
    NanAllOnes,
    /// No infinities and no negative zero. The pattern that would be negative zero is NaN (`fnuz`).
    NanNegativeZero,
    /// Every pattern is a finite number.
    None,
}

impl FloatFormat {
    /// Width in bits.
    pub fn bits(self) -> u32 {
        self.exponent_bits + self.mantissa_bits + u32::from(self.signed)
    }

    fn mantissa_mask(self) -> u64 {
        (1 << self.mantissa_bits) - 1
    }

    fn exponent_mask(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    /// Returns a pattern with only the sign bit set; 0 if the type has no sign bit.
    pub fn sign_bit(self) -> u64 {
        if self.signed { 1 << (self.exponent_bits + self.mantissa_bits) } else { 0 }
    }

    /// Returns the pattern whose exponent and mantissa bits are all ones.
    fn all_ones(self) -> u64 {
        (1 << (self.exponent_bits + self.mantissa_bits)) - 1
    }

    /// The pattern of the largest finite magnitude.
    pub fn max_finite_bits(self) -> u64 {
        match self.specials {
            Specials::Ieee => self.infinity_bits() - 1,
            Specials::NanAllOnes => self.all_ones() - 1,
            Specials::NanNegativeZero | Specials::None => self.all_ones(),
        }
    }

    /// Returns the pattern whose exponent bits are all ones and whose mantissa is zero. This
    /// pattern is infinity if the type has infinities.
    pub fn infinity_bits(self) -> u64 {
        self.exponent_mask() << self.mantissa_bits
    }

    /// Whether the type has infinities.
    pub fn has_infinity(self) -> bool {
        self.specials == Specials::Ieee
    }

    /// Returns the pattern of the default NaN, if the type has NaNs. The default NaN is quiet. The
    /// default NaN is positive if the type has NaNs of both signs.
    pub fn nan_bits(self) -> Option<u64> {
        match self.specials {
            Specials::Ieee => Some(self.infinity_bits() | (1 << (self.mantissa_bits - 1))),
            Specials::NanAllOnes => Some(self.all_ones()),
            Specials::NanNegativeZero => Some(self.sign_bit()),
            Specials::None => None,
        }
    }

    /// Whether the pattern is a NaN.
    pub fn is_nan(self, bits: u64) -> bool {
        let magnitude = bits & self.all_ones();
        match self.specials {
            Specials::Ieee => magnitude > self.infinity_bits(),
            Specials::NanAllOnes => magnitude == self.all_ones(),
            Specials::NanNegativeZero => bits == self.sign_bit(),
            Specials::None => false,
        }
    }

    /// Returns the exact value of a pattern. NaN becomes NaN, with the same sign if the type has
    /// NaNs of both signs.
    pub fn decode(self, bits: u64) -> f64 {
        let sign = if bits & self.sign_bit() != 0 { -1.0 } else { 1.0 };
        if self.is_nan(bits) {
            return if self.specials == Specials::NanNegativeZero { f64::NAN } else { f64::NAN.copysign(sign) };
        }
        let magnitude = bits & self.all_ones();
        if self.has_infinity() && magnitude == self.infinity_bits() {
            return sign * f64::INFINITY;
        }
        if self.mantissa_bits == 52 {
            return f64::from_bits(bits);
        }
        let mantissa = magnitude & self.mantissa_mask();
        let exponent = (magnitude >> self.mantissa_bits) as i32;
        let scale = |power: i32| 2f64.powi(power);
        // f8e8m0fnu has neither zero nor subnormals. The exponent 0 means 2^-127.
        if exponent == 0 && self.mantissa_bits > 0 {
            return sign * mantissa as f64 * scale(1 - self.bias - self.mantissa_bits as i32);
        }
        let significand = (mantissa | (1 << self.mantissa_bits)) as f64;
        sign * significand * scale(exponent - self.bias) / scale(self.mantissa_bits as i32)
    }

    /// Returns the pattern nearest to a value, ties to even. Values that are too large become
    /// infinity. In types without infinities, values that are too large become NaN. In types
    /// without infinities and NaN, values that are too large become the largest number. NaN becomes
    /// the default NaN, with the same sign if the type has NaNs of both signs. In types without
    /// NaN, NaN becomes negative zero.
    pub fn encode(self, value: f64) -> u64 {
        if self.mantissa_bits == 52 {
            return value.to_bits();
        }
        let sign = if value.is_sign_negative() { self.sign_bit() } else { 0 };
        if value.is_nan() {
            return match self.specials {
                Specials::None => self.sign_bit(),
                Specials::NanNegativeZero => self.sign_bit(),
                _ => self.nan_bits().unwrap_or(0) | sign,
            };
        }
        if !self.signed && value <= 0.0 {
            // f8e8m0fnu: zero rounds to the smallest power, and negative numbers become NaN.
            return if value == 0.0 { 0 } else { self.all_ones() };
        }
        let magnitude = self.encode_magnitude(value.abs());
        match self.specials {
            Specials::Ieee => sign | magnitude.min(self.infinity_bits()),
            Specials::NanAllOnes => sign | magnitude.min(self.all_ones()),
            Specials::NanNegativeZero if magnitude > self.all_ones() => self.sign_bit(),
            Specials::NanNegativeZero if magnitude == 0 => 0,
            Specials::NanNegativeZero => sign | magnitude,
            Specials::None => sign | magnitude.min(self.all_ones()),
        }
    }

    /// Returns the pattern of the rounded value, and ignores that some patterns are infinities or
    /// NaNs. The result may exceed the pattern whose exponent and mantissa bits are all ones.
    fn encode_magnitude(self, value: f64) -> u64 {
        if value.is_infinite() {
            return u64::MAX >> 1;
        }
        let bits = value.to_bits();
        let raw_exponent = (bits >> 52) as i32;
        // Subnormals of `f64` are less than half of the smallest number of every other type, so
        // they become zero.
        if raw_exponent == 0 {
            return 0;
        }
        let exponent = raw_exponent - 1023 + self.bias;
        let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
        let smallest_normal = i32::from(self.mantissa_bits > 0);
        // The significand of a subnormal result is shifted further right, so that the hidden bit
        // becomes an ordinary bit.
        let deficit = (smallest_normal - exponent).max(0) as u32;
        let shift = 52 - self.mantissa_bits + deficit;
        if shift > 54 {
            return 0;
        }
        let kept = significand >> shift;
        let dropped = significand & ((1 << shift) - 1);
        let half = 1u64 << (shift - 1);
        let rounded = kept + u64::from(dropped > half || (dropped == half && kept & 1 == 1));
        if self.mantissa_bits == 0 {
            return self.encode_power(exponent, dropped, deficit);
        }
        if deficit > 0 { rounded } else { rounded + (((exponent - 1) as u64) << self.mantissa_bits) }
    }

    /// Rounds a value to a type without mantissa bits. A tie goes to the even exponent.
    fn encode_power(self, exponent: i32, dropped: u64, deficit: u32) -> u64 {
        if deficit > 0 {
            return 0;
        }
        let half = 1u64 << 51;
        let up = dropped > half || (dropped == half && exponent & 1 == 1);
        exponent as u64 + u64::from(up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType;

    #[test]
    fn every_pattern_of_the_small_types_survives() {
        for &element_type in ElementType::ALL {
            let Some(format) = FloatFormat::of(element_type) else { continue };
            if element_type.bits() > 16 {
                continue;
            }
            for bits in 0..1u64 << element_type.bits() {
                let value = format.decode(bits);
                let back = format.encode(value);
                assert!(back == bits || (value.is_nan() && format.is_nan(back)), "{element_type} {bits:#x} {value}");
            }
        }
    }

    #[test]
    fn halves_agree_with_the_half_crate() {
        let format = FloatFormat::of(ElementType::F16).unwrap();
        let brain = FloatFormat::of(ElementType::BF16).unwrap();
        let mut value = 1e-9f64;
        while value < 1e6 {
            assert_eq!(format.encode(value), u64::from(half::f16::from_f64(value).to_bits()), "{value}");
            assert_eq!(brain.encode(-value), u64::from(half::bf16::from_f64(-value).to_bits()), "{value}");
            value *= 1.0137;
        }
    }

    #[test]
    fn overflow_goes_where_the_type_says() {
        let encode = |element_type, value| FloatFormat::of(element_type).unwrap().encode(value);
        assert_eq!(encode(ElementType::F8E4M3FN, 448.0), 0x7e);
        assert_eq!(encode(ElementType::F8E4M3FN, 464.0), 0x7e);
        assert_eq!(encode(ElementType::F8E4M3FN, 465.0), 0x7f);
        assert_eq!(encode(ElementType::F8E5M2, 1e9), 0x7c);
        assert_eq!(encode(ElementType::F8E4M3FNUZ, 1e9), 0x80);
        assert_eq!(encode(ElementType::F8E4M3FNUZ, -0.0), 0);
        assert_eq!(encode(ElementType::F4E2M1FN, 1e9), 7);
        assert_eq!(encode(ElementType::F8E8M0FNU, 1.5), 128);
        assert_eq!(encode(ElementType::F8E8M0FNU, 3.0), 128);
        assert_eq!(encode(ElementType::F8E8M0FNU, -1.0), 0xff);
    }
}
