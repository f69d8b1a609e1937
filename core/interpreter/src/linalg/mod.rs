//! Linear algebra for the operations `cholesky` and `triangular-solve`, and for LAPACK's functions.
//!
//! All functions compute with complex matrices in `f64`, regardless of the element type, and round
//! at the end. Conventions (signs, scalings, pivoting) follow LAPACK, so that results agree with
//! XLA's where mathematics leaves a choice.

mod eigen;
mod factor;
mod hessenberg;
mod householder;
mod matrix;
mod real_schur;
mod svd;
mod symmetric;
mod triangular;

pub(crate) use eigen::{eigenvectors, schur};
pub(crate) use factor::{cholesky_factor, lu_factor, solve_tridiagonal};
pub(crate) use hessenberg::hessenberg;
pub(crate) use householder::{qr_factor, qr_factor_pivoted, unitary_from_reflectors};
pub(crate) use matrix::{Matrix, batch_dims, matrices, stack};
pub(crate) use real_schur::{RealSchur, real_schur};
pub(crate) use svd::singular_values;
pub(crate) use symmetric::{symmetric_eigen, tridiagonal_form};
pub(crate) use triangular::{TriangularForm, solve};

use crate::error::{Outcome, ensure};
use crate::number::Complex;
use crate::value::Array;

/// Evaluates `cholesky`. The result holds the factor in one triangle and zeros in the other. If the
/// matrix has no factor, the result is NaN.
pub(crate) fn cholesky(x: &Array, lower: bool) -> Outcome<Array> {
    let factors = matrices(x)?.into_iter().map(|a| {
        ensure!(a.rows == a.columns, "cholesky of a matrix that is not square");
        let (mut factor, failed) = cholesky_factor(a, lower);
        let nan = Complex { re: f64::NAN, im: 0.0 };
        for r in 0..factor.rows {
            for c in 0..factor.columns {
                let outside = if lower { c > r } else { c < r };
                match failed {
                    Some(_) => factor.set(r, c, nan),
                    None if outside => factor.set(r, c, Complex::ZERO),
                    None => {}
                }
            }
        }
        Ok(factor)
    });
    stack(x.ty, &batch_dims(x), x.dims[x.rank() - 2..].to_vec(), &factors.collect::<Outcome<Vec<_>>>()?)
}

pub(crate) fn triangular_solve(a: &Array, b: &Array, form: TriangularForm) -> Outcome<Array> {
    let (left, right) = (matrices(a)?, matrices(b)?);
    ensure!(left.len() == right.len(), "the operands of triangular-solve differ in batch dimensions");
    let solved = left.iter().zip(right).map(|(a, b)| solve(a, b, form)).collect::<Outcome<Vec<_>>>()?;
    stack(b.ty, &batch_dims(b), b.dims[b.rank() - 2..].to_vec(), &solved)
}
