//! `fft`, computed in `f64` directly from its definition.

use std::f64::consts::TAU;

use fusebox_core::hlo::{ElementType, FftType};

use crate::error::{Outcome, ensure, malformed};
use crate::number::{self, Complex, LongSum, complex};
use crate::strided::{for_each_index, position, strides};
use crate::value::{Array, Data, element_count};

/// Evaluates `fft`. Transforms the last dimensions. The number of transformed dimensions is the
/// number of entries of `length`.
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

/// Returns the first `kept` elements of every row of `length` elements.
fn crop_lines(values: &[Complex], length: usize, kept: usize) -> Vec<Complex> {
    if length == 0 { Vec::new() } else { values.chunks(length).flat_map(|line| &line[..kept]).copied().collect() }
}

/// Extends every row from `half` to `length` elements. The added elements are conjugates of the
/// row's existing elements.
fn mirror_lines(values: &[Complex], half: usize, length: usize) -> Vec<Complex> {
    let whole = |line: &[Complex]| -> Vec<Complex> {
        let real_ends = |k: usize| if k == 0 || 2 * k == length { complex(line[k].re, 0.0) } else { line[k] };
        (0..length).map(|k| if k < half { real_ends(k) } else { line[length - k].conjugate() }).collect()
    };
    values.chunks(half).flat_map(whole).collect()
}

fn transform_dimension(values: &mut [Complex], dims: &[usize], d: usize, inverse: bool) -> Outcome<()> {
    let (steps, n) = (strides(dims), dims[d]);
    let mut line_starts = dims.to_vec();
    line_starts[d] = line_starts[d].min(1);
    for_each_index(&line_starts, |start| {
        let base = position(start, &steps);
        let places = (0..n).map(|i| base + i * steps[d] as usize);
        let line: Vec<Complex> = places.clone().map(|at| values[at]).collect();
        places.zip(transform(&line, inverse)).for_each(|(at, z)| values[at] = z);
        Ok(())
    })
}

/// Computes the transform of the elements `line` along one dimension. Element `k` of the result is
/// the sum, over all `j`, of element `j` times `e^(-2πi jk / n)`. The inverse transform uses the
/// conjugate factor and divides by `n`.
fn transform(line: &[Complex], inverse: bool) -> Vec<Complex> {
    let n = line.len();
    let (sign, scale) = if inverse { (1.0, 1.0 / n as f64) } else { (-1.0, 1.0) };
    let roots: Vec<Complex> = (0..n).map(|k| root(k, n, sign)).collect();
    let element = |k: usize| {
        let (mut re, mut im) = (LongSum::default(), LongSum::default());
        for (j, z) in line.iter().enumerate() {
            let root = roots[j * k % n];
            re.add_product(z.re, root.re);
            re.add_product(-z.im, root.im);
            im.add_product(z.re, root.im);
            im.add_product(z.im, root.re);
        }
        complex(re.value(), im.value()).scale(scale)
    };
    (0..n).map(element).collect()
}

/// Returns `e^(sign 2πi k / n)`. Uses the symmetry between the octants of the circle, so that
/// multiples of a quarter turn are exact.
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
