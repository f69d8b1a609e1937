//! Arithmetic on doubles with directed roundings. The functions compute with integers, because the
//! processor's arithmetic on doubles rounds to nearest.

use super::format::Rounding;

/// Number of bits of a mantissa, and the exponent of the last bit of subnormal numbers.
const BITS: i32 = 53;
const LEAST: i32 = -1074;

/// A number: the mantissa times two to the power of the exponent. If `is_cut` is true, the exact
/// number has more bits below the mantissa.
#[derive(Clone, Copy, Debug)]
struct Exact {
    is_negative: bool,
    mantissa: u128,
    exponent: i32,
    is_cut: bool,
}

impl Exact {
    /// Returns the exact number that a finite double represents.
    fn of(value: f64) -> Exact {
        let bits = value.to_bits();
        let (field, fraction) = (bits >> 52 & 0x7ff, u128::from(bits & ((1 << 52) - 1)));
        let (mantissa, exponent) = match field {
            0 => (fraction, LEAST),
            field => (fraction | 1 << 52, LEAST + field as i32 - 1),
        };
        Exact { is_negative: bits >> 63 == 1, mantissa, exponent, is_cut: false }
    }

    /// Returns the exponent of the mantissa's highest bit.
    fn top(&self) -> i32 {
        self.exponent + 127 - self.mantissa.leading_zeros() as i32
    }

    /// Shifts the mantissa to the left until its highest bit is at `place`, without a change of the
    /// number. Before the shift, the highest bit must not be above `place`.
    fn raised(mut self, place: i32) -> Exact {
        let up = place - (127 - self.mantissa.leading_zeros() as i32);
        self.mantissa <<= up;
        self.exponent -= up;
        self
    }

    /// Increases the exponent, which may cut off low bits of the mantissa.
    fn with_exponent(mut self, exponent: i32) -> Exact {
        let down = (exponent - self.exponent).cast_unsigned();
        let kept = self.mantissa.checked_shr(down).unwrap_or(0);
        self.is_cut |= self.mantissa.trailing_zeros() < down && self.mantissa != 0;
        Exact { mantissa: kept, exponent, ..self }
    }

    fn product(self, other: Exact) -> Exact {
        let is_negative = self.is_negative != other.is_negative;
        let (mantissa, exponent) = (self.mantissa * other.mantissa, self.exponent + other.exponent);
        Exact { is_negative, mantissa, exponent, is_cut: false }
    }

    /// Returns the sum of numbers that are not cut off. A sum of exactly zero is negative if both
    /// numbers are negative, or if their signs differ and the rounding is downward.
    fn sum(self, other: Exact, rounding: Rounding) -> Exact {
        let is_negative = match (self.is_negative, other.is_negative) {
            (a, b) if a == b => a,
            _ => rounding == Rounding::Down,
        };
        let zero = Exact { is_negative, mantissa: 0, exponent: 0, is_cut: false };
        match (self.mantissa, other.mantissa) {
            (0, 0) => return zero,
            (0, _) => return other,
            (_, 0) => return self,
            _ => {}
        }
        let (large, small) = if self.top() >= other.top() { (self, other) } else { (other, self) };
        // Bits of the small number are cut off only if the numbers are far apart.
        let large = large.raised(125);
        let small = if small.exponent > large.exponent {
            Exact { mantissa: small.mantissa << (small.exponent - large.exponent), exponent: large.exponent, ..small }
        } else {
            small.with_exponent(large.exponent)
        };
        let (a, b) = (large.mantissa, small.mantissa);
        if large.is_negative == small.is_negative {
            return Exact { mantissa: a + b, is_cut: small.is_cut, ..large };
        }
        // The part that was cut off is subtracted, too: the difference is between two integers.
        let difference = a.abs_diff(b) - u128::from(small.is_cut);
        match difference {
            0 if !small.is_cut => zero,
            _ => {
                let is_negative = if a >= b { large.is_negative } else { small.is_negative };
                Exact { is_negative, mantissa: difference, exponent: large.exponent, is_cut: small.is_cut }
            }
        }
    }

    /// Rounds to a double.
    fn rounded(self, rounding: Rounding) -> u64 {
        let sign = u64::from(self.is_negative) << 63;
        if self.mantissa == 0 && !self.is_cut {
            return sign;
        }
        let last = (self.top() - BITS + 1).max(LEAST);
        let kept = if last > self.exponent {
            self.with_exponent(last)
        } else {
            Exact { mantissa: self.mantissa << (self.exponent - last), exponent: last, ..self }
        };
        let goes_away = match rounding {
            Rounding::Up => !self.is_negative,
            Rounding::Down => self.is_negative,
            _ => false,
        };
        let mantissa = kept.mantissa as u64 + u64::from(kept.is_cut && goes_away);
        if mantissa < 1 << 52 {
            return sign | mantissa;
        }
        let field = (last - LEAST + 1) as u64 + (mantissa >> BITS);
        if field >= 0x7ff {
            let infinity = 0x7ff << 52;
            return sign | if goes_away { infinity } else { infinity - 1 };
        }
        sign | field << 52 | (if mantissa >> BITS == 0 { mantissa } else { mantissa >> 1 }) & ((1 << 52) - 1)
    }
}

/// Applies the function `exact` to finite numbers. If a number is infinite or NaN, applies the
/// function `usual`, because no rounding changes the result in this case.
fn of_finite<const N: usize>(
    bits: [u64; N],
    usual: impl FnOnce([f64; N]) -> f64,
    exact: impl FnOnce([f64; N]) -> u64,
) -> u64 {
    let values = bits.map(f64::from_bits);
    if values.iter().all(|value| value.is_finite()) { exact(values) } else { usual(values).to_bits() }
}

/// Adds doubles.
pub fn add_double(a: u64, b: u64, rounding: Rounding) -> u64 {
    let exact = |[a, b]: [f64; 2]| Exact::of(a).sum(Exact::of(b), rounding).rounded(rounding);
    of_finite([a, b], |[a, b]| a + b, exact)
}

/// Multiplies doubles.
pub fn mul_double(a: u64, b: u64, rounding: Rounding) -> u64 {
    let exact = |[a, b]: [f64; 2]| Exact::of(a).product(Exact::of(b)).rounded(rounding);
    of_finite([a, b], |[a, b]| a * b, exact)
}

/// Multiplies and adds doubles with one rounding.
pub fn fma_double(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    let exact = |[a, b, c]: [f64; 3]| Exact::of(a).product(Exact::of(b)).sum(Exact::of(c), rounding).rounded(rounding);
    of_finite([a, b, c], |[a, b, c]| a.mul_add(b, c), exact)
}

/// Divides doubles.
pub fn div_double(a: u64, b: u64, rounding: Rounding) -> u64 {
    of_finite(
        [a, b],
        |[a, b]| a / b,
        |[a, b]| {
            if a == 0.0 || b == 0.0 {
                return (a / b).to_bits();
            }
            let (a, b) = (Exact::of(a).raised(125), Exact::of(b).raised(BITS - 1));
            Exact {
                is_negative: a.is_negative != b.is_negative,
                mantissa: a.mantissa / b.mantissa,
                exponent: a.exponent - b.exponent,
                is_cut: a.mantissa % b.mantissa != 0,
            }
            .rounded(rounding)
        },
    )
}

/// Returns the square root of a double.
pub fn sqrt_double(a: u64, rounding: Rounding) -> u64 {
    of_finite(
        [a],
        |[a]| a.sqrt(),
        |[a]| {
            if a <= 0.0 {
                return a.sqrt().to_bits();
            }
            let even = Exact::of(a).raised(124);
            let even = if even.exponent % 2 == 0 { even } else { Exact::of(a).raised(125) };
            let root = even.mantissa.isqrt();
            let is_cut = root * root != even.mantissa;
            Exact { is_negative: false, mantissa: root, exponent: even.exponent / 2, is_cut }.rounded(rounding)
        },
    )
}
