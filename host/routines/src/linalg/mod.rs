//! Implements linear algebra on dense matrices.
//!
//! Factorisations follow LAPACK's conventions if these conventions affect the results of a program.
//! The crate faer computes large products, eigenvalues of Hermitian matrices, and singular values.
//! This module implements two kinds of operations: operations that faer lacks, and operations for
//! which the results of faer and LAPACK differ. Only the shapes determine how work is split among
//! threads.
//!
//! ```text
//! scalar, matrix, vectors   numbers, matrices, loops over vectors
//! library                   workspace of the crate faer
//! batch                     one computation on every matrix of a batch
//! product                   products, triangular systems
//! cholesky, lu              factorisations of square systems
//! reflector, qr             Householder reflectors, QR factorisation
//! hessenberg, tridiagonal   condensed forms; tridiagonal systems
//! schur_real, schur_complex  Schur forms by QR iteration
//! eigenvectors, general     eigenvalues and eigenvectors of any square matrix
//! symmetric, singular       eigenvalues of Hermitian matrices, singular values
//! double                    the same for single-precision matrices, computed in double precision
//! ```

pub(crate) mod batch;
pub(crate) mod cholesky;
pub(crate) mod double;
pub(crate) mod eigenvectors;
pub(crate) mod general;
pub(crate) mod hessenberg;
pub(crate) mod library;
pub(crate) mod lu;
pub(crate) mod matrix;
pub(crate) mod product;
pub(crate) mod qr;
pub(crate) mod reflector;
pub(crate) mod scalar;
pub(crate) mod schur_complex;
pub(crate) mod schur_real;
pub(crate) mod singular;
pub(crate) mod symmetric;
pub(crate) mod tridiagonal;
pub(crate) mod vectors;
