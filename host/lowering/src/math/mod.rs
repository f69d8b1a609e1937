//! The math library. The library defines `math.*` operations as functions. A function contains only
//! `arith` operations, and `math` operations for which processors have an exact instruction.
//!
//! Most functions are straight-line code, so that LLVM can inline them into a loop and vectorise
//! the loop. Only `fmod` and trigonometric functions of large angles need a loop or a branch;
//! `math_lanes.rs` has their vector versions. The library uses neither libm nor libdevice.
//! README.md lists methods and measured errors.

// Coefficients are results of a fit. Some are close to a named constant only by chance.
#![allow(clippy::approx_constant, clippy::excessive_precision)]

mod erf;
mod exp;
mod hyperbolic;
mod inverse;
mod log;
mod pair;
mod pow;
mod remainder;
mod root;
mod trig;

use std::collections::BTreeSet;

use fusebox_core::builder::{Abilities, BuildError, Formula, FunctionBuilder, OpKind, Scalar, Term};
use fusebox_core::ir::{Function, Value};

/// Reason why the library cannot build a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// The library does not define this symbol.
    #[error("the math library defines no function `@{0}`; symbols come from `math::symbol_for`")]
    UnknownFunction(String),
    /// A formula is invalid.
    #[error("a formula of the math library is invalid")]
    Formula(#[from] BuildError),
}

/// Formula of a function. The variant states the number of the function's arguments.
enum Written {
    Unary(for<'f> fn(Term<'f>) -> Term<'f>),
    Binary(for<'f> fn(Term<'f>, Term<'f>) -> Term<'f>),
}

struct Definition {
    /// The operation that the function computes.
    operation: OpKind,
    /// The function's names for f32 and f64.
    symbols: [&'static str; 2],
    written: Written,
}

macro_rules! functions {
    ($($operation:ident $name:literal $kind:ident $formula:path;)*) => {
        &[$(Definition {
            operation: OpKind::$operation,
            symbols: [concat!("fusebox_", $name, "_f32"), concat!("fusebox_", $name, "_f64")],
            written: Written::$kind($formula),
        }),*]
    };
}

const FUNCTIONS: &[Definition] = functions! {
    Exp "exp" Unary exp::exp;
    Exp2 "exp2" Unary exp::exp2;
    Expm1 "expm1" Unary exp::expm1;
    Log "log" Unary log::log;
    Log2 "log2" Unary log::log2;
    Log10 "log10" Unary log::log10;
    Log1p "log1p" Unary log::log1p;
    Sin "sin" Unary trig::sin;
    Cos "cos" Unary trig::cos;
    Tan "tan" Unary trig::tan;
    Sinh "sinh" Unary hyperbolic::sinh;
    Cosh "cosh" Unary hyperbolic::cosh;
    Tanh "tanh" Unary hyperbolic::tanh;
    Asin "asin" Unary inverse::asin;
    Acos "acos" Unary inverse::acos;
    Atan "atan" Unary inverse::atan;
    Atan2 "atan2" Binary inverse::atan2;
    Asinh "asinh" Unary inverse::asinh;
    Acosh "acosh" Unary inverse::acosh;
    Atanh "atanh" Unary inverse::atanh;
    PowF "pow" Binary pow::pow;
    Cbrt "cbrt" Unary root::cbrt;
    Rsqrt "rsqrt" Unary root::rsqrt;
    Erf "erf" Unary erf::erf;
    Erfc "erfc" Unary erf::erfc;
    RemF "fmod" Binary remainder::fmod;
};

/// Operations whose f32 functions never set any of the lower 16 bits of a NaN result, provided that
/// all arguments have zeros in their lower 16 bits. The f32 functions of these operations shift
/// bits of floats by the width of the mantissa, and otherwise compute with floats alone.
const SHORT_NANS: &[OpKind] =
    &[OpKind::Exp, OpKind::Exp2, OpKind::Expm1, OpKind::Sinh, OpKind::Cosh, OpKind::Tanh, OpKind::Rsqrt, OpKind::Erf];

/// Whether an operation's f32 function never sets any of the lower 16 bits of a NaN result,
/// provided that all arguments have zeros in their lower 16 bits.
pub fn keeps_short_nans(operation: OpKind) -> bool {
    SHORT_NANS.contains(&operation)
}

/// Operations whose functions are so short that several iterations of a loop fit into the window of
/// a processor.
const SHORT: &[OpKind] = &[OpKind::Rsqrt];

/// Whether a symbol is that of a function with a long chain of operations that wait for each other.
pub(crate) fn has_long_chain(symbol: &str) -> bool {
    FUNCTIONS.iter().any(|f| f.symbols.contains(&symbol) && !SHORT.contains(&f.operation))
}

/// Whether an operation becomes a call of this library.
pub fn has_function(operation: OpKind) -> bool {
    FUNCTIONS.iter().any(|f| f.operation == operation)
}

/// Returns the library's symbol that equals `name`, if the library has this symbol.
pub fn symbol(name: &str) -> Option<&'static str> {
    FUNCTIONS.iter().flat_map(|f| f.symbols).find(|symbol| *symbol == name)
}

/// Returns the symbol of the function that computes an operation on floats of 32 or 64 bits.
/// Returns `None` if the library has no such function, for example for operations with an exact
/// instruction.
pub fn symbol_for(operation: OpKind, bits: u32) -> Option<&'static str> {
    let width = match bits {
        32 => 0,
        64 => 1,
        _ => return None,
    };
    FUNCTIONS.iter().find(|f| f.operation == operation).map(|f| f.symbols[width])
}

/// Returns the operations that have a function, in the order of the library.
pub fn operations() -> impl Iterator<Item = OpKind> {
    FUNCTIONS.iter().map(|f| f.operation)
}

/// Builds the functions with these symbols, each once and sorted by name. Each function is private
/// and calls no other function.
///
/// # Errors
/// If one of the symbols is not from [`symbol_for`].
pub fn definitions<'s>(
    symbols: impl IntoIterator<Item = &'s str>,
    abilities: Abilities,
) -> Result<Vec<Function>, LibraryError> {
    let symbols: BTreeSet<&str> = symbols.into_iter().collect();
    symbols.into_iter().map(|symbol| definition(symbol, abilities)).collect()
}

fn definition(symbol: &str, abilities: Abilities) -> Result<Function, LibraryError> {
    let known = FUNCTIONS.iter().find_map(|f| Some((f, f.symbols.iter().position(|s| *s == symbol)?)));
    let Some((definition, width)) = known else { return Err(LibraryError::UnknownFunction(symbol.to_owned())) };
    let ty = [Scalar::F32, Scalar::F64][width];
    let mut builder = FunctionBuilder::new(symbol);
    builder.set_private();
    let count = if matches!(definition.written, Written::Unary(_)) { 1 } else { 2 };
    let arguments: Vec<Value> = (0..count).map(|_| builder.argument(ty)).collect();
    let formula = Formula::new(builder, abilities);
    let argument = |number: usize| formula.term(arguments[number]);
    let result = match definition.written {
        Written::Unary(write) => write(argument(0)).id(),
        Written::Binary(write) => write(argument(0), argument(1)).id(),
    };
    let mut builder = formula.into_inner();
    builder.ret(&[result]);
    Ok(builder.finish()?)
}
