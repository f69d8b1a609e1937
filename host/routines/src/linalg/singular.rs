//! Computes singular values and vectors.

use faer::Par;
use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::prelude::default;

use super::library::allocate;
use super::matrix::Matrix;
use super::scalar::Scalar;
use crate::{RoutineError, scratch};

/// Selects the singular vectors to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SingularVectors {
    None,
    /// One left and one right vector per singular value.
    Thin,
    /// A full set of left vectors and a full set of right vectors. Each of the two sets is a basis
    /// of its whole space.
    Full,
}

/// Singular values in descending order, and optional singular vectors.
#[derive(Debug)]
pub(crate) struct SingularDecomposition<T: Scalar> {
    pub values: Vec<T::Real>,
    /// Matrices whose columns are the left and the right singular vectors.
    pub vectors: Option<(Matrix<T>, Matrix<T>)>,
}

/// Computes singular values and, if requested, singular vectors. Returns `None` if the matrix has
/// non-finite elements or the iteration does not converge.
pub(crate) fn decompose<T: Scalar>(
    a: &mut Matrix<T>,
    vectors: SingularVectors,
) -> Result<Option<SingularDecomposition<T>>, RoutineError> {
    if !a.is_finite() {
        return Ok(None);
    }
    let undo = a.scale_into_range();
    let (rows, columns) = (a.rows(), a.columns());
    let size = rows.min(columns);
    let mut values = scratch::<T>(size)?;
    let (wanted, left, right) = match vectors {
        SingularVectors::None => (ComputeSvdVectors::No, 0, 0),
        SingularVectors::Thin => (ComputeSvdVectors::Thin, size, size),
        SingularVectors::Full => (ComputeSvdVectors::Full, rows, columns),
    };
    let (mut left, mut right) = (Matrix::zeros(rows, left)?, Matrix::zeros(columns, right)?);
    let mut memory = allocate(svd_scratch::<T>(rows, columns, wanted, wanted, Par::Seq, default()))?;
    let some = vectors != SingularVectors::None;
    let done = svd(
        a.view(),
        DiagMut::from_slice_mut(&mut values),
        some.then(|| left.view_mut()),
        some.then(|| right.view_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        default(),
    );
    if done.is_err() {
        return Ok(None);
    }
    let values = values.iter().map(|z| z.re() * undo).collect();
    Ok(Some(SingularDecomposition { values, vectors: some.then_some((left, right)) }))
}
