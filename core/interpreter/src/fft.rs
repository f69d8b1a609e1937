//! `fft`: all four kinds, any length, in `f64`.

use std::f64::consts::TAU;

use fusebox_core::hlo::{ElementType, FftType};

use crate::error::{Outcome, ensure, malformed};
use crate::memory;
use crate::number::{self, Complex, complex};
use crate::strided::{for_each_index, position, strides};
use crate::value::{Array, Data, element_count};

/// Transforms the last dimensions, as many as `length` has entries.
pub(crate) fn fft(x: &Array, kind: FftType, length: &[i64], ty: ElementType, dims: Vec<usize>) -> Outcome<Array> {
    let lengths = length.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect::<Vec<_>>();
    let Some(first) = x.rank().checked_sub(lengths.len()) else {
        return malformed("fft over more dimensions than the operand has");
    };
    let Some((&last, outer)) = lengths.split_last() else {
        return malformed("fft over no dimension");
    };
    let half = last / 2 + 1;
    let (input_last, output_last) = match kind {
        FftType::Fft | FftType::Ifft => (last, last),
        FftType::Rfft => (last, half),
        FftType::Irfft => (half, last),
    };
    let consistent = x.dims[first..x.rank() - 1] == *outer
        && x.dims[x.rank() - 1] == input_last
        && dims.len() == x.rank()
        && dims[..x.rank() - 1] == x.dims[..x.rank() - 1]
        && dims[x.rank() - 1] == output_last;
    ensure!(consistent, "fft_length does not fit the operand and result");
    element_count(&dims)?;
    let mut values = x.to_complex()?;
    let rank = x.rank();
    let inverse = matches!(kind, FftType::Ifft | FftType::Irfft);
    let mut current = x.dims.clone();
    if kind == FftType::Rfft {
        transform_dimension(&mut values, &current, rank - 1, false)?;
        values = crop_lines(&values, last, half);
        current[rank - 1] = half;
    }
    for d in first..rank - 1 {
        transform_dimension(&mut values, &current, d, inverse)?;
    }
    match kind {
        FftType::Fft | FftType::Ifft => transform_dimension(&mut values, &current, rank - 1, inverse)?,
        FftType::Rfft => {}
        FftType::Irfft => {
            values = mirror_lines(&values, half, last);
            current[rank - 1] = last;
            transform_dimension(&mut values, &current, rank - 1, true)?;
        }
    }
    let data = if ty.is_complex() {
        Data::Complex(values.into_iter().map(|z| number::round_complex(ty, z)).collect())
    } else {
        Data::Float(values.into_iter().map(|z| number::round(ty, z.re)).collect())
    };
    Ok(Array::new(ty, dims, data))
}

/// The first `kept` elements of every line of `length`.
fn crop_lines(values: &[Complex], length: usize, kept: usize) -> Vec<Complex> {
    if length == 0 { Vec::new() } else { values.chunks(length).flat_map(|line| &line[..kept]).copied().collect() }
}

/// Lines of `length` from their first halves, the rest being conjugates.
fn mirror_lines(values: &[Complex], half: usize, length: usize) -> Vec<Complex> {
    let whole = |line: &[Complex]| -> Vec<Complex> {
        let real_ends = |k: usize| if k == 0 || 2 * k == length { complex(line[k].re, 0.0) } else { line[k] };
        (0..length).map(|k| if k < half { real_ends(k) } else { line[length - k].conjugate() }).collect()
    };
    values.chunks(half).flat_map(whole).collect()
}

fn transform_dimension(values: &mut [Complex], dims: &[usize], d: usize, inverse: bool) -> Outcome<()> {
    let (steps, n) = (strides(dims), dims[d]);
    memory::ensure(bytes_of_transform(n))?;
    let transform = Transform::new(n, inverse);
    let mut line_starts = dims.to_vec();
    line_starts[d] = line_starts[d].min(1);
    let each_line = |start: &[usize]| -> Result<(), std::convert::Infallible> {
        let base = position(start, &steps);
        let places = (0..n).map(|i| base + i * steps[d] as usize);
        let line: Vec<Complex> = places.clone().map(|at| values[at]).collect();
        places.zip(transform.apply(&line)).for_each(|(at, z)| values[at] = z);
        Ok(())
    };
    let Ok(()) = for_each_index(&line_starts, each_line);
    Ok(())
}

/// A discrete Fourier transform of one length.
struct Transform {
    length: usize,
    inverse: bool,
    /// `e^(-2πi k / length)`, conjugated for the inverse.
    roots: Vec<Complex>,
    chirp: Option<Box<Chirp>>,
}

/// Bluestein's algorithm: a transform of any length as a convolution of a power of two.
struct Chirp {
    forward: Transform,
    backward: Transform,
    factors: Vec<Complex>,
    filter: Vec<Complex>,
}

/// Largest prime factor that is transformed directly.
const DIRECT: usize = 64;

/// Bytes that transforming lines of that length takes: roots, and per step of the recursion its parts.
fn bytes_of_transform(length: usize) -> u64 {
    const COPIES: u64 = 10;
    let copies = if largest_prime_factor(length) > DIRECT { 8 * COPIES } else { COPIES };
    (length as u64).saturating_mul(copies * size_of::<Complex>() as u64)
}

impl Transform {
    fn new(length: usize, inverse: bool) -> Self {
        let sign = if inverse { 1.0 } else { -1.0 };
        let roots = (0..length).map(|k| root(k, length, sign)).collect();
        let chirp = (largest_prime_factor(length) > DIRECT).then(|| Box::new(Chirp::new(length, sign)));
        Transform { length, inverse, roots, chirp }
    }

    fn apply(&self, line: &[Complex]) -> Vec<Complex> {
        let result = match &self.chirp {
            Some(chirp) => chirp.apply(line),
            None => self.mixed_radix(line, 1),
        };
        let scale = if self.inverse && self.length > 0 { 1.0 / self.length as f64 } else { 1.0 };
        if self.inverse { result.into_iter().map(|z| z.scale(scale)).collect() } else { result }
    }

    /// Splits off the smallest prime factor; `step` is the distance of the roots in use.
    fn mixed_radix(&self, line: &[Complex], step: usize) -> Vec<Complex> {
        let n = line.len();
        if n <= 1 {
            return line.to_vec();
        }
        let radix = smallest_prime_factor(n);
        let inner = n / radix;
        let part = |r: usize| line.iter().skip(r).step_by(radix).copied().collect::<Vec<_>>();
        let parts: Vec<Vec<Complex>> = (0..radix).map(|r| self.mixed_radix(&part(r), step * radix)).collect();
        let term = |k: usize, r: usize| parts[r][k % inner].multiply(self.roots[k * r % n * step]);
        (0..n).map(|k| (1..radix).fold(parts[0][k % inner], |sum, r| sum.add(term(k, r)))).collect()
    }
}

impl Chirp {
    fn new(length: usize, sign: f64) -> Self {
        let padded = (2 * length - 1).next_power_of_two();
        // e^(∓πi k²/n): the square is reduced first, so that the angle stays exact.
        let factor = |k: usize| root(((k as u128 * k as u128) % (2 * length as u128)) as usize, 2 * length, sign);
        let factors: Vec<Complex> = (0..length).map(factor).collect();
        let forward = Transform::new(padded, false);
        let mut filter = vec![Complex::ZERO; padded];
        for (k, factor) in factors.iter().enumerate() {
            filter[k] = factor.conjugate();
            filter[(padded - k) % padded] = factor.conjugate();
        }
        let filter = forward.apply(&filter);
        Chirp { forward, backward: Transform::new(padded, true), factors, filter }
    }

    fn apply(&self, line: &[Complex]) -> Vec<Complex> {
        let mut padded: Vec<Complex> = line.iter().zip(&self.factors).map(|(z, f)| z.multiply(*f)).collect();
        padded.resize(self.filter.len(), Complex::ZERO);
        let product: Vec<Complex> =
            self.forward.apply(&padded).iter().zip(&self.filter).map(|(a, b)| a.multiply(*b)).collect();
        self.backward.apply(&product).iter().zip(&self.factors).map(|(z, f)| z.multiply(*f)).collect()
    }
}

/// `e^(sign 2πi k / n)`, exact at multiples of an eighth of the circle's symmetry.
fn root(k: usize, n: usize, sign: f64) -> Complex {
    // Reduce to the first octant, where sine and cosine are most accurate.
    let eighths = 8 * k as u128 / n as u128;
    let angle = |numerator: u128| TAU * (numerator as f64) / (8.0 * n as f64);
    let (k8, n8) = (8 * k as u128, n as u128);
    let (re, im) = match eighths {
        0 => (angle(k8).cos(), angle(k8).sin()),
        1 => (angle(2 * n8 - k8).sin(), angle(2 * n8 - k8).cos()),
        2 => (-angle(k8 - 2 * n8).sin(), angle(k8 - 2 * n8).cos()),
        3 => (-angle(4 * n8 - k8).cos(), angle(4 * n8 - k8).sin()),
        4 => (-angle(k8 - 4 * n8).cos(), -angle(k8 - 4 * n8).sin()),
        5 => (-angle(6 * n8 - k8).sin(), -angle(6 * n8 - k8).cos()),
        6 => (angle(k8 - 6 * n8).sin(), -angle(k8 - 6 * n8).cos()),
        _ => (angle(8 * n8 - k8).cos(), -angle(8 * n8 - k8).sin()),
    };
    complex(re, sign * im)
}

fn smallest_prime_factor(n: usize) -> usize {
    (2..).take_while(|p| p * p <= n).find(|p| n.is_multiple_of(*p)).unwrap_or(n)
}

fn largest_prime_factor(mut n: usize) -> usize {
    let mut largest = 1;
    while n > 1 {
        largest = smallest_prime_factor(n);
        n /= largest;
    }
    largest
}
