//! The errors that the PTX manual allows for approximations (PTX ISA 9.0, *Floating-Point
//! Instructions* and *Half Precision Floating-Point Instructions*).

use crate::code::{Approximation, ErrorBound, Kind, Narrow};
use crate::text::{Instruction, Type};

/// 2 to the power of -22, -23, -22.9, -20.5, -14.7, -11, -10.987, -9.9, -8 and -7.
const TO_22: f64 = 2.384_185_791_015_625e-7;
const TO_23: f64 = TO_22 / 2.0;
const TO_22_9: f64 = 1.277_653_530_283_325e-7;
const TO_20_5: f64 = 6.743_495_761_743_046e-7;
const TO_14_7: f64 = 3.757_154_581_741e-5;
const TO_11: f64 = 4.882_812_5e-4;
const TO_10_987: f64 = 4.927_009_930_882_233e-4;
const TO_9_9: f64 = 1.046_653_772_008_098e-3;
const TO_8: f64 = 3.906_25e-3;
const TO_7: f64 = 7.812_5e-3;

const TURN: f64 = std::f64::consts::TAU;

/// Returns the largest error of `lg2`. For operands near one, where the logarithm is small, the
/// manual states an absolute error.
fn of_logarithm(operand: f64, exact: f64, _: f64) -> f64 {
    if operand > 0.5 && operand < 2.0 { TO_22 } else { TO_22 * exact.abs() }
}

/// Returns the largest error of `sin` and `cos`. Returns 0 for large operands, for which the manual
/// states no error.
fn of_sine(operand: f64, _: f64, _: f64) -> f64 {
    match operand.abs() {
        near if near <= TURN => TO_20_5,
        far if far <= 50.0 * TURN => TO_14_7,
        _ => 0.0,
    }
}

/// If the manual states an error for an instruction, returns an approximation that may differ from
/// the rounded result. Returns any other instruction unchanged.
pub fn bounded(instruction: &Instruction, kind: Kind) -> Kind {
    let Kind::Lanes(run, at) = kind else { return kind };
    let Instruction { mnemonic, modifiers, .. } = instruction;
    let is_approximate = modifiers.iter().any(|name| ["approx", "full"].contains(name));
    let ty = modifiers.iter().find_map(|name| Type::named(name)).filter(|_| is_approximate);
    let Some((narrow, parts)) = ty.and_then(|ty| match ty {
        Type::F(32) => Some((Narrow::F32, 1)),
        Type::F(16) => Some((Narrow::F16, 1)),
        Type::Bf16 => Some((Narrow::Bf16, 1)),
        Type::F16x2 => Some((Narrow::F16, 2)),
        Type::Bf16x2 => Some((Narrow::Bf16, 2)),
        _ => None,
    }) else {
        return Kind::Lanes(run, at);
    };
    let exact: fn(f64, f64) -> f64 = match *mnemonic {
        "ex2" => |a, _| a.exp2(),
        "lg2" => |a, _| a.log2(),
        "sin" => |a, _| a.sin(),
        "cos" => |a, _| a.cos(),
        "tanh" => |a, _| a.tanh(),
        "rsqrt" => |a, _| 1.0 / a.sqrt(),
        "sqrt" => |a, _| a.sqrt(),
        "rcp" => |a, _| 1.0 / a,
        "div" => |a, b| a / b,
        _ => return Kind::Lanes(run, at),
    };
    let bound: ErrorBound = match (*mnemonic, narrow) {
        ("ex2" | "div", Narrow::F32) => |_, _, ulp| 2.0 * ulp,
        ("rcp", Narrow::F32) => |_, _, ulp| ulp,
        ("lg2", Narrow::F32) => of_logarithm,
        ("sin" | "cos", Narrow::F32) => of_sine,
        ("rsqrt", Narrow::F32) => |_, exact, _| TO_22_9 * exact.abs(),
        ("sqrt", Narrow::F32) => |_, exact, _| TO_23 * exact.abs(),
        ("tanh", Narrow::F32) => |_, exact, _| TO_11 * exact.abs(),
        ("tanh", Narrow::F16) => |_, _, _| TO_10_987,
        ("tanh", Narrow::Bf16) => |_, exact, _| TO_8 * exact.abs(),
        ("ex2", Narrow::F16) => |_, exact, _| TO_9_9 * exact.abs(),
        ("ex2", Narrow::Bf16) => |_, exact, _| TO_7 * exact.abs(),
        _ => return Kind::Lanes(run, at),
    };
    let operands = if *mnemonic == "div" { 2 } else { 1 };
    Kind::Approximate(Box::new(Approximation { run, at, exact, bound, narrow, parts, operands }))
}
