//! Complex numbers: dispatch, and the operations that are more than formulas on parts.
//!
//! Everything but sums, products and exponentials is computed on `f64` parts, also for `c64`: intermediate
//! values then neither overflow nor underflow, and cancellation costs no digits that the result has.

use fusebox_core::builder::{FloatPredicate, FunctionBuilder, OpKind, Scalar, Value};
use fusebox_core::hlo::{BinaryOp, ElementType, UnaryOp};

use super::{complex_functions as functions, complex_inverse as inverse};

/// A complex number by its parts, both of the same float type.
#[derive(Clone, Copy)]
pub struct Parts {
    pub re: Value,
    pub im: Value,
}

/// The parts as they are.
fn parts(b: &mut FunctionBuilder, x: Value) -> Parts {
    Parts { re: b.re(x), im: b.im(x) }
}

/// The parts as `f64`.
fn wide_parts(b: &mut FunctionBuilder, ty: ElementType, x: Value) -> Parts {
    let x = parts(b, x);
    if ty == ElementType::C128 {
        return x;
    }
    Parts { re: b.extf(x.re, Scalar::F64), im: b.extf(x.im, Scalar::F64) }
}

fn rounded(b: &mut FunctionBuilder, ty: ElementType, x: Value) -> Value {
    if ty == ElementType::C128 { x } else { b.truncf(x, Scalar::F32) }
}

/// The operation on a complex value of type `ty`.
pub fn unary(b: &mut FunctionBuilder, op: UnaryOp, ty: ElementType, x: Value) -> Result<Value, String> {
    match op {
        UnaryOp::Real => return Ok(b.re(x)),
        UnaryOp::Imag => return Ok(b.im(x)),
        UnaryOp::Negate => {
            let x = parts(b, x);
            let (re, im) = (b.negf(x.re), b.negf(x.im));
            return Ok(b.complex(re, im));
        }
        UnaryOp::Abs => {
            let x = wide_parts(b, ty, x);
            let size = if ty == ElementType::C64 { plain_magnitude(b, x) } else { magnitude(b, x) };
            return Ok(rounded(b, ty, size));
        }
        UnaryOp::Exponential => {
            let x = parts(b, x);
            let power = functions::exp(b, x);
            return Ok(b.complex(power.re, power.im));
        }
        UnaryOp::IsFinite => return Err("is-finite is not defined on complex numbers".into()),
        _ => {}
    }
    let x = wide_parts(b, ty, x);
    let result = match op {
        UnaryOp::Sign => sign(b, x),
        UnaryOp::ExponentialMinusOne => functions::expm1(b, x),
        UnaryOp::Log => functions::log(b, x),
        UnaryOp::LogPlusOne => functions::log1p(b, x),
        UnaryOp::Sqrt => functions::sqrt(b, x),
        UnaryOp::Rsqrt => {
            let root = functions::sqrt(b, x);
            let one = constant(b, 1.0);
            divide(b, one, root)
        }
        UnaryOp::Logistic => logistic(b, x),
        UnaryOp::Sine => functions::sin(b, x),
        UnaryOp::Cosine => functions::cos(b, x),
        UnaryOp::Tan => functions::tan(b, x),
        UnaryOp::Sinh => functions::sinh(b, x),
        UnaryOp::Cosh => functions::cosh(b, x),
        UnaryOp::Tanh => functions::tanh(b, x),
        UnaryOp::Acos => inverse::acos(b, x),
        UnaryOp::Acosh => inverse::acosh(b, x),
        UnaryOp::Asin => inverse::asin(b, x),
        UnaryOp::Asinh => inverse::asinh(b, x),
        UnaryOp::Atanh => inverse::atanh(b, x),
        UnaryOp::Cbrt => inverse::cbrt(b, x),
        _ => return Err(format!("{} is not supported on complex numbers", op.opcode())),
    };
    Ok(joined(b, ty, result))
}

/// The operation on two complex values of type `ty`.
pub fn binary(b: &mut FunctionBuilder, op: BinaryOp, ty: ElementType, x: Value, y: Value) -> Result<Value, String> {
    match op {
        BinaryOp::Add | BinaryOp::Subtract => {
            let (x, y) = (parts(b, x), parts(b, y));
            let name = if op == BinaryOp::Add { OpKind::AddF } else { OpKind::SubF };
            let (re, im) = (b.float_binary(name, x.re, y.re), b.float_binary(name, x.im, y.im));
            Ok(b.complex(re, im))
        }
        BinaryOp::Multiply => {
            let (x, y) = (parts(b, x), parts(b, y));
            let product = multiply(b, x, y);
            Ok(b.complex(product.re, product.im))
        }
        BinaryOp::Divide if ty == ElementType::C64 => {
            let (wide_x, wide_y) = (wide_parts(b, ty, x), wide_parts(b, ty, y));
            let quotient = plain_quotient(b, wide_x, wide_y);
            let quotient = Parts { re: rounded(b, ty, quotient.re), im: rounded(b, ty, quotient.im) };
            let (x, y) = (parts(b, x), parts(b, y));
            let quotient = recovered_quotient(b, x, y, quotient);
            Ok(b.complex(quotient.re, quotient.im))
        }
        BinaryOp::Divide | BinaryOp::Power | BinaryOp::Atan2 => {
            let (x, y) = (wide_parts(b, ty, x), wide_parts(b, ty, y));
            let result = match op {
                BinaryOp::Divide => divide(b, x, y),
                BinaryOp::Power => functions::pow(b, x, y),
                _ => functions::atan2(b, x, y),
            };
            Ok(joined(b, ty, result))
        }
        BinaryOp::Maximum | BinaryOp::Minimum => {
            let direction = match op {
                BinaryOp::Maximum => fusebox_core::hlo::Comparison::Ge,
                _ => fusebox_core::hlo::Comparison::Le,
            };
            let first = super::compare::compare(b, direction, None, ty, x, y)?;
            Ok(b.select(first, x, y))
        }
        _ => Err(format!("{} is not defined on complex numbers", op.opcode())),
    }
}

fn joined(b: &mut FunctionBuilder, ty: ElementType, x: Parts) -> Value {
    let (re, im) = (rounded(b, ty, x.re), rounded(b, ty, x.im));
    b.complex(re, im)
}

/// A real number.
pub fn constant(b: &mut FunctionBuilder, re: f64) -> Parts {
    Parts { re: b.float(re, Scalar::F64), im: b.float(0.0, Scalar::F64) }
}

/// One of two numbers.
pub fn choose(b: &mut FunctionBuilder, condition: Value, x: Parts, y: Parts) -> Parts {
    Parts { re: b.select(condition, x.re, y.re), im: b.select(condition, x.im, y.im) }
}

/// A number of the type of another value.
pub fn real_like(b: &mut FunctionBuilder, like: Value, value: f64) -> Value {
    let scalar = b.type_of(like).element();
    b.float(value, scalar)
}

/// Whether both parts are 0.
pub fn is_zero(b: &mut FunctionBuilder, x: Parts) -> Value {
    let zero = real_like(b, x.re, 0.0);
    let (re, im) = (b.cmpf(FloatPredicate::Oeq, x.re, zero), b.cmpf(FloatPredicate::Oeq, x.im, zero));
    b.andi(re, im)
}

/// Whether a real number is infinite.
pub fn is_infinite(b: &mut FunctionBuilder, x: Value) -> Value {
    let (size, infinity) = (b.float_unary(OpKind::AbsF, x), real_like(b, x, f64::INFINITY));
    b.cmpf(FloatPredicate::Oeq, size, infinity)
}

/// The larger and the smaller of the parts' sizes.
pub fn sizes(b: &mut FunctionBuilder, x: Parts) -> (Value, Value) {
    let (re, im) = (b.float_unary(OpKind::AbsF, x.re), b.float_unary(OpKind::AbsF, x.im));
    (b.maximumf(re, im), b.minimumf(re, im))
}

/// `|x|` of parts whose squares neither overflow nor underflow. An infinite part makes it infinite, whatever
/// the other one is.
fn plain_magnitude(b: &mut FunctionBuilder, x: Parts) -> Value {
    let (re, im) = (b.mulf(x.re, x.re), b.mulf(x.im, x.im));
    let sum = b.addf(re, im);
    let size = b.float_unary(OpKind::Sqrt, sum);
    let infinite = any_infinite(b, x);
    let infinity = b.float(f64::INFINITY, Scalar::F64);
    b.select(infinite, infinity, size)
}

/// `|x|`, scaled by the larger part. An infinite part makes it infinite, whatever the other one is.
pub fn magnitude(b: &mut FunctionBuilder, x: Parts) -> Value {
    let (zero, one) = (b.float(0.0, Scalar::F64), b.float(1.0, Scalar::F64));
    let infinity = b.float(f64::INFINITY, Scalar::F64);
    let (large, small) = sizes(b, x);
    let no_size = b.cmpf(FloatPredicate::Oeq, large, zero);
    let divisor = b.select(no_size, one, large);
    let ratio = b.divf(small, divisor);
    let square = b.mulf(ratio, ratio);
    let sum = b.addf(one, square);
    let root = b.float_unary(OpKind::Sqrt, sum);
    let size = b.mulf(large, root);
    let infinite = any_infinite(b, x);
    b.select(infinite, infinity, size)
}

fn sign(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let size = magnitude(b, x);
    let quotient = Parts { re: b.divf(x.re, size), im: b.divf(x.im, size) };
    let zero = is_zero(b, x);
    choose(b, zero, x, quotient)
}

fn logistic(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let negated = Parts { re: b.negf(x.re), im: b.negf(x.im) };
    let e = functions::exp(b, negated);
    let one = constant(b, 1.0);
    let divisor = Parts { re: b.addf(one.re, e.re), im: e.im };
    divide(b, one, divisor)
}

/// `(ac - bd) + (ad + bc)i` in the parts' own type.
pub fn multiply(b: &mut FunctionBuilder, x: Parts, y: Parts) -> Parts {
    let (ac, bd) = (b.mulf(x.re, y.re), b.mulf(x.im, y.im));
    let (ad, bc) = (b.mulf(x.re, y.im), b.mulf(x.im, y.re));
    Parts { re: b.subf(ac, bd), im: b.addf(ad, bc) }
}

/// `x / y`, with the divisor scaled to a size of about 1. Where that gives NaN for both parts though an
/// operand is 0 or infinite, the result is the one that C99's annex G gives.
pub fn divide(b: &mut FunctionBuilder, x: Parts, y: Parts) -> Parts {
    let (zero, one) = (b.float(0.0, Scalar::F64), b.float(1.0, Scalar::F64));
    let (scale, _) = sizes(b, y);
    let usable = {
        let infinity = b.float(f64::INFINITY, Scalar::F64);
        let (above, below) = (b.cmpf(FloatPredicate::Ogt, scale, zero), b.cmpf(FloatPredicate::Olt, scale, infinity));
        b.andi(above, below)
    };
    let scale = b.select(usable, scale, one);
    let (c, d) = (b.divf(y.re, scale), b.divf(y.im, scale));
    let Parts { re, im } = plain_quotient(b, x, Parts { re: c, im: d });
    let quotient = Parts { re: b.divf(re, scale), im: b.divf(im, scale) };
    recovered_quotient(b, x, y, quotient)
}

/// `x / y` where the parts' squares neither overflow nor underflow.
fn plain_quotient(b: &mut FunctionBuilder, x: Parts, y: Parts) -> Parts {
    let (cc, dd) = (b.mulf(y.re, y.re), b.mulf(y.im, y.im));
    let size = b.addf(cc, dd);
    let (ac, bd) = (b.mulf(x.re, y.re), b.mulf(x.im, y.im));
    let (bc, ad) = (b.mulf(x.im, y.re), b.mulf(x.re, y.im));
    let (re, im) = (b.addf(ac, bd), b.subf(bc, ad));
    Parts { re: b.divf(re, size), im: b.divf(im, size) }
}

fn recovered_quotient(b: &mut FunctionBuilder, x: Parts, y: Parts, quotient: Parts) -> Parts {
    let (zero, infinity) = (real_like(b, x.re, 0.0), real_like(b, x.re, f64::INFINITY));
    let both_nan = {
        let re = b.cmpf(FloatPredicate::Uno, quotient.re, quotient.re);
        let im = b.cmpf(FloatPredicate::Uno, quotient.im, quotient.im);
        b.andi(re, im)
    };
    // A number over 0: infinite, with the signs of the parts.
    let by_zero = is_zero(b, y);
    let signed = b.float_binary(OpKind::CopySign, infinity, y.re);
    let over_zero = Parts { re: b.mulf(signed, x.re), im: b.mulf(signed, x.im) };
    // Infinite over finite, finite over infinite: only signs and infinities count.
    let (x_infinite, y_infinite) = (any_infinite(b, x), any_infinite(b, y));
    let (x_unit, y_unit) = (infinite_parts(b, x), infinite_parts(b, y));
    let large = conjugate_product(b, x_unit, y, infinity);
    let small = conjugate_product(b, x, y_unit, zero);
    let both_infinite = b.andi(x_infinite, y_infinite);
    let result = choose(b, y_infinite, small, quotient);
    let result = choose(b, x_infinite, large, result);
    let result = choose(b, both_infinite, quotient, result);
    let result = choose(b, by_zero, over_zero, result);
    choose(b, both_nan, result, quotient)
}

fn any_infinite(b: &mut FunctionBuilder, x: Parts) -> Value {
    let (re, im) = (is_infinite(b, x.re), is_infinite(b, x.im));
    b.ori(re, im)
}

/// 1 for infinite parts, 0 for others, with their signs.
fn infinite_parts(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let (zero, one) = (real_like(b, x.re, 0.0), real_like(b, x.re, 1.0));
    let mut unit = |part| {
        let infinite = is_infinite(b, part);
        let size = b.select(infinite, one, zero);
        b.float_binary(OpKind::CopySign, size, part)
    };
    Parts { re: unit(x.re), im: unit(x.im) }
}

/// `factor · x · conj(y)`
fn conjugate_product(b: &mut FunctionBuilder, x: Parts, y: Parts, factor: Value) -> Parts {
    let (ac, bd, bc, ad) = (b.mulf(x.re, y.re), b.mulf(x.im, y.im), b.mulf(x.im, y.re), b.mulf(x.re, y.im));
    let (re, im) = (b.addf(ac, bd), b.subf(bc, ad));
    Parts { re: b.mulf(factor, re), im: b.mulf(factor, im) }
}
