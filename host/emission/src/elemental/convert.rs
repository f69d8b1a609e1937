//! Conversions of values between element types.

use fusebox_core::builder::{IntPredicate, Scalar, Term};
use fusebox_core::hlo::ElementType;

use super::float_types::{float_to_float, widen};

/// Converts `x` of type `from` to the nearest value of type `to`.
pub fn convert(from: ElementType, to: ElementType, x: Term<'_>) -> Term<'_> {
    match (from, to) {
        _ if from == to => x,
        _ if from.is_complex() => from_complex(from.real_part(), to, x),
        _ if to.is_complex() => {
            let re = convert(from, to.real_part(), x);
            re.complex(re.number(0.0))
        }
        (_, ElementType::Pred) => is_nonzero(from, x),
        _ if from.is_float() && to.is_float() => float_to_float(to, x),
        _ if from.is_float() => float_to_integer(to, x),
        _ if to.is_float() && from.is_signed_integer() => x.sitofp(Scalar::of_element(to)),
        _ if to.is_float() => x.uitofp(Scalar::of_element(to)),
        _ => integer_to_integer(from, to, x),
    }
}

/// Converts a complex number. If `to` is complex, converts both parts. If `to` is `pred`, tests
/// whether the number is not 0. If `to` is any other type, converts only the real part.
fn from_complex(part: ElementType, to: ElementType, x: Term<'_>) -> Term<'_> {
    let (re, im) = (x.re(), x.im());
    if to.is_complex() {
        let to = to.real_part();
        return convert(part, to, re).complex(convert(part, to, im));
    }
    let value = convert(part, to, re);
    if to == ElementType::Pred { value | is_nonzero(part, im) } else { value }
}

fn is_nonzero(from: ElementType, x: Term<'_>) -> Term<'_> {
    if from.is_float() { widen(x).ne(0.0) } else { x.ne(0_i64) }
}

fn integer_to_integer(from: ElementType, to: ElementType, x: Term<'_>) -> Term<'_> {
    let target = Scalar::of_element(to);
    match from.bits().cmp(&to.bits()) {
        std::cmp::Ordering::Equal => x,
        std::cmp::Ordering::Greater => x.trunci(target),
        std::cmp::Ordering::Less if from.is_signed_integer() => x.extsi(target),
        std::cmp::Ordering::Less => x.extui(target),
    }
}

/// Converts a float to an integer, rounded towards zero. A value out of range becomes the nearest
/// integer of the type, and NaN becomes 0.
fn float_to_integer(to: ElementType, x: Term<'_>) -> Term<'_> {
    let x = widen(x);
    let (bits, signed) = (to.bits(), to.is_signed_integer());
    let (target, work) = (Scalar::of_element(to), Scalar::Int(bits.max(32)));
    // Powers of two and 0 are exact in every float type in which this function computes.
    let (lower, upper) = if signed {
        (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1))
    } else {
        (0.0, 2f64.powi(bits as i32))
    };
    let (above, below) = (x.ge(upper), x.le(lower));
    let inside = x.lt(upper) & x.gt(lower);
    let safe = inside.select(x, x.number(0.0));
    let value = if signed { safe.fptosi(work) } else { safe.fptoui(work) };
    let value = value.trunci(target);
    let (smallest, largest) = if signed { (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)) } else { (0, -1) };
    below.select(smallest, above.select(largest, value))
}

/// Converts to an integer with stochastic rounding: away from zero with a probability equal to the
/// fraction, else towards zero. The random bits decide the direction.
pub fn stochastic<'f>(
    from: ElementType,
    random: ElementType,
    to: ElementType,
    x: Term<'f>,
    bits: Term<'f>,
) -> Result<Term<'f>, String> {
    if !from.is_float() || !to.is_signed_integer() {
        return Err(format!("stochastic-convert from {from} to {to} is not supported; convert to a signed integer"));
    }
    let wide = widen(x);
    let size = wide.absf();
    let whole = size.floor();
    let threshold = (size - whole) * 2f64.powi(random.bits() as i32);
    let up = bits.cmpi(IntPredicate::Ult, float_to_integer(random, threshold));
    let chosen = up.select(whole + 1.0, whole).copysign(wide);
    // NaN is still NaN here and becomes 0.
    Ok(float_to_integer(to, chosen))
}
