//! Computes eigenvalues and singular values of single-precision matrices in double precision. In
//! single precision, the rounding errors of the crate faer are 10 to 100 times as large as those of
//! LAPACK.

use num_complex::Complex;

use super::matrix::Matrix;
use super::scalar::Scalar;
use super::singular::{self, SingularDecomposition, SingularVectors};
use super::symmetric::{self, HermitianEigen};
use crate::RoutineError;

/// An element type whose eigenvalues and singular values are computed in double precision.
pub(crate) trait InDouble: Scalar {
    /// Computes eigenvalues and eigenvectors as [`symmetric::eigen`] does.
    fn eigen(a: Matrix<Self>, vectors: bool) -> Result<Option<HermitianEigen<Self>>, RoutineError>;

    /// Computes singular values and vectors as [`singular::decompose`] does.
    fn decompose(
        a: Matrix<Self>,
        vectors: SingularVectors,
    ) -> Result<Option<SingularDecomposition<Self>>, RoutineError>;
}

macro_rules! as_it_is {
    ($($ty:ty),+) => {
        $(impl InDouble for $ty {
            fn eigen(mut a: Matrix<Self>, vectors: bool) -> Result<Option<HermitianEigen<Self>>, RoutineError> {
                symmetric::eigen(&mut a, vectors)
            }

            fn decompose(mut a: Matrix<Self>, vectors: SingularVectors) -> Result<Option<SingularDecomposition<Self>>, RoutineError> {
                singular::decompose(&mut a, vectors)
            }
        })+
    };
}
as_it_is!(f64, Complex<f64>);

macro_rules! widened {
    ($ty:ty, $widen:expr, $round:expr) => {
        impl InDouble for $ty {
            fn eigen(a: Matrix<Self>, vectors: bool) -> Result<Option<HermitianEigen<Self>>, RoutineError> {
                let Some(found) = symmetric::eigen(&mut a.map($widen)?, vectors)? else { return Ok(None) };
                let vectors = found.vectors.map(|vectors| vectors.map($round)).transpose()?;
                Ok(Some(HermitianEigen { values: single(&found.values), vectors }))
            }

            fn decompose(
                a: Matrix<Self>,
                vectors: SingularVectors,
            ) -> Result<Option<SingularDecomposition<Self>>, RoutineError> {
                let Some(found) = singular::decompose(&mut a.map($widen)?, vectors)? else { return Ok(None) };
                let vectors = match found.vectors {
                    Some((left, right)) => Some((left.map($round)?, right.map($round)?)),
                    None => None,
                };
                Ok(Some(SingularDecomposition { values: single(&found.values), vectors }))
            }
        }
    };
}
widened!(f32, f64::from, |z: f64| z as f32);
widened!(Complex<f32>, |z: Complex<f32>| Complex { re: f64::from(z.re), im: f64::from(z.im) }, |z: Complex<f64>| {
    Complex { re: z.re as f32, im: z.im as f32 }
});

fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}
