//! Values during evaluation, and their conversion from and to literals.
//!
//! An element is stored in the widest type of its kind: integers and `pred` as `i64`, floats as
//! `f64`, complex numbers as two `f64`. The widest type stores every element exactly. An operation
//! rounds or wraps its result to the element type (see [`crate::number`]). `u64` is stored as its
//! bit pattern.

use std::rc::Rc;

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, Literal, Shape};

use crate::error::{Fault, Outcome, ensure, malformed, unsupported};
use crate::free_memory;
use crate::number::{Complex, float_format};

/// Largest number of elements in one array. An array of `MAX_ELEMENTS` elements, stored as `f64`,
/// takes 8 GiB.
pub(crate) const MAX_ELEMENTS: i64 = 1 << 30;

/// The elements of an array in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Int(Vec<i64>),
    Float(Vec<f64>),
    Complex(Vec<Complex>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Int(i64),
    Float(f64),
    Complex(Complex),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub ty: ElementType,
    pub dims: Vec<usize>,
    pub data: Data,
}

/// The value of an instruction. Clones of an array refer to the same elements. If there are several
/// references to the elements, a write first copies the elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Array(Rc<Array>),
    Tuple(Vec<Value>),
    Token,
}

/// Runs the same code on elements of any kind.
macro_rules! each_kind {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            $crate::value::Data::Int($v) => $crate::value::Data::Int($body),
            $crate::value::Data::Float($v) => $crate::value::Data::Float($body),
            $crate::value::Data::Complex($v) => $crate::value::Data::Complex($body),
        }
    };
}

/// Runs the same code on two arrays of the same kind, or `$other` if the kinds differ.
macro_rules! both_kinds {
    ($a:expr, $b:expr, $v:ident, $w:ident => $body:expr, else $other:expr) => {
        match ($a, $b) {
            ($crate::value::Data::Int($v), $crate::value::Data::Int($w)) => $body,
            ($crate::value::Data::Float($v), $crate::value::Data::Float($w)) => $body,
            ($crate::value::Data::Complex($v), $crate::value::Data::Complex($w)) => $body,
            _ => $other,
        }
    };
}
pub(crate) use {both_kinds, each_kind};

/// Returns the number of elements, checked against the limit.
pub(crate) fn element_count(dims: &[usize]) -> Outcome<usize> {
    let count = dims.iter().fold(1i64, |n, &d| n.saturating_mul(d as i64));
    if count > MAX_ELEMENTS {
        return Err(Fault::TooLarge { elements: count, limit: MAX_ELEMENTS });
    }
    Ok(count as usize)
}

pub(crate) fn dims_of(shape: &ArrayShape) -> Outcome<Vec<usize>> {
    let dims = shape.dims.iter().map(|&d| usize::try_from(d)).collect::<Result<Vec<_>, _>>();
    match dims {
        Ok(dims) => Ok(dims),
        Err(_) => malformed("a dimension is negative"),
    }
}

impl Scalar {
    /// Returns a zero of the kind (integer, float or complex) in which elements of type `ty` are
    /// stored.
    pub fn zero(ty: ElementType) -> Self {
        match () {
            () if ty.is_integer_or_pred() => Scalar::Int(0),
            () if ty.is_complex() => Scalar::Complex(Complex::ZERO),
            () => Scalar::Float(0.0),
        }
    }
}

impl Data {
    /// Returns `count` copies of an element.
    pub fn filled(value: Scalar, count: usize) -> Self {
        match value {
            Scalar::Int(x) => Data::Int(vec![x; count]),
            Scalar::Float(x) => Data::Float(vec![x; count]),
            Scalar::Complex(x) => Data::Complex(vec![x; count]),
        }
    }

    /// Reserves space for `count` elements of the type's kind.
    pub fn with_capacity(ty: ElementType, count: usize) -> Self {
        match Scalar::zero(ty) {
            Scalar::Int(_) => Data::Int(Vec::with_capacity(count)),
            Scalar::Float(_) => Data::Float(Vec::with_capacity(count)),
            Scalar::Complex(_) => Data::Complex(Vec::with_capacity(count)),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Data::Int(v) => v.len(),
            Data::Float(v) => v.len(),
            Data::Complex(v) => v.len(),
        }
    }

    pub fn get(&self, index: usize) -> Scalar {
        match self {
            Data::Int(v) => Scalar::Int(v[index]),
            Data::Float(v) => Scalar::Float(v[index]),
            Data::Complex(v) => Scalar::Complex(v[index]),
        }
    }

    /// Replaces one element. The element and the array must have the same kind.
    pub fn set(&mut self, index: usize, value: Scalar) -> Outcome<()> {
        match (self, value) {
            (Data::Int(v), Scalar::Int(x)) => v[index] = x,
            (Data::Float(v), Scalar::Float(x)) => v[index] = x,
            (Data::Complex(v), Scalar::Complex(x)) => v[index] = x,
            _ => return malformed("an element has another type than its array"),
        }
        Ok(())
    }

    /// Appends one element. The element and the array must have the same kind.
    pub fn push(&mut self, value: Scalar) -> Outcome<()> {
        match (self, value) {
            (Data::Int(v), Scalar::Int(x)) => v.push(x),
            (Data::Float(v), Scalar::Float(x)) => v.push(x),
            (Data::Complex(v), Scalar::Complex(x)) => v.push(x),
            _ => return malformed("an element has another type than its array"),
        }
        Ok(())
    }
}

impl Array {
    /// Creates an array from its elements. The number of elements must match the dimensions.
    pub fn new(ty: ElementType, dims: Vec<usize>, data: Data) -> Self {
        debug_assert_eq!(dims.iter().product::<usize>(), data.len());
        Array { ty, dims, data }
    }

    /// Creates an array whose elements all equal `value`.
    pub fn filled(ty: ElementType, dims: Vec<usize>, value: Scalar) -> Outcome<Self> {
        let count = element_count(&dims)?;
        Ok(Array::new(ty, dims, Data::filled(value, count)))
    }

    pub fn zeros(ty: ElementType, dims: Vec<usize>) -> Outcome<Self> {
        Array::filled(ty, dims, Scalar::zero(ty))
    }

    /// Creates an array without dimensions.
    pub fn scalar(ty: ElementType, value: Scalar) -> Self {
        Array::new(ty, Vec::new(), Data::filled(value, 1))
    }

    pub fn len(&self) -> usize {
        self.data.len()
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    pub fn ints(&self) -> Outcome<&[i64]> {
        match &self.data {
            Data::Int(v) => Ok(v),
            _ => malformed(format!("an integer operand is wanted, not {}", self.ty)),
        }
    }

    pub fn floats(&self) -> Outcome<&[f64]> {
        match &self.data {
            Data::Float(v) => Ok(v),
            _ => malformed(format!("a floating-point operand is wanted, not {}", self.ty)),
        }
    }

    /// Returns the elements as complex numbers. The elements must be floats or complex numbers.
    pub fn to_complex(&self) -> Outcome<Vec<Complex>> {
        match &self.data {
            Data::Complex(v) => Ok(v.clone()),
            Data::Float(v) => Ok(v.iter().map(|&re| Complex { re, im: 0.0 }).collect()),
            Data::Int(_) => malformed(format!("a float or complex operand is wanted, not {}", self.ty)),
        }
    }

    pub fn single(&self) -> Outcome<Scalar> {
        if self.len() == 1 { Ok(self.data.get(0)) } else { malformed("a scalar operand is wanted") }
    }

    pub fn single_int(&self) -> Outcome<i64> {
        match self.single()? {
            Scalar::Int(x) => Ok(x),
            _ => malformed("an integer operand is wanted"),
        }
    }

    /// Returns the shape with row-major layout.
    pub fn shape(&self) -> ArrayShape {
        ArrayShape::new(self.ty, self.dims.iter().map(|&d| d as i64).collect::<Vec<_>>())
    }

    pub fn from_literal(literal: &ArrayLiteral) -> Outcome<Self> {
        let shape = literal.shape();
        let dims = dims_of(&shape)?;
        let count = element_count(&dims)?;
        let fits = literal.data.len() == count * literal.element_type.byte_size();
        ensure!(fits, "a literal has {} bytes", literal.data.len());
        free_memory::ensure(free_memory::bytes_of_elements(literal.element_type, count as u64))?;
        Ok(Array::new(literal.element_type, dims, decode(literal.element_type, &literal.data)))
    }

    pub fn to_literal(&self) -> Outcome<ArrayLiteral> {
        let dims = self.dims.iter().map(|&d| d as i64).collect();
        free_memory::ensure((self.len() * self.ty.byte_size()) as u64)?;
        ArrayLiteral::new(self.ty, dims, encode(self.ty, &self.data))
            .or_else(|bytes| malformed(format!("an array does not have the {bytes} bytes of its shape")))
    }
}

/// Decodes the elements in a literal's bytes.
pub(crate) fn decode(ty: ElementType, bytes: &[u8]) -> Data {
    let size = ty.byte_size();
    if ty.is_integer_or_pred() {
        Data::Int(bytes.chunks_exact(size).map(|b| crate::number::wrap(ty, read_bits(b) as i64)).collect())
    } else if ty.is_complex() {
        let part = float_format(ty.real_part());
        let read = |b: &[u8]| Complex {
            re: part.decode(read_bits(&b[..size / 2])),
            im: part.decode(read_bits(&b[size / 2..])),
        };
        Data::Complex(bytes.chunks_exact(size).map(read).collect())
    } else {
        let format = float_format(ty);
        Data::Float(bytes.chunks_exact(size).map(|b| format.decode(read_bits(b))).collect())
    }
}

/// Encodes elements as the bytes of a literal.
pub(crate) fn encode(ty: ElementType, data: &Data) -> Vec<u8> {
    let size = ty.byte_size();
    let mut bytes = Vec::with_capacity(data.len() * size);
    match data {
        Data::Int(v) => {
            v.iter().for_each(|&x| bytes.extend_from_slice(&crate::number::wrap(ty, x).to_le_bytes()[..size]))
        }
        Data::Float(v) => {
            let format = float_format(ty);
            v.iter().for_each(|&x| bytes.extend_from_slice(&format.encode(x).to_le_bytes()[..size]));
        }
        Data::Complex(v) => {
            let part = float_format(ty.real_part());
            for x in v {
                bytes.extend_from_slice(&part.encode(x.re).to_le_bytes()[..size / 2]);
                bytes.extend_from_slice(&part.encode(x.im).to_le_bytes()[..size / 2]);
            }
        }
    }
    bytes
}

fn read_bits(bytes: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

impl Value {
    pub fn from_literal(literal: &Literal) -> Outcome<Self> {
        Ok(match literal {
            Literal::Array(array) => Value::Array(Rc::new(Array::from_literal(array)?)),
            Literal::Tuple(elements) => Value::Tuple(elements.iter().map(Value::from_literal).collect::<Outcome<_>>()?),
            Literal::Token => Value::Token,
        })
    }

    pub fn to_literal(&self) -> Outcome<Literal> {
        Ok(match self {
            Value::Array(array) => Literal::Array(array.to_literal()?),
            Value::Tuple(elements) => Literal::Tuple(elements.iter().map(Value::to_literal).collect::<Outcome<_>>()?),
            Value::Token => Literal::Token,
        })
    }

    pub fn zeros(shape: &Shape) -> Outcome<Self> {
        Ok(match shape {
            Shape::Array(array) => Array::zeros(array.element_type, dims_of(array)?)?.into(),
            Shape::Tuple(elements) => Value::Tuple(elements.iter().map(Value::zeros).collect::<Outcome<_>>()?),
            Shape::Token => Value::Token,
            Shape::Opaque => return unsupported("values of type opaque"),
        })
    }

    /// Returns a single value unchanged, and several values as a tuple.
    pub fn one_or_tuple(mut values: Vec<Value>) -> Self {
        if values.len() == 1 { values.remove(0) } else { Value::Tuple(values) }
    }

    /// Returns the shape with row-major layout.
    pub fn shape(&self) -> Shape {
        match self {
            Value::Array(array) => Shape::Array(array.shape()),
            Value::Tuple(elements) => Shape::Tuple(elements.iter().map(Value::shape).collect()),
            Value::Token => Shape::Token,
        }
    }

    pub fn array(&self) -> Outcome<&Array> {
        match self {
            Value::Array(array) => Ok(array),
            _ => malformed("an array operand is wanted, not a tuple or token"),
        }
    }

    /// Returns the array for writing. Copies the array only if there are other references to it.
    pub fn into_array(self) -> Outcome<Array> {
        match self {
            Value::Array(array) => Ok(Rc::unwrap_or_clone(array)),
            _ => malformed("an array operand is wanted, not a tuple or token"),
        }
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Self {
        Value::Array(Rc::new(array))
    }
}
