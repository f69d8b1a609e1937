//! Computes Schur forms, eigenvalues and eigenvectors of general square matrices.

use num_complex::Complex;
use num_traits::Float;

use super::eigenvectors::{EigenvectorSide, Embed, SchurForm, normalise};
use super::hessenberg;
use super::matrix::Matrix;
use super::product::add_product;
use super::scalar::{Real, Scalar, real};
use super::{schur_complex, schur_real};
use crate::{RoutineError, Workers, scratch};

/// An element type for which Schur forms are implemented.
pub(crate) trait HasSchurForm: Scalar {
    /// Type of the eigenvalues, and of the elements of the eigenvectors.
    type Eigen: Scalar<Real = Self::Real>;

    /// Converts the Hessenberg matrix `h` to its Schur form, and multiplies `q` by the matrix of
    /// this transformation. Returns the eigenvalues. If the iteration does not converge, returns
    /// the number of the last row that has not converged, counted from 1.
    fn iterate(h: &mut Matrix<Self>, q: &mut Matrix<Self>) -> Result<Vec<Self::Eigen>, usize>;

    /// Returns the eigenvectors of a matrix. `t` is the Schur form of the matrix, and `q` is the
    /// unitary matrix of this form. The eigenvectors are columns and are not normalised.
    fn vectors(
        t: &Matrix<Self>,
        q: &Matrix<Self>,
        values: &[Self::Eigen],
        side: EigenvectorSide,
        workers: &dyn Workers,
    ) -> Result<Matrix<Self::Eigen>, RoutineError>;
}

/// The Schur form of a matrix, its unitary matrix, and the eigenvalues.
#[derive(Debug)]
pub(crate) struct SchurDecomposition<T: HasSchurForm> {
    pub form: Matrix<T>,
    pub unitary: Matrix<T>,
    pub values: Vec<T::Eigen>,
}

/// Returns the Schur form of a matrix. If the matrix has non-finite elements or the iteration does
/// not converge, returns LAPACK's status. The status is the number of the last row that has not
/// converged, counted from 1.
pub(crate) fn schur<T: HasSchurForm>(
    mut a: Matrix<T>,
    workers: &dyn Workers,
) -> Result<Result<SchurDecomposition<T>, usize>, RoutineError> {
    if !a.is_finite() {
        return Ok(Err(a.rows()));
    }
    let undo = a.scale_into_range();
    let size = a.rows();
    let taus = hessenberg::reduce(&mut a, 0, size)?;
    let mut unitary = hessenberg::expand(&mut a, &taus, workers)?;
    Ok(T::iterate(&mut a, &mut unitary).map(|mut values| {
        if undo != real(1.0) {
            values.iter_mut().for_each(|z| *z = z.times_real(undo));
            a.elements_mut().iter_mut().for_each(|z| *z = z.times_real(undo));
        }
        SchurDecomposition { form: a, unitary, values }
    }))
}

/// Eigenvalues and eigenvectors. Each eigenvector has length one, and its largest component is
/// real.
#[derive(Debug)]
pub(crate) struct EigenDecomposition<T: HasSchurForm> {
    pub values: Vec<T::Eigen>,
    pub left: Option<Matrix<T::Eigen>>,
    pub right: Option<Matrix<T::Eigen>>,
}

/// Returns the eigenvalues and the requested eigenvectors of a matrix. On failure, returns LAPACK's
/// status, as [`schur`] does.
pub(crate) fn eigen<T: HasSchurForm>(
    mut a: Matrix<T>,
    left: bool,
    right: bool,
    workers: &dyn Workers,
) -> Result<Result<EigenDecomposition<T>, usize>, RoutineError> {
    let undo = if a.is_finite() { a.scale_into_range() } else { real(1.0) };
    let SchurDecomposition { form, unitary, mut values } = match schur(a, workers)? {
        Ok(schur) => schur,
        Err(status) => return Ok(Err(status)),
    };
    let vectors = |wanted: bool, side: EigenvectorSide| {
        if !wanted {
            return Ok(None);
        }
        let mut vectors = T::vectors(&form, &unitary, &values, side, workers)?;
        normalise(&mut vectors);
        Ok::<_, RoutineError>(Some(vectors))
    };
    let (left, right) = (vectors(left, EigenvectorSide::Left)?, vectors(right, EigenvectorSide::Right)?);
    values.iter_mut().for_each(|z| *z = z.times_real(undo));
    Ok(Ok(EigenDecomposition { values, left, right }))
}

/// Returns the eigenvectors of a matrix with the triangular Schur form `t`. The Schur form and the
/// eigenvectors have the same element type.
fn triangular_vectors<T: Scalar>(
    t: &Matrix<T>,
    q: &Matrix<T>,
    values: &[T],
    side: EigenvectorSide,
    workers: &dyn Workers,
) -> Result<Matrix<T>, RoutineError> {
    let n = t.rows();
    let form = SchurForm::new(t);
    let mut x = Matrix::zeros(n, n)?;
    for (j, value) in values.iter().enumerate() {
        let column = x.column_mut(j);
        column[j] = T::unit();
        form.complete(*value, side, column, j..j + 1);
    }
    times(q, &x, workers)
}

/// Returns the complex eigenvectors of a real matrix with the quasi-triangular Schur form `t`.
fn quasi_triangular_vectors<R: Real + Scalar, C: Embed<R> + Scalar<Real = R>>(
    t: &Matrix<R>,
    q: &Matrix<R>,
    values: &[C],
    side: EigenvectorSide,
    workers: &dyn Workers,
) -> Result<Matrix<C>, RoutineError> {
    let n = t.rows();
    let form = SchurForm::new(t);
    // A pair of conjugate eigenvectors uses two columns. The first column holds the real parts, and
    // the second column holds the imaginary parts.
    let mut x = Matrix::<R>::zeros(n, n)?;
    let mut pair = scratch::<C>(n)?;
    let mut j = 0;
    while j < n {
        if !form.is_block(j) {
            let column = x.column_mut(j);
            column[j] = R::unit();
            form.complete(values[j].re(), side, column, j..j + 1);
            j += 1;
            continue;
        }
        pair.fill(C::nothing());
        (pair[j], pair[j + 1]) = first_elements(t[(j, j + 1)], t[(j + 1, j)], values[j].im(), side);
        form.complete(values[j], side, &mut pair, j..j + 2);
        for (i, z) in pair.iter().enumerate() {
            (x[(i, j)], x[(i, j + 1)]) = (z.re(), z.im());
        }
        j += 2;
    }
    let x = times(q, &x, workers)?;
    let mut vectors = Matrix::zeros(n, n)?;
    let mut j = 0;
    while j < n {
        let block = form.is_block(j);
        for i in 0..n {
            if block {
                let z = C::of_parts(x[(i, j)], x[(i, j + 1)]);
                (vectors[(i, j)], vectors[(i, j + 1)]) = (z, z.conjugate());
            } else {
                vectors[(i, j)] = C::of_real(x[(i, j)])
            }
        }
        j += if block { 2 } else { 1 };
    }
    Ok(vectors)
}

/// Returns the two elements that an eigenvector has in the rows of a diagonal block. The
/// eigenvector belongs to the eigenvalue of this block that has a positive imaginary part. `above`
/// and `below` are the off-diagonal elements of the block.
fn first_elements<C: Scalar>(above: C::Real, below: C::Real, imaginary: C::Real, side: EigenvectorSide) -> (C, C) {
    let zero = real::<C::Real>(0.0);
    let one = real::<C::Real>(1.0);
    let large_above = Float::abs(above) >= Float::abs(below);
    match (side, large_above) {
        (EigenvectorSide::Right, true) => (C::unit(), C::of_parts(zero, imaginary / above)),
        (EigenvectorSide::Right, false) => (C::of_real(-imaginary / below), C::of_parts(zero, one)),
        (EigenvectorSide::Left, true) => (C::of_real(imaginary / above), C::of_parts(zero, one)),
        (EigenvectorSide::Left, false) => (C::unit(), C::of_parts(zero, -imaginary / below)),
    }
}

fn times<T: Scalar>(a: &Matrix<T>, b: &Matrix<T>, workers: &dyn Workers) -> Result<Matrix<T>, RoutineError> {
    let mut product = Matrix::zeros(a.rows(), b.columns())?;
    let height = a.rows();
    add_product(product.elements_mut(), height, 0..height, T::unit(), a.view(), b.view(), workers)?;
    Ok(product)
}

macro_rules! general {
    ($real:ty) => {
        impl HasSchurForm for $real {
            type Eigen = Complex<$real>;

            fn iterate(h: &mut Matrix<Self>, q: &mut Matrix<Self>) -> Result<Vec<Self::Eigen>, usize> {
                let (re, im) = schur_real::iterate(h, q)?;
                Ok(re.into_iter().zip(im).map(|(re, im)| Complex { re, im }).collect())
            }

            fn vectors(
                t: &Matrix<Self>,
                q: &Matrix<Self>,
                values: &[Self::Eigen],
                side: EigenvectorSide,
                workers: &dyn Workers,
            ) -> Result<Matrix<Self::Eigen>, RoutineError> {
                quasi_triangular_vectors(t, q, values, side, workers)
            }
        }

        impl HasSchurForm for Complex<$real> {
            type Eigen = Complex<$real>;

            fn iterate(h: &mut Matrix<Self>, q: &mut Matrix<Self>) -> Result<Vec<Self::Eigen>, usize> {
                schur_complex::iterate(h, q)?;
                Ok((0..h.rows()).map(|i| h[(i, i)]).collect())
            }

            fn vectors(
                t: &Matrix<Self>,
                q: &Matrix<Self>,
                values: &[Self::Eigen],
                side: EigenvectorSide,
                workers: &dyn Workers,
            ) -> Result<Matrix<Self::Eigen>, RoutineError> {
                triangular_vectors(t, q, values, side, workers)
            }
        }
    };
}

general!(f32);
general!(f64);
