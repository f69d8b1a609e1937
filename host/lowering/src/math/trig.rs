//! Sine, cosine, tangent.
//!
//! The argument is reduced to `x = n π/2 + r`, |r| ≤ π/4, over the whole range of the type.
//!
//! * f32: the reduction, sine and cosine are computed in f64. On a cpu with FMA, for f32 arguments
//!   below 2^40, the code subtracts the nearest multiple of π/2 in two pieces (Cody and Waite). For
//!   all other f32 arguments, 2/π is represented by two pieces of 29 bits and a rest. The products
//!   of the two pieces with a 24-bit `x` are exact. The larger `x` is, the lower is the bit of 2/π
//!   at which the pieces begin. Higher bits of 2/π would only contribute multiples of 4 to the
//!   product (Payne and Hanek). Four sets of pieces cover all exponents, so the formula needs
//!   selects but no loop.
//! * f64: below 2^20 quarter turns, `n π/2` is subtracted in several pieces of π/2, and `r` is a
//!   sum of two numbers (Cody and Waite). For f64 arguments above 2^20 quarter turns, a loop that
//!   runs once computes Payne and Hanek's product in integer arithmetic, with 192 bits of 2/π.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::exp::rounder;
use super::pair::{Pair, fast_two_sum, two_product, two_sum};
use fusebox_core::builder::{IntPredicate, Scalar, Term};

/// Upper bounds of the argument, and the pieces of 2/π for arguments below each bound: two pieces
/// of 29 bits, and a piece of the following 53 bits.
const TWO_OVER_PI_F32: [(f64, [f64; 3]); 3] = [
    (1125899906842624.0, [0.636619770899415, 1.4681663246252086e-09, 2.276010073078396e-18]),
    (7.555786372591432e+22, [2.5682553250749862e-08, 1.6153797803925804e-17, 7.696704864039572e-26]),
    (5.070602400912918e+30, [2.937095537534198e-16, 2.83762200841452e-25, 9.372006544409766e-34]),
];
/// The pieces of 2/π for arguments above the last bound of [`TWO_OVER_PI_F32`].
const TWO_OVER_PI_OF_LARGEST_F32: [f64; 3] = [6.074026479468182e-24, 1.0181664371599596e-32, 1.590011303568902e-41];

/// 2^40. If an f32 is below 2^40, its f64 product with 2/π is the number of quarter turns with an
/// error of at most 1/1000.
const MODERATE_F32: f64 = 1099511627776.0;

/// The difference between π/2 and the f64 constant for π/2.
const REST_OF_HALF_PI: f64 = 6.123233995736766e-17;

/// Bits of 2/π, after 64 zero bits.
const TWO_OVER_PI: [u64; 20] = [
    0x0000_0000_0000_0000,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// The smallest argument of [`reduce_large`], 2^20 quarter turns.
const MODERATE: f64 = 1647099.0;

/// Coefficients of `(sin r / r - 1) / r²` and `(cos r - 1) / r²` as polynomials in r², for f32. The
/// error is 2^-32.
const SIN_F32: [f64; 4] = [-0.1666666716337204, 0.008333379402756691, -0.00019853064441122115, 2.8325100629444933e-06];
const COS_F32: [f64; 4] = [-0.5, 0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-05];
/// Coefficients of `(sin r - r) / r³` and `(cos r - 1 + r²/2) / r⁴` as polynomials in r², for f64.
/// The errors are 2^-58 and 2^-63.
const SIN_F64: [f64; 6] = [
    -0.1666666666666663,
    0.00833333333332184,
    -0.00019841269829358522,
    2.755731353850945e-06,
    -2.5050734388051494e-08,
    1.589543319687034e-10,
];
const COS_F64: [f64; 6] = [
    0.04166666666666658,
    -0.001388888888887121,
    2.4801587287839205e-05,
    -2.755731392768768e-07,
    2.0875671821383748e-09,
    -1.1357273201967004e-11,
];
/// Coefficients of `(tan r - r) / r³` as a polynomial in r², with error 2^-29.
const TAN_F32: [f64; 7] = [
    0.3333335220813751,
    0.13332583010196686,
    0.05406865105032921,
    0.02123861014842987,
    0.010945543646812439,
    -4.6186843974282965e-05,
    0.004441829398274422,
];

/// An argument after its reduction: a number of quarter turns and a remainder.
struct Reduced<'f> {
    /// The number of quarter turns modulo 4, in the two low bits.
    quadrant: Term<'f>,
    r: Pair<'f>,
}

fn reduce(x: Term<'_>) -> Reduced<'_> {
    let magnitude = x.absf();
    let [quadrant, high, low] = reduce_moderate(magnitude);
    let high = magnitude.ge(MODERATE).select(magnitude, high);
    // For large arguments the loop runs one iteration, else none. The code has a loop and not a
    // branch, because LLVM would run both sides of a branch for every lane.
    let [quadrant, high, low] = x.formula().repeat_while(
        [quadrant, high, low],
        |[_, high, _]| high.ge(MODERATE),
        |[_, high, _]| reduce_large(high),
    );
    Reduced { quadrant, r: Pair { high, low } }
}

/// Reduces an f32. Returns the quadrant in the two low bits of an i64, and the rest in f64. For `x`
/// below 2^40 the function has a short chain of dependent operations, because a loop that calls the
/// function waits for the end of the chain in each iteration.
fn reduce_single(x: Term<'_>) -> (Term<'_>, Term<'_>) {
    let (magnitude, wide) = (x.absf(), x.extf(Scalar::F64));
    if !(wide.has_fma() && wide.has_branches()) {
        return reduce_by_pieces(magnitude, wide);
    }
    let shifted = wide.mul_add(FRAC_2_PI, rounder(wide));
    let turns = shifted - rounder(wide);
    let rest = turns.mul_add(-FRAC_PI_2, wide);
    let rest = turns.mul_add(-REST_OF_HALF_PI, rest);
    let is_large = magnitude.ge(MODERATE_F32);
    let by_pieces = || <[Term<'_>; 2]>::from(reduce_by_pieces(magnitude, wide));
    x.formula().branch(is_large, by_pieces, [shifted.to_bits(), rest]).into()
}

/// Reduces an f32. Multiplies the f32 by the pieces of 2/π that its magnitude selects.
fn reduce_by_pieces<'f>(magnitude: Term<'f>, wide: Term<'f>) -> (Term<'f>, Term<'f>) {
    let is_above = TWO_OVER_PI_F32.map(|(bound, _)| magnitude.ge(bound));
    let piece = |i: usize, by: f64| {
        let largest = wide.number(by * TWO_OVER_PI_OF_LARGEST_F32[i]);
        let choices = is_above.iter().zip(TWO_OVER_PI_F32).rev();
        choices.fold(largest, |above, (is_above, (_, pieces))| is_above.select(above, wide.number(by * pieces[i])))
    };
    let in_turns = piece(0, 0.25);
    let turns = wide.mul_add(in_turns, rounder(wide)) - rounder(wide);
    let high = wide * in_turns - turns;
    let middle = wide * piece(1, 1.0);
    let shifted = high.mul_add(4.0, middle) + rounder(wide);
    let rest = high.mul_add(4.0, rounder(wide) - shifted) + middle;
    (shifted.to_bits(), wide.mul_add(piece(2, 1.0), rest) * FRAC_PI_2)
}

/// Reduces an argument below 2^20 quarter turns. With FMA the pieces of π/2 have 53 bits, without
/// FMA 33 bits, so that products are exact.
fn reduce_moderate(magnitude: Term<'_>) -> [Term<'_>; 3] {
    let shifted = magnitude.mul_add(std::f64::consts::FRAC_2_PI, rounder(magnitude));
    let n = shifted - rounder(magnitude);
    if n.has_fma() {
        let first = n.mul_add(-FRAC_PI_2, magnitude);
        let product = two_product(n, n.number(-REST_OF_HALF_PI));
        let second = two_sum(first, product.high);
        let low = n.mul_add(1.4973849048591698e-33, second.low + product.low);
        let r = fast_two_sum(second.high, low);
        return [shifted.to_bits(), r.high, r.low];
    }
    let first = n.mul_add(-1.57079632673412561417e+00, magnitude);
    let second = two_sum(first, n * -6.07710050630396597660e-11);
    let third = two_sum(second.high, n * -2.02226624871116645580e-21);
    let low = n.mul_add(-8.47842766036889956997e-32, second.low + third.low);
    let r = fast_two_sum(third.high, low);
    [shifted.to_bits(), r.high, r.low]
}

/// Computes `m · 2/π` modulo 4, where `m` is the argument's mantissa and 192 bits represent 2/π.
/// The argument's exponent selects the 192 bits of 2/π. The product contains the number of quarter
/// turns and the remainder of the argument.
fn reduce_large(magnitude: Term<'_>) -> [Term<'_>; 3] {
    let bits = magnitude.to_bits();
    let mantissa = (bits & 0x000f_ffff_ffff_ffff_i64) | 0x0010_0000_0000_0000_i64;
    // Index of the first bit of `TWO_OVER_PI` that matters. Infinity and NaN read zeros beyond the
    // table.
    let start = bits.shrui(52_i64) + (64 - 1023 - 54);
    let (word, shift) = (start.shrui(6_i64), start & 63_i64);
    let words: [Term<'_>; 4] = std::array::from_fn(|i| table_word(word, i));
    let window: [Term<'_>; 3] = std::array::from_fn(|i| {
        // Two shifts, because one shift by 64 would be poison.
        words[i].shli(shift) | words[i + 1].shrui(1_i64).shrui(shift ^ 63_i64)
    });
    let (middle_low, middle_high) = mantissa.multiply_wide(window[1]);
    let (_, low_high) = mantissa.multiply_wide(window[2]);
    let middle = middle_low + low_high;
    let carry = middle.cmpi(IntPredicate::Ult, low_high).select(1_i64, middle.integer(0));
    let top = mantissa * window[0] + middle_high + carry;
    let quadrant = top.shrui(62_i64) + (top.shrui(61_i64) & 1_i64);
    // The fraction of a quarter turn, in [-1/2, 1/2). It is first a signed number of 128 bits, then
    // a sign and a magnitude.
    let high = top.shli(2_i64) | middle.shrui(62_i64);
    let low = middle.shli(2_i64);
    let sign = high.shrsi(63_i64);
    let fraction = fraction_to_pair(high ^ sign, low ^ sign);
    let r = fraction.times(Pair::of(magnitude, FRAC_PI_2, REST_OF_HALF_PI));
    let flip = sign & i64::MIN;
    let special = magnitude.lt(f64::INFINITY);
    let high = special.select(r.high.with_flipped(flip), magnitude * 0.0);
    [quadrant, high, r.low.with_flipped(flip)]
}

/// Reads entry `word + i` of [`TWO_OVER_PI`] with a chain of selects. The chain may be long,
/// because kernels rarely execute it.
fn table_word(word: Term<'_>, i: usize) -> Term<'_> {
    let entries = TWO_OVER_PI[i..].iter().enumerate();
    entries.fold(word.integer(0), |rest, (at, &entry)| word.eq(at as i64).select(entry as i64, rest))
}

/// Converts an unsigned fraction of 128 bits to a pair, in exact steps of 32 bits.
fn fraction_to_pair<'f>(high: Term<'f>, low: Term<'f>) -> Pair<'f> {
    let part = |bits: Term<'f>, exponent: i32| {
        let offset = 4503599627370496.0;
        ((bits | 0x4330_0000_0000_0000_i64).to_float() - offset) * 2f64.powi(exponent)
    };
    let mask = 0xffff_ffff_i64;
    let parts =
        [part(high.shrui(32_i64), -32), part(high & mask, -64), part(low.shrui(32_i64), -96), part(low & mask, -128)];
    let tail = two_sum(parts[2], parts[3]);
    let middle = two_sum(parts[1], tail.high);
    let head = two_sum(parts[0], middle.high);
    two_sum(head.high, head.low + (middle.low + tail.low))
}

/// Computes sin r.
fn sin_of_remainder<'f>(r: &Pair<'f>) -> Term<'f> {
    let x = r.high;
    let square = x * x;
    let cube = square * x;
    let tail = square.polynomial(&SIN_F64[1..]);
    let corrected = square * (r.low * 0.5 - cube * tail) - r.low;
    x - (corrected - cube * SIN_F64[0])
}

/// Computes cos r.
fn cos_of_remainder<'f>(r: &Pair<'f>) -> Term<'f> {
    let x = r.high;
    let square = x * x;
    let half = square * 0.5;
    let leading = 1.0 - half;
    let tail = square.polynomial(&COS_F64) * (square * square) - x * r.low;
    leading + (((1.0 - leading) - half) + tail)
}

/// Whether the sine of an angle in this quadrant is the cosine of the rest, up to the sign.
fn is_odd(quadrant: Term<'_>) -> Term<'_> {
    (quadrant & 1_i64).ne(0_i64)
}

/// Returns a mask with the sign bit of the sine in a quadrant.
fn sign_at(quadrant: Term<'_>) -> Term<'_> {
    (quadrant & 2_i64).shli(62_i64)
}

/// Computes the sine of `quadrant · π/2 + r`.
fn sin_at<'f>(quadrant: Term<'f>, r: &Pair<'f>) -> Term<'f> {
    let value = is_odd(quadrant).select(cos_of_remainder(r), sin_of_remainder(r));
    value.with_flipped(sign_at(quadrant))
}

/// Computes the sine of `quadrant · π/2 + rest` as f32. The computation uses f64 and the formula
/// `b (1 + r² p(r²))`, with b = r for a sine and b = 1 for a cosine. The code applies the sign of
/// the sine to b, so that a zero keeps its sign. The two halves of the polynomial `p` are
/// independent, so that the processor can compute them in parallel.
fn sin_at_single<'f>(quadrant: Term<'f>, rest: Term<'f>) -> Term<'f> {
    let (odd, square) = (is_odd(quadrant), rest * rest);
    let base = odd.select(1.0, rest).with_flipped(sign_at(quadrant));
    let half = |at: usize| square.polynomial_by(odd, &COS_F32[at..at + 2], &SIN_F32[at..at + 2]);
    let slope = half(2).mul_add(square * square, half(0)).mul_add(square, square.number(1.0));
    (base * slope).truncf(Scalar::F32)
}

/// Computes sin x. In f64, the code computes sin |x| and applies the sign of x, so that the sine of
/// -0 is -0.
pub fn sin(x: Term<'_>) -> Term<'_> {
    if x.is_f32() {
        let (quadrant, rest) = reduce_single(x);
        return sin_at_single(quadrant, rest);
    }
    let Reduced { quadrant, r } = reduce(x);
    sin_at(quadrant, &r).with_flipped(x.sign_bit())
}

/// Computes cos x as the sine of x plus a quarter turn.
pub fn cos(x: Term<'_>) -> Term<'_> {
    if x.is_f32() {
        let (quadrant, rest) = reduce_single(x);
        return sin_at_single(quadrant + 1_i64, rest);
    }
    let Reduced { quadrant, r } = reduce(x);
    sin_at(quadrant + 1_i64, &r)
}

/// Computes tan x. In f32, tan x is computed as a polynomial, or as -1 divided by the polynomial.
/// In f64, tan x is computed as the sine divided by the cosine.
pub fn tan(x: Term<'_>) -> Term<'_> {
    let value = if x.is_f32() {
        let (quadrant, rest) = reduce_single(x.absf());
        let tangent = tan_of_remainder(rest);
        is_odd(quadrant).select(-1.0 / tangent, tangent)
    } else {
        let Reduced { quadrant, r } = reduce(x);
        let (odd, sin, cos) = (is_odd(quadrant), sin_of_remainder(&r), cos_of_remainder(&r));
        odd.select(-cos, sin) / odd.select(sin, cos)
    };
    value.with_flipped(x.sign_bit())
}

/// Computes tan r in f32. The code multiplies the slope of the tangent by the part of `r` that f32
/// cannot hold, and adds the product.
fn tan_of_remainder(r: Term<'_>) -> Term<'_> {
    let high = r.truncf(Scalar::F32);
    let low = (r - high.extf(Scalar::F64)).truncf(Scalar::F32);
    let square = high * high;
    let tail = square.polynomial(&TAN_F32) * (square * high);
    let slope = (tail + high).mul_add(tail + high, 1.0);
    low.mul_add(slope, tail) + high
}
