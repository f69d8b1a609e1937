//! Elementwise operations on arrays.

use fusebox_core::hlo::{BinaryOp, Comparison, ComparisonType, ElementType, UnaryOp};

use crate::error::{Outcome, ensure};
use crate::number;
use crate::value::{Array, Data, Scalar, element_count};

/// Evaluates a unary operation, computing in the type `computing`.
pub(crate) fn unary(op: UnaryOp, x: &Array, result: ElementType, computing: ElementType) -> Outcome<Array> {
    collect(result, &x.dims, |i| number::unary(op, computing, result, x.data.get(i)))
}

/// Evaluates a binary operation, computing in the type `computing`.
pub(crate) fn binary(op: BinaryOp, a: &Array, b: &Array, computing: ElementType) -> Outcome<Array> {
    same_dims(a, b)?;
    let result = number::binary_result_type(op, a.ty);
    collect(result, &a.dims, |i| number::binary(op, computing, a.data.get(i), b.data.get(i)))
}

pub(crate) fn compare(direction: Comparison, order: Option<ComparisonType>, a: &Array, b: &Array) -> Outcome<Array> {
    same_dims(a, b)?;
    collect(ElementType::Pred, &a.dims, |i| {
        let holds = number::compare(direction, order, a.ty, a.data.get(i), b.data.get(i))?;
        Ok(Scalar::Int(i64::from(holds)))
    })
}

/// Selects between elements, or between whole arrays if the predicate is a scalar.
pub(crate) fn select(predicate: &Array, on_true: &Array, on_false: &Array) -> Outcome<Array> {
    same_dims(on_true, on_false)?;
    let choose = predicate.ints()?;
    if predicate.rank() == 0 {
        return Ok(if choose[0] != 0 { on_true.clone() } else { on_false.clone() });
    }
    same_dims(predicate, on_true)?;
    collect(on_true.ty, &on_true.dims, |i| Ok(if choose[i] != 0 { on_true } else { on_false }.data.get(i)))
}

/// Clamps every element of `x` between two bounds. A bound may be a scalar.
pub(crate) fn clamp(low: &Array, x: &Array, high: &Array) -> Outcome<Array> {
    for bound in [low, high] {
        if bound.rank() > 0 {
            same_dims(bound, x)?;
        }
    }
    let at = |bound: &Array, i: usize| bound.data.get(if bound.rank() == 0 { 0 } else { i });
    collect(x.ty, &x.dims, |i| number::clamp(x.ty, at(low, i), x.data.get(i), at(high, i)))
}

pub(crate) fn convert(x: &Array, to: ElementType) -> Outcome<Array> {
    if to == x.ty {
        return Ok(x.clone());
    }
    collect(to, &x.dims, |i| Ok(number::convert(x.ty, to, x.data.get(i))))
}

/// Reinterprets the bits of the elements as another type.
pub(crate) fn bitcast_convert(x: &Array, to: ElementType, dims: Vec<usize>) -> Outcome<Array> {
    let data = number::bitcast(x.ty, to, &x.data)?;
    ensure!(data.len() == element_count(&dims)?, "the result of bitcast-convert has another size than its operand");
    Ok(Array::new(to, dims, data))
}

/// Rounds the elements to a narrower format without changing their type.
pub(crate) fn reduce_precision(x: &Array, exponent_bits: i64, mantissa_bits: i64) -> Outcome<Array> {
    // More bits than the widest type has make no difference.
    let bits = |count: i64, least| count.clamp(least, 64) as u32;
    let (exponent_bits, mantissa_bits) = (bits(exponent_bits, 1), bits(mantissa_bits, 0));
    let round = |v| number::reduce_precision(x.ty, exponent_bits, mantissa_bits, v);
    let data = x.floats()?.iter().map(|&v| round(v)).collect();
    Ok(Array::new(x.ty, x.dims.clone(), Data::Float(data)))
}

/// Converts the elements to an integer type, rounding up or down at random.
pub(crate) fn stochastic_convert(x: &Array, random: &Array, to: ElementType) -> Outcome<Array> {
    same_dims(x, random)?;
    let bits = random.ty.bits();
    let pairs = x.floats()?.iter().zip(random.ints()?);
    let data = pairs.map(|(&x, &r)| number::stochastic_convert(to, bits, x, r)).collect();
    Ok(Array::new(to, x.dims.clone(), Data::Int(data)))
}

fn collect(ty: ElementType, dims: &[usize], element: impl Fn(usize) -> Outcome<Scalar>) -> Outcome<Array> {
    let count = element_count(dims)?;
    let mut data = Data::with_capacity(ty, count);
    for i in 0..count {
        data.push(element(i)?)?;
    }
    Ok(Array::new(ty, dims.to_vec(), data))
}

fn same_dims(a: &Array, b: &Array) -> Outcome<()> {
    ensure!(a.dims == b.dims, "the operands have different shapes, {:?} and {:?}", a.dims, b.dims);
    Ok(())
}
