//! The math library: what `math.*` means on the targets, as `func.func` in `arith` and exactly lowered `math`.
//!
//! Every function is straight-line (`fmod`, and large angles in f64, have a loop), so that after inlining LLVM
//! vectorises loops over it. No libm, no libdevice. README.md lists methods and measured errors.

// Coefficients are what a fit gave; that some are close to a constant with a name means nothing.
#![allow(clippy::approx_constant, clippy::excessive_precision)]

mod code;
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
use std::fmt::Write as _;

use code::{Code, Kind, Value};

/// A symbol that this library does not define.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the math library defines no function `@{0}`; symbols come from `math::symbol_for`")]
pub struct UnknownFunction(pub String);

/// How a function is written.
enum Body {
    Unary(for<'c> fn(Value<'c>) -> Value<'c>),
    Binary(for<'c> fn(Value<'c>, Value<'c>) -> Value<'c>),
}

struct Function {
    /// The operation it stands for.
    operation: &'static str,
    /// Its names for f32 and f64.
    symbols: [&'static str; 2],
    body: Body,
}

macro_rules! functions {
    ($($operation:literal $name:literal $kind:ident $body:path;)*) => {
        &[$(Function {
            operation: $operation,
            symbols: [concat!("fusebox_", $name, "_f32"), concat!("fusebox_", $name, "_f64")],
            body: Body::$kind($body),
        }),*]
    };
}

const FUNCTIONS: &[Function] = functions! {
    "math.exp" "exp" Unary exp::exp;
    "math.exp2" "exp2" Unary exp::exp2;
    "math.expm1" "expm1" Unary exp::expm1;
    "math.log" "log" Unary log::log;
    "math.log2" "log2" Unary log::log2;
    "math.log10" "log10" Unary log::log10;
    "math.log1p" "log1p" Unary log::log1p;
    "math.sin" "sin" Unary trig::sin;
    "math.cos" "cos" Unary trig::cos;
    "math.tan" "tan" Unary trig::tan;
    "math.sinh" "sinh" Unary hyperbolic::sinh;
    "math.cosh" "cosh" Unary hyperbolic::cosh;
    "math.tanh" "tanh" Unary hyperbolic::tanh;
    "math.asin" "asin" Unary inverse::asin;
    "math.acos" "acos" Unary inverse::acos;
    "math.atan" "atan" Unary inverse::atan;
    "math.atan2" "atan2" Binary inverse::atan2;
    "math.asinh" "asinh" Unary inverse::asinh;
    "math.acosh" "acosh" Unary inverse::acosh;
    "math.atanh" "atanh" Unary inverse::atanh;
    "math.powf" "pow" Binary pow::pow;
    "math.cbrt" "cbrt" Unary root::cbrt;
    "math.rsqrt" "rsqrt" Unary root::rsqrt;
    "math.erf" "erf" Unary erf::erf;
    "math.erfc" "erfc" Unary erf::erfc;
    "arith.remf" "fmod" Binary remainder::fmod;
};

/// The function that stands for an operation on floats of 32 or 64 bits; `None` where there is none, as
/// for operations that have an exact instruction.
pub fn symbol_for(operation: &str, bits: u32) -> Option<&'static str> {
    let width = match bits {
        32 => 0,
        64 => 1,
        _ => return None,
    };
    FUNCTIONS.iter().find(|f| f.operation == operation).map(|f| f.symbols[width])
}

/// The operations that have a function, in the order of the library.
pub fn operations() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|f| f.operation)
}

/// The text of these functions, each once and sorted by name, each `private` and self-contained.
/// `fma` says that the target multiplies and adds in one instruction: all of NVIDIA's, and x86 with FMA3.
pub fn definitions<'s>(symbols: impl IntoIterator<Item = &'s str>, fma: bool) -> Result<String, UnknownFunction> {
    let symbols: BTreeSet<&str> = symbols.into_iter().collect();
    symbols.into_iter().map(|symbol| definition(symbol, fma)).collect()
}

fn definition(symbol: &str, fma: bool) -> Result<String, UnknownFunction> {
    let known = FUNCTIONS.iter().find_map(|f| Some((f, f.symbols.iter().position(|s| *s == symbol)?)));
    let Some((function, width)) = known else { return Err(UnknownFunction(symbol.to_owned())) };
    let kind = [Kind::F32, Kind::F64][width];
    let code = Code::new(fma);
    let (parameters, result) = match function.body {
        Body::Unary(body) => {
            let x = code.argument(kind);
            (vec![x], body(x))
        }
        Body::Binary(body) => {
            let (x, y) = (code.argument(kind), code.argument(kind));
            (vec![x, y], body(x, y))
        }
    };
    let parameters = parameters.iter().map(|p| format!("{p}: {}", kind.name())).collect::<Vec<_>>().join(", ");
    let result = result.to_string();
    let (kind, body) = (kind.name(), code.into_text());
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "func.func private @{symbol}({parameters}) -> {kind} {{");
    let _ = writeln!(text, "{body}  func.return {result} : {kind}\n}}");
    Ok(text)
}
