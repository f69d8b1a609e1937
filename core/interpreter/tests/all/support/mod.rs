//! Runs HLO text on values written in Rust.

use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal, parse_module};
use fusebox_interpreter::{EvalError, evaluate};

/// A Rust type for an element type.
pub trait Element: Copy {
    const TYPE: ElementType;
    fn bytes(self) -> Vec<u8>;
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($rust:ty = $ty:ident),*) => {
        $(impl Element for $rust {
            const TYPE: ElementType = ElementType::$ty;
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap())
            }
        })*
    };
}

elements!(i8 = S8, i16 = S16, i32 = S32, i64 = S64, u8 = U8, u16 = U16, u32 = U32, u64 = U64, f32 = F32, f64 = F64);

impl Element for bool {
    const TYPE: ElementType = ElementType::Pred;
    fn bytes(self) -> Vec<u8> {
        vec![u8::from(self)]
    }
    fn read(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}

/// A complex number of two `f32`.
impl Element for (f32, f32) {
    const TYPE: ElementType = ElementType::C64;
    fn bytes(self) -> Vec<u8> {
        [self.0.to_le_bytes(), self.1.to_le_bytes()].concat()
    }
    fn read(bytes: &[u8]) -> Self {
        (f32::read(&bytes[..4]), f32::read(&bytes[4..]))
    }
}

/// An array with dimensions.
pub fn array<T: Element>(dims: &[i64], values: &[T]) -> Literal {
    typed(T::TYPE, dims, values)
}

/// An array whose element type differs from the Rust type's, as for bf16 in `u16`.
pub fn typed<T: Element>(ty: ElementType, dims: &[i64], values: &[T]) -> Literal {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.bytes()).collect();
    Literal::Array(ArrayLiteral::new(ty, dims.to_vec(), bytes).expect("as many values as the dimensions say"))
}

/// A vector.
pub fn vector<T: Element>(values: &[T]) -> Literal {
    array(&[values.len() as i64], values)
}

/// A scalar.
pub fn scalar<T: Element>(value: T) -> Literal {
    array(&[], &[value])
}

/// The elements of an array.
pub fn values<T: Element>(literal: &Literal) -> Vec<T> {
    let array = literal.as_array().expect("an array");
    assert_eq!(array.element_type.byte_size(), T::TYPE.byte_size(), "{}", array.element_type);
    array.data.chunks(T::TYPE.byte_size()).map(T::read).collect()
}

/// The elements of a tuple.
pub fn elements(literal: &Literal) -> Vec<Literal> {
    match literal {
        Literal::Tuple(elements) => elements.clone(),
        other => panic!("a tuple is wanted, not {other:?}"),
    }
}

/// Runs a module.
pub fn try_run(text: &str, inputs: &[Literal]) -> Result<Literal, EvalError> {
    let module = parse_module(text, "test.hlo").unwrap_or_else(|d| panic!("{}", d[0]));
    evaluate(&module, inputs)
}

/// Runs a module that must not fail.
pub fn run(text: &str, inputs: &[Literal]) -> Literal {
    try_run(text, inputs).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a module with this body of its entry.
pub fn body(body: &str, inputs: &[Literal]) -> Literal {
    with(&[], body, inputs)
}

/// Runs a module with this body of its entry and these computations.
pub fn with(computations: &[&str], body: &str, inputs: &[Literal]) -> Literal {
    run(&format!("HloModule m\n{}\nENTRY e {{\n{body}\n}}\n", computations.join("\n")), inputs)
}

/// `a + b`.
pub const ADD: &str = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }";
/// The larger of `a` and `b`.
pub const MAX: &str = "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }";

/// Applies an operation of one operand.
pub fn unary<T: Element, R: Element>(op: &str, x: &[T]) -> Vec<R> {
    let (n, from, to) = (x.len(), T::TYPE, R::TYPE);
    values(&body(&format!("x = {from}[{n}] parameter(0)\nROOT r = {to}[{n}] {op}(x)"), &[vector(x)]))
}

/// Applies an operation of two operands.
pub fn binary<T: Element>(op: &str, a: &[T], b: &[T]) -> Vec<T> {
    let (n, ty) = (a.len(), T::TYPE);
    let text = format!("a = {ty}[{n}] parameter(0)\nb = {ty}[{n}] parameter(1)\nROOT r = {ty}[{n}] {op}(a, b)");
    values(&body(&text, &[vector(a), vector(b)]))
}

/// Compares two vectors.
pub fn compare<T: Element>(direction: &str, a: &[T], b: &[T]) -> Vec<bool> {
    let (n, ty) = (a.len(), T::TYPE);
    let text = format!(
        "a = {ty}[{n}] parameter(0)\nb = {ty}[{n}] parameter(1)\nROOT r = pred[{n}] compare(a, b), direction={direction}"
    );
    values(&body(&text, &[vector(a), vector(b)]))
}

/// Bit patterns, which distinguish NaNs and zeros.
pub fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|v| v.to_bits()).collect()
}

/// Asserts that each number is within `tolerance` of the wanted one.
pub fn assert_near(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance, "element {i}: {g} instead of {w}");
    }
}
