//! Computes eigenvalues and eigenvectors of Hermitian matrices.

use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{ComputeEigenvectors, SelfAdjointEvdParams, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Auto, Par, Spec};

use super::library::allocate;
use super::matrix::Matrix;
use super::scalar::Scalar;
use crate::{RoutineError, scratch};

/// Minimum number of rows for the divide-and-conquer algorithm. LAPACK uses the same minimum number
/// of rows. Smaller matrices are diagonalised by rotations. In larger matrices, the errors of
/// rotations would accumulate: residuals would be several times as large as with divide and
/// conquer.
const LEAST_DIVIDED: usize = 26;

/// Eigenvalues in ascending order, and optional eigenvectors. The eigenvectors are the columns of a
/// matrix.
#[derive(Debug)]
pub(crate) struct HermitianEigen<T: Scalar> {
    pub values: Vec<T::Real>,
    pub vectors: Option<Matrix<T>>,
}

/// Computes the eigenvalues and, if requested, the eigenvectors of a Hermitian matrix. Reads only
/// the lower triangle of `a`. Returns `None` if this triangle has non-finite elements or the
/// iteration does not converge.
pub(crate) fn eigen<T: Scalar>(a: &mut Matrix<T>, vectors: bool) -> Result<Option<HermitianEigen<T>>, RoutineError> {
    let n = a.rows();
    for j in 0..n {
        a.column_mut(j)[..j].fill(T::nothing());
        a[(j, j)] = T::of_real(a[(j, j)].re());
    }
    if !a.is_finite() {
        return Ok(None);
    }
    // The crate faer splits a matrix into two halves. It neglects elements between the halves that
    // are small compared with elements of unit vectors. If all elements of the matrix were small,
    // faer would neglect elements that matter.
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
    Ok(Some(HermitianEigen { values, vectors: columns }))
}
