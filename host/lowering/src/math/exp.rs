//! Exponentials.
//!
//! The argument is split into `x = n ln 2 + r`, where `n` is the integer nearest to `x / ln 2`.
//! Adding 1.5·2^(p-1) to `x / ln 2`, where p is the number of significant bits of the type, leaves
//! `n` in the low bits of the sum. No float is converted to an integer, because the conversion of a
//! NaN is poison in LLVM. `ln 2` is represented as `hi + lo`. `hi` has trailing zero bits, so that
//! `n · hi` is exact with or without FMA (Cody and Waite). `e^r` is computed by a minimax
//! polynomial.
//!
//! The power `2^n` is written as the product of two factors, so that results overflow to infinity
//! and underflow to subnormals correctly. The second factor of `2^n` is one of two constants, which
//! the sign of `x` selects so that the first factor is a normal number. If the target flushes
//! subnormal f32 to zero, the code adds `n` to the exponent bits of `e^r` instead of multiplying by
//! `2^n`. If a result underflows to zero, the code selects the constant zero. On processors that
//! do not flush subnormals, a product that underflows takes a hundred times as long as other
//! products, and a softmax with a mask would compute many products that underflow. So for such
//! processors, the code also selects an argument for which no product underflows.

use fusebox_core::builder::{IntPredicate, Term};

/// Coefficients of `(e^r - 1 - r) / r²` on |r| ≤ ln 2 / 2, for [`exp`] in f32. The error of e^r is
/// 2^-28.
const EXP_TAIL_F32: [f64; 5] =
    [0.5, 0.16666509211063385, 0.041666582226753235, 0.008370029740035534, 0.0013921653153374791];
/// Coefficients of `(e^r - 1 - r) / r²` for [`expm1`] in f32. The error of e^r - 1 is 2^-31.
const EXPM1_TAIL_F32: [f64; 6] = [
    0.5,
    0.1666666716337204,
    0.041666481643915176,
    0.008333208039402962,
    0.0013933564769104123,
    0.00019944245286751539,
];
/// Coefficients of `(e^r - 1 - r) / r²` for [`exp`] and [`expm1`] in f64. The error of e^r - 1 is
/// 2^-61.
const EXPM1_TAIL_F64: [f64; 11] = [
    0.5,
    0.16666666666666677,
    0.04166666666666669,
    0.008333333333321306,
    0.001388888888886865,
    0.00019841269887161975,
    2.4801587358559796e-05,
    2.7557242988690355e-06,
    2.755724233420795e-07,
    2.5109515832889048e-08,
    2.092483530451071e-09,
];
/// Coefficients of `(2^r - 1) / r` on |r| ≤ 1/2.
const EXP2_F32: [f64; 6] = [
    0.6931471824645996,
    0.24022650718688965,
    0.05550359562039375,
    0.009618062525987625,
    0.0013390989042818546,
    0.00015462884039152414,
];
const EXP2_F64: [f64; 12] = [
    0.6931471805599453,
    0.24022650695910072,
    0.0555041086648217,
    0.009618129107628496,
    0.0013333558146390418,
    0.00015403530393341133,
    1.5252733856256139e-05,
    1.3215486833044318e-06,
    1.0178051200962443e-07,
    7.054888251010767e-09,
    4.456674996686348e-10,
    2.574181348282624e-11,
];

/// ln 2 as a sum of two numbers. The first number has 10 significant bits.
pub(super) const LN_2_HIGH_F32: f64 = 0.693359375;
pub(super) const LN_2_LOW_F32: f64 = -2.12194440e-4;

/// Returns 1.5·2^(p-1). Adding 1.5·2^(p-1) to a float leaves the nearest integer in the low bits of
/// the sum.
pub(super) fn rounder(x: Term<'_>) -> f64 {
    x.choose(12582912.0, 6755399441055744.0)
}

/// A number `x`, split into `n ln 2 + r`.
pub(super) struct Reduced<'f> {
    /// The sum 1.5·2^(p-1) + n.
    pub shifted: Term<'f>,
    pub r: Term<'f>,
}

/// Splits `x` into `n ln 2 + r`. |x| must be at most about 700.
pub(super) fn reduce(x: Term<'_>) -> Reduced<'_> {
    reduce_onto(x, x.number(rounder(x)))
}

/// Splits `x` into `n ln 2 + r`. `rounder` is the result of the function [`rounder`] plus an
/// integer `c`. The field `shifted` of the returned value contains `n + c`.
fn reduce_onto<'f>(x: Term<'f>, rounder: Term<'f>) -> Reduced<'f> {
    let shifted = x.mul_add(std::f64::consts::LOG2_E, rounder);
    let n = shifted - rounder;
    let high = x.choose(LN_2_HIGH_F32, 6.93147180369123816490e-01);
    let low = x.choose(LN_2_LOW_F32, 1.90821492927058770002e-10);
    Reduced { shifted, r: n.mul_add(-low, n.mul_add(-high, x)) }
}

/// Computes 2^n for the `n` in the low bits of `bits`. 2^n must be a normal number.
pub(super) fn power_of_two(bits: Term<'_>) -> Term<'_> {
    let one = bits.choose(0x3f80_0000_i64, 0x3ff0_0000_0000_0000);
    (bits.shli(bits.choose(23_i64, 52)) + one).to_float()
}

/// Computes `x · 2^n` with one rounding, for |n| up to twice the range of exponents.
pub(super) fn scale<'f>(x: Term<'f>, shifted: Term<'f>) -> Term<'f> {
    let bits = shifted.to_bits();
    let half = bits.shrui(1_i64);
    x * power_of_two(half) * power_of_two(bits - half)
}

/// The two factors of 2^n: `2^(n + c)` and `2^-c`, with an integer `c`. The field `rounder`
/// includes `c`.
struct TwoFactors<'f> {
    rounder: Term<'f>,
    second: Term<'f>,
}

impl<'f> TwoFactors<'f> {
    /// Chooses the factors by the sign of `x`. The product of the two factors covers powers from
    /// half the smallest positive number to twice the largest number.
    fn by_sign(x: Term<'f>) -> TwoFactors<'f> {
        let negative = x.lt(0.0);
        let raised = x.choose(25, 64);
        let rounder = negative.select(rounder(x) + f64::from(raised), x.number(rounder(x) - 1.0));
        TwoFactors { rounder, second: negative.select(2f64.powi(-raised), x.number(2.0)) }
    }
}

/// Multiplies `x`, a number between 1/2 and 2, by 2^n for the `n` in the low bits of `shifted`. The
/// code adds `n` to the exponent bits of `x`. If `n` is 128, the sum can exceed the bits of
/// infinity; the code then replaces the sum by the bits of infinity. For `n` below -126 the result
/// is undefined. The result is NaN if `argument` is NaN.
fn scale_bits<'f>(x: Term<'f>, shifted: Term<'f>, argument: Term<'f>) -> Term<'f> {
    let bits = x.to_bits() + shifted.to_bits().shli(23_i64);
    let infinity = bits.integer(0x7f80_0000);
    let bounded = bits.cmpi(IntPredicate::Sgt, infinity).select(infinity, bits);
    argument.mul_add(0.0, bounded.to_float())
}

/// Whether [`scale_bits`] computes exponentials of `x`. [`scale_bits`] does not handle f64, because
/// AVX2 has no instruction for the minimum of 64-bit integers.
fn scales_bits(x: Term<'_>) -> bool {
    x.is_f32() && x.has_flushing() && x.has_fma()
}

pub fn exp(x: Term<'_>) -> Term<'_> {
    if scales_bits(x) {
        // The least f32 whose exponential is a normal number.
        let counts = x.not_below(f64::from(-87.336_54_f32));
        let x = x.at_most(89.0);
        let Reduced { shifted, r } = reduce(x);
        let result = r.polynomial(&EXP_TAIL_F32).mul_add(r, 1.0).mul_add(r, 1.0);
        return counts.select(scale_bits(result, shifted, x), x.number(0.0));
    }
    let counts = x.not_below(x.choose(-104.0, -746.0));
    let power = TwoFactors::by_sign(x);
    let x = counts.select(x.at_most(x.choose(89.0, 710.0)), x.number(0.0));
    let Reduced { shifted, r } = reduce_onto(x, power.rounder);
    let tail = r.polynomial(x.choose(&EXP_TAIL_F32[..], &EXPM1_TAIL_F64));
    let result = tail.mul_add(r, 1.0).mul_add(r, 1.0) * power_of_two(shifted.to_bits()) * power.second;
    counts.select(result, x.number(0.0))
}

pub fn exp2(x: Term<'_>) -> Term<'_> {
    if scales_bits(x) {
        let counts = x.not_below(-126.0);
        let x = x.at_most(128.0);
        let shifted = x + rounder(x);
        let result = exp2_of_remainder(x - (shifted - rounder(x)));
        return counts.select(scale_bits(result, shifted, x), x.number(0.0));
    }
    let counts = x.not_below(x.choose(-150.0, -1075.0));
    let power = TwoFactors::by_sign(x);
    let x = counts.select(x.at_most(x.choose(129.0, 1025.0)), x.number(0.0));
    let shifted = x + power.rounder;
    let r = x - (shifted - power.rounder);
    let result = exp2_of_remainder(r) * power_of_two(shifted.to_bits()) * power.second;
    counts.select(result, x.number(0.0))
}

/// Computes 2^r for |r| ≤ 1/2.
pub(super) fn exp2_of_remainder(r: Term<'_>) -> Term<'_> {
    r.polynomial(r.choose(&EXP2_F32[..], &EXP2_F64)).mul_add(r, 1.0)
}

/// Computes `e^r - 1`, where `r` is the remainder that [`reduce`] returns.
pub(super) fn expm1_of_remainder(r: Term<'_>) -> Term<'_> {
    r.polynomial(r.choose(&EXPM1_TAIL_F32[..], &EXPM1_TAIL_F64)).mul_add(r * r, r)
}

/// Computes e^x - 1 for x in about ±40 (f32) or ±700 (f64). The result is accurate for tiny x,
/// except for the sign of zero.
pub(super) fn expm1_moderate(x: Term<'_>) -> Term<'_> {
    let Reduced { shifted, r } = reduce(x);
    let power = power_of_two(shifted.to_bits());
    expm1_of_remainder(r).mul_add(power, power - 1.0)
}

/// Computes e^x - 1 = 2^n (e^r - 1) + (2^n - 1). Computes half of the result first, because 2^n may
/// overflow although the result is finite.
pub fn expm1(x: Term<'_>) -> Term<'_> {
    let clamped = x.at_most(x.choose(89.0, 710.0)).at_least(x.choose(-18.0, -38.0));
    let Reduced { shifted, r } = reduce(clamped);
    let half_power = power_of_two((shifted - 1.0).to_bits());
    let result = expm1_of_remainder(r).mul_add(half_power, half_power - 0.5) * 2.0;
    x.absf().lt(x.choose(2f64.powi(-26), 2f64.powi(-55))).select(x, result)
}
