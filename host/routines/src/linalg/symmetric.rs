//! Eigenvalues and eigenvectors of Hermitian matrices.

use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{ComputeEigenvectors, SelfAdjointEvdParams, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Auto, Par, Spec};

use super::library::allocate;
use super::matrix::Matrix;
use super::scalar::Scalar;
use crate::{RoutineError, scratch};

/// Rows from which on a matrix is divided in two: rotations of larger ones leave residuals several
/// times as large, as they accumulate. LAPACK divides from the same size on.
const LEAST_DIVIDED: usize = 26;

/// Eigenvalues, ascending, and eigenvectors as columns.
#[derive(Debug)]
pub(crate) struct Eigen<T: Scalar> {
    pub values: Vec<T::Real>,
    pub vectors: Option<Matrix<T>>,
}

/// Of the Hermitian matrix in the lower triangle of `a`. Nothing if it is not finite or the iteration does not converge.
pub(crate) fn eigen<T: Scalar>(a: &mut Matrix<T>, vectors: bool) -> Result<Option<Eigen<T>>, RoutineError> {
    let n = a.rows();
    for j in 0..n {
        a.column_mut(j)[..j].fill(T::nothing());
        a[(j, j)] = T::of_real(a[(j, j)].re());
    }
    if !a.is_finite() {
        return Ok(None);
    }
    // The library compares what couples the halves of a matrix with the elements of unit vectors: a
    // smaller matrix would come apart.
    let undo = a.scale_to_unit();
    let wanted = if vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut values = scratch::<T>(n)?;
    let mut columns = if vectors { Some(Matrix::zeros(n, n)?) } else { None };
    if n > 0 {
        let defaults = <SelfAdjointEvdParams as Auto<T>>::auto();
        let parameters = Spec::new(SelfAdjointEvdParams { recursion_threshold: LEAST_DIVIDED, ..defaults });
        let mut memory = allocate(self_adjoint_evd_scratch::<T>(n, wanted, Par::Seq, parameters))?;
        let into = DiagMut::from_slice_mut(&mut values);
        let columns = columns.as_mut().map(Matrix::view_mut);
        let stack = MemStack::new(&mut memory);
        if self_adjoint_evd(a.view(), into, columns, Par::Seq, stack, parameters).is_err() {
            return Ok(None);
        }
    }
    let values = values.iter().map(|z| z.re() * undo).collect();
    Ok(Some(Eigen { values, vectors: columns }))
}
