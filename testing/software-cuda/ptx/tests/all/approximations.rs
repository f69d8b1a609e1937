//! Approximations with a seed: every result is within the error that the manual states.

use crate::harness::{Card, evaluate, evaluate_on};

/// An instruction, its type, the function that it approximates, and the error from the operand and
/// the exact result.
type Approximated = (&'static str, &'static str, fn(f64) -> f64, fn(f64, f64) -> f64);

fn ulp(value: f64) -> f64 {
    let exponent = value.abs().log2().floor().max(-126.0);
    (exponent - 23.0).exp2()
}

const ALL: [Approximated; 11] = [
    ("ex2.approx.f32", "f32", f64::exp2, |_, exact| 2.0 * ulp(exact)),
    ("ex2.approx.ftz.f32", "f32", f64::exp2, |_, exact| 2.0 * ulp(exact)),
    ("lg2.approx.f32", "f32", f64::log2, |a, exact| {
        let error = f64::exp2(-22.0);
        if a > 0.5 && a < 2.0 { error } else { error * exact.abs() }
    }),
    ("sin.approx.f32", "f32", f64::sin, |a, _| f64::exp2(if a.abs() < std::f64::consts::TAU { -20.5 } else { -14.7 })),
    ("cos.approx.f32", "f32", f64::cos, |a, _| f64::exp2(if a.abs() < std::f64::consts::TAU { -20.5 } else { -14.7 })),
    ("rsqrt.approx.f32", "f32", |a| 1.0 / a.sqrt(), |_, exact| exact.abs() * f64::exp2(-22.9)),
    ("sqrt.approx.f32", "f32", f64::sqrt, |_, exact| exact.abs() * f64::exp2(-23.0)),
    ("rcp.approx.f32", "f32", |a| 1.0 / a, |_, exact| ulp(exact)),
    ("tanh.approx.f32", "f32", f64::tanh, |_, exact| exact.abs() * f64::exp2(-11.0)),
    ("tanh.approx.f16", "b16", f64::tanh, |_, _| f64::exp2(-10.987)),
    ("ex2.approx.f16", "b16", f64::exp2, |_, exact| exact.abs() * f64::exp2(-9.9)),
];

/// Operands whose results are normal numbers.
const OPERANDS: [f32; 12] = [0.0625, 0.25, 0.4375, 0.75, 0.9375, 1.0, 1.25, 1.875, 2.5, 3.75, 5.0, 12.25];

fn bits(ty: &str, value: f32) -> u64 {
    match ty {
        "f32" => u64::from(value.to_bits()),
        _ => u64::from(half::f16::from_f32(value).to_bits()),
    }
}

fn value(ty: &str, bits: u64) -> f64 {
    match ty {
        "f32" => f64::from(f32::from_bits(bits as u32)),
        _ => half::f16::from_bits(bits as u16).to_f64(),
    }
}

fn with_seed(seed: u64) -> Card {
    let mut card = Card::new();
    card.approximations = Some(seed);
    card
}

#[test]
fn results_are_within_the_stated_error() {
    for (name, ty, exact, error) in ALL {
        // The result 0 of `lg2` at one is no normal number, and the result of `tanh` is near one.
        let rows: Vec<Vec<u64>> = OPERANDS.iter().map(|operand| vec![bits(ty, *operand)]).collect();
        let instruction = format!("{name} %d, %a;");
        let rounded = evaluate(&instruction, ty, &[ty], &rows);
        let (mut others, mut farthest) = (0, 0.0f64);
        for seed in 0..16 {
            let found = evaluate_on(with_seed(seed), &instruction, ty, &[ty], &rows);
            assert_eq!(found, evaluate_on(with_seed(seed), &instruction, ty, &[ty], &rows), "{name}");
            for ((operand, found), rounded) in OPERANDS.iter().zip(found).zip(&rounded) {
                let operand = f64::from(*operand);
                let difference = (value(ty, found) - exact(operand)).abs() / error(operand, exact(operand));
                assert!(difference <= 1.0, "{name} of {operand} with seed {seed}: {difference} of the error");
                farthest = farthest.max(difference);
                others += usize::from(found != *rounded);
            }
        }
        assert!(others >= 20 && farthest > 0.7, "{name}: {others} results differ, by {farthest} of the error");
    }
}

#[test]
fn quotients_are_within_two_units() {
    let rows: Vec<Vec<u64>> =
        OPERANDS.iter().flat_map(|a| OPERANDS.iter().map(|b| vec![bits("f32", *a), bits("f32", b * 3.0)])).collect();
    for name in ["div.approx.f32", "div.full.f32"] {
        let mut others = 0;
        for seed in 0..4 {
            let found = evaluate_on(with_seed(seed), &format!("{name} %d, %a, %b;"), "f32", &["f32"; 2], &rows);
            for (row, found) in rows.iter().zip(found) {
                let exact = value("f32", row[0]) / value("f32", row[1]);
                assert!((value("f32", found) - exact).abs() <= 2.0 * ulp(exact), "{row:?}");
                others += usize::from(found != u64::from((exact as f32).to_bits()));
            }
        }
        assert!(others > 200, "{name}: {others} results differ");
    }
}

/// Checks that instructions with a rounding, and results that the manual states, stay.
#[test]
fn results_that_the_manual_states_stay() {
    let stays = |instruction: &str, operands: &[f32]| {
        let rows: Vec<Vec<u64>> = operands.iter().map(|operand| vec![bits("f32", *operand)]).collect();
        let found = evaluate_on(with_seed(3), instruction, "f32", &["f32"], &rows);
        assert_eq!(found, evaluate(instruction, "f32", &["f32"], &rows), "{instruction}");
    };
    stays("sqrt.rn.f32 %d, %a;", &OPERANDS);
    stays("rcp.rn.f32 %d, %a;", &OPERANDS);
    let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40];
    for name in ["ex2", "lg2", "sin", "cos", "tanh", "rsqrt", "sqrt", "rcp"] {
        stays(&format!("{name}.approx.f32 %d, %a;"), &special);
    }
}
