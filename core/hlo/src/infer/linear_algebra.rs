//! Shape inference of Fourier transforms, matrix factorisations, batch normalisation and random
//! numbers.

use super::elementwise::is_float_or_complex;
use super::{Inferred, Site, array, dimension};
use crate::{ArrayShape, ElementType, FftType, Shape};

pub(super) fn fft(site: &Site, kind: FftType, length: &[i64]) -> Inferred {
    let operand = site.only_array()?;
    let rank = operand.rank();
    let transformed = length.len();
    ensure!((1..=3).contains(&transformed), "fft_length must have 1 to 3 entries, has {transformed}");
    ensure!(transformed <= rank, "fft_length has {transformed} entries, but {operand} has {rank} dimensions");
    ensure!(length.iter().all(|&size| size >= 0), "fft_length {length:?} has a negative entry");
    let real_input = kind == FftType::Rfft;
    let fits = if real_input {
        matches!(operand.element_type, ElementType::F32 | ElementType::F64)
    } else {
        operand.element_type.is_complex()
    };
    ensure!(fits, "{kind} needs a {} operand, found {operand}", if real_input { "f32 or f64" } else { "complex" });
    let (outer, inner) = operand.dims.split_at(rank - transformed);
    let last = length[transformed - 1];
    let half = if last == 0 { 0 } else { last / 2 + 1 };
    let mut expected = length.to_vec();
    if kind == FftType::Irfft {
        expected[transformed - 1] = half;
    }
    ensure!(inner == expected, "{kind} of length {length:?} needs last dimensions {expected:?}, found {operand}");
    let mut dims = [outer, length].concat();
    if real_input {
        dims[rank - 1] = half;
    }
    let element_type = match (kind, operand.element_type) {
        (FftType::Rfft, ElementType::F64) => ElementType::C128,
        (FftType::Rfft, _) => ElementType::C64,
        (FftType::Irfft, complex) => complex.real_part(),
        (_, complex) => complex,
    };
    array(element_type, dims)
}

/// For an array of square matrices, returns the sizes of the batch dimensions and the number of
/// rows of a matrix.
fn square<'a>(site: &Site, shape: &'a ArrayShape) -> Inferred<(&'a [i64], i64)> {
    match shape.dims[..] {
        [ref batch @ .., rows, columns] if rows == columns && is_float_or_complex(shape.element_type) => {
            Ok((batch, rows))
        }
        _ => Err(format!("{} needs square float or complex matrices, found {shape}", site.name())),
    }
}

pub(super) fn cholesky(site: &Site) -> Inferred {
    let operand = site.only_array()?;
    square(site, operand)?;
    array(operand.element_type, operand.dims.clone())
}

pub(super) fn triangular_solve(site: &Site, left_side: bool) -> Inferred {
    site.operand_count(2)?;
    let (matrix, right) = (site.array(0)?, site.array(1)?);
    let (batch, size) = square(site, matrix)?;
    let fits = match right.dims[..] {
        [ref outer @ .., rows, columns] => outer == batch && size == if left_side { rows } else { columns },
        _ => false,
    };
    let fits = fits && matrix.element_type == right.element_type;
    ensure!(fits, "triangular-solve cannot apply {matrix} to {right}");
    array(right.element_type, right.dims.clone())
}

/// Checks that the operands `per_feature` have one element per feature. Returns the array that is
/// normalised, and the shape that each operand of `per_feature` must have.
fn batch_norm<'a>(site: &Site<'a>, feature: i64, per_feature: &[usize]) -> Inferred<(&'a ArrayShape, Shape)> {
    let operand = site.array(0)?;
    ensure!(operand.element_type.is_float(), "{} needs a float type, its operand is {operand}", site.name());
    let feature = dimension("feature_index", feature, operand.rank())?;
    let expected = ArrayShape::new(operand.element_type, [operand.dims[feature]]);
    for &position in per_feature {
        let found = site.array(position)?;
        let fits = found.same_type_and_dims(&expected);
        ensure!(fits, "operand {position} of {} must be {expected}, is {found}", site.name());
    }
    Ok((operand, Shape::Array(expected)))
}

fn without_layout(shape: &ArrayShape) -> Shape {
    Shape::array(shape.element_type, shape.dims.clone())
}

pub(super) fn batch_norm_training(site: &Site, feature: i64) -> Inferred {
    site.operand_count(3)?;
    let (operand, statistic) = batch_norm(site, feature, &[1, 2])?;
    Ok(Shape::Tuple(vec![without_layout(operand), statistic.clone(), statistic]))
}

pub(super) fn batch_norm_inference(site: &Site, feature: i64) -> Inferred {
    site.operand_count(5)?;
    let (operand, _) = batch_norm(site, feature, &[1, 2, 3, 4])?;
    Ok(without_layout(operand))
}

pub(super) fn batch_norm_grad(site: &Site, feature: i64) -> Inferred {
    site.operand_count(5)?;
    let (operand, statistic) = batch_norm(site, feature, &[1, 2, 3])?;
    let gradient = site.array(4)?;
    let fits = gradient.same_type_and_dims(operand);
    ensure!(fits, "the gradient of batch-norm-grad must be {operand}, is {gradient}");
    Ok(Shape::Tuple(vec![without_layout(operand), statistic.clone(), statistic]))
}

pub(super) fn rng(site: &Site) -> Inferred {
    site.operand_count(2)?;
    let result = site.declared_array()?;
    for position in 0..2 {
        let operand = site.scalar(position)?;
        let fits = operand.element_type == result.element_type;
        ensure!(fits, "operand {position} of rng must be a scalar of the type of {result}, is {operand}");
    }
    Ok(without_layout(result))
}

pub(super) fn rng_bit_generator(site: &Site) -> Inferred {
    let state = site.only_array()?;
    let fits = state.rank() == 1 && state.element_type == ElementType::U64;
    let fits = fits || (state.rank() == 1 && state.element_type == ElementType::U32);
    ensure!(fits, "the state of rng-bit-generator must be a u64 or u32 vector, is {state}");
    match site.declared()? {
        Shape::Tuple(results) if results.len() == 2 => {
            let bits = results[1].as_array().filter(|bits| !is_float_or_complex(bits.element_type));
            let bits = bits.ok_or_else(|| format!("rng-bit-generator cannot give {} bits", results[1]))?;
            Ok(Shape::Tuple(vec![without_layout(state), without_layout(bits)]))
        }
        other => Err(format!("rng-bit-generator gives a tuple of state and bits, not {other}")),
    }
}

pub(super) fn rng_state(site: &Site) -> Inferred {
    site.operand_count(0)?;
    array(ElementType::U64, [2])
}
