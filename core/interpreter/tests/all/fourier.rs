//! Fourier transforms.

use std::f64::consts::TAU;

use crate::support::{assert_near, body, typed, values, vector};
use fusebox_core::hlo::{ElementType, Literal};

fn complex_vector(x: &[(f64, f64)]) -> Literal {
    let parts: Vec<f64> = x.iter().flat_map(|z| [z.0, z.1]).collect();
    let bytes: Vec<u8> = parts.iter().flat_map(|p| p.to_le_bytes()).collect();
    let literal = fusebox_core::hlo::ArrayLiteral::new(ElementType::C128, vec![x.len() as i64], bytes);
    Literal::Array(literal.unwrap())
}

fn parts(literal: &Literal) -> Vec<f64> {
    literal.as_array().unwrap().data.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

/// The definition, term by term.
fn direct(x: &[(f64, f64)], sign: f64, scale: f64) -> Vec<f64> {
    let n = x.len();
    let term = |k: usize, j: usize| {
        let (sine, cosine) = (sign * TAU * ((j * k) % n) as f64 / n as f64).sin_cos();
        (x[j].0 * cosine - x[j].1 * sine, x[j].0 * sine + x[j].1 * cosine)
    };
    (0..n)
        .flat_map(|k| {
            let sum = (0..n).map(|j| term(k, j)).fold((0.0, 0.0), |s, t| (s.0 + t.0, s.1 + t.1));
            [sum.0 * scale, sum.1 * scale]
        })
        .collect()
}

#[test]
fn every_length_agrees_with_the_definition() {
    for n in [1usize, 2, 3, 4, 6, 7, 12, 16, 31, 45, 67, 97, 134] {
        let x: Vec<(f64, f64)> = (0..n).map(|i| ((i as f64 * 0.7).sin() + 0.1, (i as f64 * 1.3).cos())).collect();
        let run = |kind: &str| {
            let text =
                format!("x = c128[{n}] parameter(0)\nROOT r = c128[{n}] fft(x), fft_type={kind}, fft_length={{{n}}}");
            parts(&body(&text, &[complex_vector(&x)]))
        };
        assert_near(&run("FFT"), &direct(&x, -1.0, 1.0), 1e-12 * n as f64);
        assert_near(&run("IFFT"), &direct(&x, 1.0, 1.0 / n as f64), 1e-12);
    }
}

#[test]
fn real_transforms_and_back() {
    for n in [1usize, 2, 5, 8, 9] {
        let half = n / 2 + 1;
        let x: Vec<f64> = (0..n).map(|i| (i as f64 + 0.5).sin()).collect();
        let text = format!(
            "x = f64[{n}] parameter(0)\ny = c128[{half}] fft(x), fft_type=RFFT, fft_length={{{n}}}\n\
            ROOT r = f64[{n}] fft(y), fft_type=IRFFT, fft_length={{{n}}}"
        );
        assert_near(&values::<f64>(&body(&text, &[vector(&x)])), &x, 1e-14);
    }
}

#[test]
fn two_dimensions() {
    let text = "x = f32[2,2] parameter(0)\nROOT r = c64[2,2] fft(x), fft_type=RFFT, fft_length={2,2}";
    let result: Vec<(f32, f32)> = values(&body(text, &[typed(ElementType::F32, &[2, 2], &[1f32, 2.0, 3.0, 4.0])]));
    assert_eq!(result, [(10.0, 0.0), (-2.0, 0.0), (-4.0, 0.0), (0.0, 0.0)]);
}
