//! What a value of the kernel IR has become.

use super::Known;
use crate::indices::Ix;
use crate::llvm::{Ty, Val};
use crate::mlir::{FloatFormat, Type};

/// What stands for a value of the kernel IR.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// An index: an expression, written when needed.
    Index(Ix),
    /// An integer, a float (or its bits), a vector.
    Plain(Val),
    /// Real and imaginary part.
    Complex(Val, Val),
    /// Memory.
    Tensor(Tensor),
    /// A tensor of which all elements are the same.
    Splat(Box<Slot>),
}

/// A tensor's memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Tensor {
    pub(super) pointer: Val,
    pub(super) known: Known,
}

impl Tensor {
    pub(super) fn new(pointer: Val, known: Known) -> Self {
        Tensor { pointer, known }
    }
}

/// How a slot of some type is passed between blocks and functions: as which LLVM values.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Shape {
    Index,
    Plain(Ty),
    Complex(Ty),
    Tensor,
}

impl Shape {
    /// Number of LLVM values.
    pub(super) fn width(&self) -> usize {
        match self {
            Shape::Complex(_) => 2,
            _ => 1,
        }
    }
}

/// Whether a float is kept as its bits.
pub(super) fn kept_as_bits(format: FloatFormat) -> bool {
    !matches!(format, FloatFormat::F32 | FloatFormat::F64)
}

/// The format of a float or vector of floats.
pub(super) fn float_format(ty: &Type) -> Option<FloatFormat> {
    match ty {
        Type::Float(format) => Some(*format),
        Type::Vector { element, .. } => float_format(element),
        _ => None,
    }
}

/// Bits of an integer or vector of integers.
pub(super) fn integer_bits(ty: &Type) -> Option<u32> {
    match ty {
        Type::Integer(bits) => Some(*bits),
        Type::Vector { element, .. } => integer_bits(element),
        _ => None,
    }
}
