//! Constants and iotas.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Scalar, Value};
use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal};

use super::convert::convert;

/// Largest number of elements of a constant that is written into the code. The host passes larger
/// constants as parameters.
pub const MAX_CONSTANT_ELEMENTS: usize = 16;

/// Returns the element of a constant at an index. Selects the element by comparisons, which pay off
/// only for small constants. If all elements are equal, no comparison is needed.
pub fn constant(b: &mut FunctionBuilder, literal: &Literal, index: &[Value]) -> Result<Value, String> {
    let Literal::Array(array) = literal else {
        return Err("tuple constants are not supported inside a fusion".into());
    };
    let count = array.element_count();
    let size = array.element_type.byte_size();
    let mut elements = array.data.chunks(size);
    let first = elements.next();
    if elements.all(|element| Some(element) == first) {
        return Ok(element(b, array, 0));
    }
    if count > MAX_CONSTANT_ELEMENTS {
        return Err(format!(
            "has {count} elements; inside a fusion a constant has at most {MAX_CONSTANT_ELEMENTS}, pass it as a parameter"
        ));
    }
    let mut position = b.index(0);
    for (&dim, &index) in array.dims.iter().zip(index) {
        let dim = b.index(dim);
        let scaled = b.muli(position, dim);
        position = b.addi(scaled, index);
    }
    Ok(choose(b, array, position, 0, count))
}

/// Returns the element at `position`, which is at least `start` and less than `end`.
fn choose(b: &mut FunctionBuilder, array: &ArrayLiteral, position: Value, start: usize, end: usize) -> Value {
    if end - start == 1 {
        return element(b, array, start);
    }
    let middle = usize::midpoint(start, end);
    let bound = b.index(middle as i64);
    let lower = b.cmpi(IntPredicate::Slt, position, bound);
    let (first, second) = (choose(b, array, position, start, middle), choose(b, array, position, middle, end));
    b.select(lower, first, second)
}

fn element(b: &mut FunctionBuilder, array: &ArrayLiteral, position: usize) -> Value {
    let ty = array.element_type;
    let size = ty.byte_size();
    let bytes = array.data.get(position * size..(position + 1) * size).unwrap_or_default();
    if ty.is_complex() {
        let (re, im) = bytes.split_at(size / 2);
        let part = Scalar::of_element(ty.real_part());
        let (re, im) = (b.float_bits(little_endian(re), part), b.float_bits(little_endian(im), part));
        return b.complex(re, im);
    }
    let bits = little_endian(bytes);
    match ty {
        ElementType::Pred => b.bool(bits != 0),
        _ if ty.is_float() => b.float_bits(bits & (u64::MAX >> (64 - ty.bits())), Scalar::of_element(ty)),
        _ => b.int(bits as i64, Scalar::of_element(ty)),
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Converts the index along the iota's dimension to a value of the iota's type.
pub fn iota(b: &mut FunctionBuilder, ty: ElementType, index: Value) -> Result<Value, String> {
    if ty.is_integer_or_pred() {
        return Ok(b.index_castui(index, Scalar::of_element(ty)));
    }
    let integer = b.index_castui(index, Scalar::I64);
    b.formula(&[integer], |integer| Ok(convert(ElementType::S64, ty, integer[0])))
}
