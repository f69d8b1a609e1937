//! Checks powers with constant exponents, which passes replace by roots, on special values.

use fusebox_core::hlo::ElementType;

use super::engines::Engine;
use super::values::array;

const NUMBERS: [f64; 10] = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.5, 1.0, 7.25, 1e-15, 1e15];

/// Returns powers of [`NUMBERS`] in `f32` or `f64`.
fn powers(ty: ElementType, exponent: f64, engine: Engine) -> Vec<f64> {
    let text = format!(
        "HloModule m\nENTRY e {{\n  x = {ty}[10] parameter(0)\n  y = {ty}[] constant({exponent})\n  \
         ys = {ty}[10] broadcast(y), dimensions={{}}\n  ROOT p = {ty}[10] power(x, ys) }}\n"
    );
    let is_double = ty == ElementType::F64;
    let bytes = |x: f64| if is_double { x.to_le_bytes().to_vec() } else { (x as f32).to_le_bytes().to_vec() };
    let found = engine.run(&text, &[array(ty, NUMBERS.map(bytes))]).remove(0);
    if is_double {
        found.data.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
    } else {
        found.data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes).into()).collect()
    }
}

#[test]
fn powers_by_constants_have_the_values_and_signs_of_powers() {
    for (ty, unit) in [(ElementType::F32, f64::from(f32::EPSILON)), (ElementType::F64, f64::EPSILON)] {
        for exponent in [0.5, 1.5, -0.5, 2.0] {
            for engine in [Engine::Cpu, Engine::Simt, Engine::Interpreter] {
                for (x, found) in NUMBERS.into_iter().zip(powers(ty, exponent, engine)) {
                    let x = if ty == ElementType::F32 { f64::from(x as f32) } else { x };
                    let exact = x.powf(exponent);
                    let is_close = found == exact || (found - exact).abs() <= 2.0 * unit * exact.abs();
                    let is_same_sign = found.is_sign_negative() == exact.is_sign_negative();
                    assert!(
                        found.is_nan() && exact.is_nan() || is_close && is_same_sign,
                        "{ty} on {engine:?}: {x} to the power of {exponent} is {found} instead of {exact}"
                    );
                }
            }
        }
    }
}
