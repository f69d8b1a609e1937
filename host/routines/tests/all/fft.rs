//! Compares Fourier transforms with the definition, which is computed in `f64`.

use std::f64::consts::TAU;

use crate::support::{Random, Threads, module, results};
use fusebox_core::hlo::FftType;

type ComplexPair = (f64, f64);

/// Computes the definition of the transform, along the dimension `length` of an array of shape
/// `(outer, length, inner)`.
fn direct(x: &[ComplexPair], length: usize, inner: usize, inverse: bool) -> Vec<ComplexPair> {
    let sign = if inverse { 1.0 } else { -1.0 };
    let roots: Vec<ComplexPair> = (0..length)
        .map(|k| (TAU * k as f64 / length as f64).sin_cos())
        .map(|(sine, cosine)| (cosine, sign * sine))
        .collect();
    let scale = if inverse { 1.0 / length as f64 } else { 1.0 };
    let element = |at: usize| {
        let (outer, k, column) = (at / (length * inner), at / inner % length, at % inner);
        let term = |j: usize| {
            let (a, b) = x[(outer * length + j) * inner + column];
            let (c, s) = roots[j * k % length];
            (a * c - b * s, a * s + b * c)
        };
        let sum = (0..length).map(term).fold((0.0, 0.0), |sum, t| (sum.0 + t.0, sum.1 + t.1));
        (sum.0 * scale, sum.1 * scale)
    };
    (0..x.len()).map(element).collect()
}

fn complex_direct(x: &[ComplexPair], lengths: &[usize], inverse: bool) -> Vec<ComplexPair> {
    (0..lengths.len()).fold(x.to_vec(), |x, d| direct(&x, lengths[d], lengths[d + 1..].iter().product(), inverse))
}

/// Returns the largest error, relative to the root mean square of the exact result.
fn error(found: &[ComplexPair], exact: &[ComplexPair]) -> f64 {
    assert_eq!(found.len(), exact.len());
    let square = |(a, b): ComplexPair| a * a + b * b;
    let norm = (exact.iter().map(|&z| square(z)).sum::<f64>() / exact.len().max(1) as f64).sqrt();
    let difference = found.iter().zip(exact).map(|(f, e)| square((f.0 - e.0, f.1 - e.1)).sqrt());
    difference.fold(0f64, |largest, d| if d.is_nan() { d } else { largest.max(d) }) / norm.max(f64::MIN_POSITIVE)
}

/// Transforms a contiguous batch of arrays, and checks that `threads` threads and one thread give
/// equal results.
fn run(kind: FftType, lengths: &[usize], double: bool, input: &[f64], batch: usize, threads: usize) -> Vec<f64> {
    let (&last, others) = lengths.split_last().unwrap();
    let half = if last == 0 { 0 } else { last / 2 + 1 };
    let list = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let shape = |complex: bool, last: usize| {
        let element = match (complex, double) {
            (true, false) => "c64",
            (true, true) => "c128",
            (false, false) => "f32",
            (false, true) => "f64",
        };
        let dims = [&[batch], others, &[last]].concat();
        format!("{element}[{}]", list(&dims))
    };
    let (operand, result) = match kind {
        FftType::Fft | FftType::Ifft => (shape(true, last), shape(true, last)),
        FftType::Rfft => (shape(false, last), shape(true, half)),
        FftType::Irfft => (shape(true, half), shape(false, last)),
    };
    let text = format!(
        "ENTRY e {{\n  p = {operand} parameter(0)\n  ROOT r = {result} fft(p), fft_type={kind}, fft_length={{{}}}\n}}\n",
        list(lengths)
    );
    let module = module(&text);
    let execute = |input: &[u8]| results(&module, &[input], &[&Threads(threads), &Threads(1)]).remove(0);
    if double {
        let found = execute(bytemuck::cast_slice(input));
        bytemuck::cast_slice(found.bytes()).to_vec()
    } else {
        let input: Vec<f32> = input.iter().map(|&x| x as f32).collect();
        let found = execute(bytemuck::cast_slice(&input));
        bytemuck::cast_slice::<u8, f32>(found.bytes()).iter().map(|&x| f64::from(x)).collect()
    }
}

fn pairs(x: &[f64]) -> Vec<ComplexPair> {
    x.chunks(2).map(|z| (z[0], z[1])).collect()
}

/// Returns the allowed error: 4 units in the last place, times the square root of the logarithm of
/// the number of points.
fn bound(lengths: &[usize], double: bool) -> f64 {
    let unit = if double { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let points = lengths.iter().product::<usize>() as f64;
    // The reference itself accumulates rounding errors in f64.
    let own = if double { 2.0 * points.sqrt() * f64::EPSILON } else { 0.0 };
    4.0 * unit * points.log2().max(1.0).sqrt() + own
}

/// Returns batch sizes and lengths.
fn shapes() -> Vec<(usize, Vec<usize>)> {
    let lines = (1..=70).chain([97, 127, 128, 143, 187, 210, 251, 256, 343, 509, 512, 1000, 1001, 1009, 1024, 2003]);
    let mut shapes: Vec<_> = lines.map(|n| (3, vec![n])).collect();
    shapes.extend([(40, vec![300]), (2000, vec![7])]);
    // Lengths whose lines are computed several at a time, with numbers of lines that fill no vector
    // or leave lanes unused.
    shapes.extend([13, 26, 143, 169, 221, 442, 899, 2197].map(|n| (5, vec![n])));
    shapes.extend([(4, vec![17]), (6, vec![34]), (700, vec![13]), (2, vec![169, 3]), (2, vec![26, 221])]);
    let planes = [[1, 1], [2, 3], [3, 1], [1, 5], [16, 16], [17, 33], [40, 31], [64, 2], [5, 100]];
    shapes.extend(planes.iter().flat_map(|p| [1, 3].map(|batch| (batch, p.to_vec()))));
    shapes.extend([[1, 1, 1], [2, 3, 4], [8, 8, 8], [5, 17, 9], [33, 2, 6]].map(|c| (2, c.to_vec())));
    shapes
}

#[test]
fn transforms_agree_with_the_definition() {
    let mut random = Random::new(7);
    for (batch, lengths) in shapes() {
        let points: usize = lengths.iter().product();
        let last = *lengths.last().unwrap();
        let (rows, half) = (batch * points / last, last / 2 + 1);
        // Numbers that f32 represents exactly, so that one exact result serves both types.
        let mut values = |count: usize| (0..count).map(|_| f64::from(random.signed() as f32)).collect::<Vec<_>>();
        let check = |kind: FftType, input: &[f64], threads: usize, exact: &[ComplexPair]| {
            for double in [false, true] {
                let found = run(kind, &lengths, double, input, batch, threads);
                let found = match kind {
                    FftType::Irfft => found.iter().map(|&re| (re, 0.0)).collect(),
                    _ => pairs(&found),
                };
                let (error, limit) = (error(&found, exact), bound(&lengths, double));
                assert!(error <= limit, "{kind} of {batch} x {lengths:?}, double {double}: {error:e} > {limit:e}");
            }
        };
        let x = values(2 * batch * points);
        check(FftType::Fft, &x, 2, &complex_direct(&pairs(&x), &lengths, false));
        check(FftType::Ifft, &x, 2, &complex_direct(&pairs(&x), &lengths, true));

        let real = values(batch * points);
        let as_complex: Vec<ComplexPair> = real.iter().map(|&re| (re, 0.0)).collect();
        let exact = complex_direct(&as_complex, &lengths, false);
        let exact: Vec<ComplexPair> = exact.chunks(last).flat_map(|line| &line[..half]).copied().collect();
        check(FftType::Rfft, &real, 7, &exact);

        let halves = values(2 * rows * half);
        check(FftType::Irfft, &halves, 7, &to_real(&pairs(&halves), &lengths, half));
    }
}

/// Computes the inverse transform to a real array. First inverts the leading dimensions. In each
/// line, the first element then counts as real, and so does the middle element if the length is
/// even. The second half of a line is the conjugate of the first half.
fn to_real(x: &[ComplexPair], lengths: &[usize], half: usize) -> Vec<ComplexPair> {
    let (&last, others) = lengths.split_last().unwrap();
    let with_half = [others, &[half]].concat();
    let x = (0..others.len()).fold(x.to_vec(), |x, d| direct(&x, others[d], with_half[d + 1..].iter().product(), true));
    let element = |line: &[ComplexPair], k: usize| match k {
        k if k == 0 || 2 * k == last => (line[k].0, 0.0),
        k if k < half => line[k],
        k => (line[last - k].0, -line[last - k].1),
    };
    let whole: Vec<ComplexPair> = x.chunks(half).flat_map(|line| (0..last).map(|k| element(line, k))).collect();
    direct(&whole, last, 1, true).iter().map(|z| (z.0, 0.0)).collect()
}

#[test]
fn a_line_does_not_depend_on_other_lines() {
    let mut random = Random::new(8);
    for kind in [FftType::Fft, FftType::Ifft, FftType::Rfft, FftType::Irfft] {
        for length in [16, 26, 143, 221] {
            let [input, output] = match kind {
                FftType::Fft | FftType::Ifft => [2 * length; 2],
                FftType::Rfft => [length, 2 * (length / 2 + 1)],
                FftType::Irfft => [2 * (length / 2 + 1), length],
            };
            let values: Vec<f64> = (0..6 * input).map(|_| random.signed()).collect();
            let mut with_nan = values.clone();
            with_nan[2 * input..3 * input].fill(f64::NAN);
            for double in [false, true] {
                let [found, beside_nan] = [&values, &with_nan].map(|x| run(kind, &[length], double, x, 6, 2));
                let lines = found.chunks(output).zip(beside_nan.chunks(output)).enumerate();
                for (number, (line, beside_nan)) in lines.filter(|(number, _)| *number != 2) {
                    assert_eq!(line, beside_nan, "{kind} of {length}, double {double}, line {number}");
                }
            }
        }
    }
}

#[test]
fn nothing_is_transformed_to_nothing() {
    for kind in [FftType::Fft, FftType::Ifft, FftType::Rfft, FftType::Irfft] {
        for lengths in [&[0][..], &[0, 3], &[3, 0], &[2, 0, 2]] {
            assert!(run(kind, lengths, false, &[], 1, 2).is_empty());
        }
        assert!(run(kind, &[8], true, &[], 0, 2).is_empty());
    }
}
