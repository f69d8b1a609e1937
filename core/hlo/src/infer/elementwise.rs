//! Shape inference of elementwise operations.

use super::{Inferred, Site, array};
use crate::op::Takes;
use crate::{ArrayShape, BinaryOp, ComparisonType, ElementType, Shape, UnaryOp};

/// Checks that there are `count` operands of equal dimensions and type, and returns the shape of
/// the first operand.
fn alike<'a>(site: &Site<'a>, count: usize) -> Inferred<&'a ArrayShape> {
    site.operand_count(count)?;
    let first = site.array(0)?;
    for position in 1..count {
        let other = site.array(position)?;
        let same = first.same_type_and_dims(other);
        ensure!(same, "the operands of {} must have one shape, found {first} and {other}", site.name());
    }
    Ok(first)
}

fn is_number(element_type: ElementType) -> bool {
    element_type != ElementType::Pred
}

pub(super) fn is_float_or_complex(element_type: ElementType) -> bool {
    element_type.is_float() || element_type.is_complex()
}

pub(super) fn unary(site: &Site, op: UnaryOp) -> Inferred {
    let operand = site.only_array()?;
    let element_type = operand.element_type;
    let (allowed, wanted) = match op.takes() {
        Takes::FloatOrComplex => (is_float_or_complex(element_type), "a float or complex type"),
        Takes::Float => (element_type.is_float(), "a float type"),
        Takes::Integer => (element_type.is_integer(), "an integer type"),
        Takes::IntegerOrPred => (!is_float_or_complex(element_type), "an integer type or pred"),
        Takes::Number => (is_number(element_type), "a number type"),
    };
    ensure!(allowed, "{} needs {wanted}, its operand is {operand}", site.name());
    let result = match op {
        UnaryOp::IsFinite => ElementType::Pred,
        UnaryOp::Abs | UnaryOp::Real | UnaryOp::Imag => element_type.real_part(),
        _ => element_type,
    };
    array(result, operand.dims.clone())
}

pub(super) fn binary(site: &Site, op: BinaryOp) -> Inferred {
    let operand = alike(site, 2)?;
    let element_type = operand.element_type;
    let (allowed, wanted) = match op {
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => (!is_float_or_complex(element_type), "integer types or pred"),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRightArithmetic | BinaryOp::ShiftRightLogical | BinaryOp::Mulhi => {
            (element_type.is_integer(), "integer types")
        }
        BinaryOp::Complex => (matches!(element_type, ElementType::F32 | ElementType::F64), "f32 or f64"),
        BinaryOp::Atan2 => (is_float_or_complex(element_type), "float or complex types"),
        BinaryOp::Divide | BinaryOp::Power => (is_number(element_type), "number types"),
        BinaryOp::Remainder => (is_number(element_type) && !element_type.is_complex(), "integer or float types"),
        _ => (true, ""),
    };
    ensure!(allowed, "{} needs {wanted}, its operands are {operand}", site.name());
    let result = match (op, element_type) {
        (BinaryOp::Complex, ElementType::F64) => ElementType::C128,
        (BinaryOp::Complex, _) => ElementType::C64,
        _ => element_type,
    };
    array(result, operand.dims.clone())
}

pub(super) fn compare(site: &Site, order: Option<ComparisonType>) -> Inferred {
    let operand = alike(site, 2)?;
    let element_type = operand.element_type;
    let fits = match order {
        None => true,
        Some(ComparisonType::Float) => is_float_or_complex(element_type),
        Some(ComparisonType::TotalOrder) => element_type.is_float(),
        Some(ComparisonType::Signed) => element_type.is_signed_integer(),
        Some(ComparisonType::Unsigned) => element_type.is_unsigned_integer() || element_type == ElementType::Pred,
    };
    if let Some(order) = order {
        ensure!(fits, "the comparison type {order} does not suit operands of type {element_type}");
    }
    array(ElementType::Pred, operand.dims.clone())
}

pub(super) fn select(site: &Site) -> Inferred {
    site.operand_count(3)?;
    let (predicate, on_true, on_false) = (site.array(0)?, site.array(1)?, site.array(2)?);
    let same = on_true.same_type_and_dims(on_false);
    ensure!(same, "select needs one shape for both values, found {on_true} and {on_false}");
    let is_pred = predicate.element_type == ElementType::Pred;
    let fits = predicate.rank() == 0 || predicate.dims == on_true.dims;
    ensure!(
        is_pred && fits,
        "the predicate of select must be pred[] or pred of the shape of {on_true}, is {predicate}"
    );
    array(on_true.element_type, on_true.dims.clone())
}

pub(super) fn clamp(site: &Site) -> Inferred {
    site.operand_count(3)?;
    let value = site.array(1)?;
    for position in [0, 2] {
        let bound = site.array(position)?;
        let fits = bound.rank() == 0 || bound.dims == value.dims;
        let fits = fits && bound.element_type == value.element_type;
        ensure!(fits, "a bound of clamp must have the shape of {value} or be a scalar of its type, is {bound}");
    }
    array(value.element_type, value.dims.clone())
}

pub(super) fn convert(site: &Site) -> Inferred {
    let operand = site.only_array()?;
    let result = site.declared_array()?;
    let to_real = operand.element_type.is_complex() && !result.element_type.is_complex();
    ensure!(!to_real, "convert cannot make {result} of the complex {operand}: take its real part first");
    array(result.element_type, operand.dims.clone())
}

pub(super) fn bitcast_convert(site: &Site) -> Inferred {
    let operand = site.only_array()?;
    let result = site.declared_array()?;
    let [from, to] = [operand, result].map(|array| i64::from(array.element_type.stored_bits()));
    let complex = (operand.element_type.is_complex(), result.element_type.is_complex());
    ensure!(complex.0 == complex.1, "bitcast-convert cannot go between the real and complex {operand} and {result}");
    let mut dims = operand.dims.clone();
    if from > to {
        ensure!(from % to == 0, "bitcast-convert cannot split {operand} into elements of {to} bits");
        dims.push(from / to);
    } else if to > from {
        let last = dims.pop();
        let fits = to % from == 0 && last == Some(to / from);
        ensure!(fits, "bitcast-convert to {result} needs a last dimension of {} in {operand}", to / from);
    }
    array(result.element_type, dims)
}

pub(super) fn stochastic_convert(site: &Site) -> Inferred {
    site.operand_count(2)?;
    let (operand, random) = (site.array(0)?, site.array(1)?);
    let result = site.declared_array()?;
    let fits = random.dims == operand.dims
        && random.element_type.is_unsigned_integer()
        && random.element_type.bits() == operand.element_type.bits();
    ensure!(fits, "stochastic-convert of {operand} needs unsigned bits of its width and shape, found {random}");
    ensure!(operand.element_type.is_float(), "stochastic-convert needs a float type, its operand is {operand}");
    let to = result.element_type;
    ensure!(to.is_signed_integer(), "stochastic-convert makes signed integers, the result declared is {result}");
    array(to, operand.dims.clone())
}

pub(super) fn reduce_precision(site: &Site, exponent_bits: i64, mantissa_bits: i64) -> Inferred {
    let operand = site.only_array()?;
    ensure!(operand.element_type.is_float(), "reduce-precision needs a float type, its operand is {operand}");
    ensure!(exponent_bits >= 1, "exponent_bits must be at least 1, is {exponent_bits}");
    ensure!(mantissa_bits >= 0, "mantissa_bits must not be negative, is {mantissa_bits}");
    Ok(Shape::array(operand.element_type, operand.dims.clone()))
}
