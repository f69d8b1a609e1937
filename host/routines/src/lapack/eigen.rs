//! Computes eigenvalues, singular values and Schur forms, as LAPACK does.
//!
//! If a matrix has non-finite elements or an iteration does not converge, the results are NaN and
//! the status is not zero.

use std::marker::PhantomData;

use fusebox_core::hlo::ElementType;

use super::attributes::RequiredAttributes;
use super::call::{fill, write, write_status};
use super::shapes::CallShapes;
use super::solve::ElementMarker;
use crate::linalg::batch::PerMatrix;
use crate::linalg::double::InDouble;
use crate::linalg::general::{self, HasSchurForm};
use crate::linalg::matrix::Matrix;
use crate::linalg::scalar::{Scalar, real};
use crate::linalg::singular::SingularVectors;
use crate::{Operation, Routine, RoutineError, Unsupported, Workers, elements, elements_mut};

/// Eigenvalues and optional eigenvectors of a Hermitian matrix. The results are the eigenvectors,
/// the eigenvalues in ascending order, and a status.
#[derive(Debug)]
struct Symmetric<T> {
    n: usize,
    lower: bool,
    vectors: bool,
    of: ElementMarker<T>,
}

impl<T: InDouble> PerMatrix for Symmetric<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], _: &dyn Workers) -> Result<(), RoutineError> {
        let ([input], [vectors, values, status]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let input = elements::<T>(input)?;
        let a = if self.lower {
            Matrix::from_rows(input, self.n, self.n)?
        } else {
            Matrix::adjoint_from_rows(input, self.n, self.n)?
        };
        let Some(eigen) = T::eigen(a, self.vectors)? else {
            fill(vectors, T::not_a_number())?;
            fill(values, real::<T::Real>(f64::NAN))?;
            return write_status(status, self.n.max(1));
        };
        match eigen.vectors {
            Some(columns) => columns.write_rows(elements_mut(vectors)?)?,
            None => fill(vectors, T::nothing())?,
        }
        write(values, &eigen.values)?;
        write_status(status, 0)
    }

    fn cost(&self) -> usize {
        self.n.saturating_pow(3).saturating_mul(9)
    }

    fn describe(&self) -> &'static str {
        "eigenvalues by tridiagonal form, implicit QR or divide and conquer"
    }
}

pub(super) fn syevd<T: InDouble>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2])?;
    let n = form.square(0)?;
    let ty = form.element_type();
    form.expect(&[(ty, &[n, n]), (ty.real_part(), &[n]), (ElementType::S32, &[])])?;
    let attributes = RequiredAttributes::of(operation.instruction)?;
    let (lower, vectors) = (attributes.is_first("uplo", ['L', 'U'])?, attributes.is_first("mode", ['V', 'N'])?);
    form.routine(Symmetric::<T> { n, lower, vectors, of: PhantomData })
}

/// Singular values and optional singular vectors. The first result is the matrix that LAPACK
/// overwrites. Fusebox fills the first result with zeros. The other results are the singular values
/// in descending order, the left singular vectors, the adjoint of the right singular vectors, and a
/// status.
#[derive(Debug)]
struct SingularValues<T> {
    rows: usize,
    columns: usize,
    vectors: SingularVectors,
    of: ElementMarker<T>,
}

impl<T: InDouble> PerMatrix for SingularValues<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], _: &dyn Workers) -> Result<(), RoutineError> {
        let ([input], [rest, values, left, right, status]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let a = Matrix::from_rows(elements::<T>(input)?, self.rows, self.columns)?;
        fill(rest, T::nothing())?;
        let Some(found) = T::decompose(a, self.vectors)? else {
            fill(values, real::<T::Real>(f64::NAN))?;
            fill(left, T::not_a_number())?;
            fill(right, T::not_a_number())?;
            return write_status(status, 1);
        };
        match found.vectors {
            Some((u, v)) => {
                u.write_rows(elements_mut(left)?)?;
                v.write_rows_of_adjoint(elements_mut(right)?)?;
            }
            None => {
                fill(left, T::nothing())?;
                fill(right, T::nothing())?;
            }
        }
        write(values, &found.values)?;
        write_status(status, 0)
    }

    fn cost(&self) -> usize {
        self.rows.saturating_mul(self.columns).saturating_mul(self.rows.min(self.columns)).saturating_mul(12)
    }

    fn describe(&self) -> &'static str {
        "singular values by bidiagonal form, implicit QR or divide and conquer"
    }
}

pub(super) fn gesdd<T: InDouble>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2])?;
    let [rows, columns] = form.matrix(0)?;
    let (ty, size) = (form.element_type(), rows.min(columns));
    let vectors = match RequiredAttributes::of(operation.instruction)?.letter("mode")? {
        'A' => SingularVectors::Full,
        'S' => SingularVectors::Thin,
        'N' => SingularVectors::None,
        letter => return Err(Unsupported::new(format!("`mode = '{letter}'` in backend_config: expected A, S or N"))),
    };
    let (left, right) = (form.result_matrix(2, ty)?, form.result_matrix(3, ty)?);
    let fits = match vectors {
        // The program does not read the results for singular vectors, so these results may have any
        // shape.
        SingularVectors::None => true,
        SingularVectors::Thin => (left, right) == ([rows, size], [size, columns]),
        SingularVectors::Full => (left, right) == ([rows, rows], [columns, columns]),
    };
    if !fits {
        return Err(Unsupported::new("singular vectors of another shape: expected the shape that the mode needs"));
    }
    let status = ElementType::S32;
    form.expect(&[(ty, &[rows, columns]), (ty.real_part(), &[size]), (ty, &left), (ty, &right), (status, &[])])?;
    form.routine(SingularValues::<T> { rows, columns, vectors, of: PhantomData })
}

/// Schur form of a square matrix. The results are the Schur form, its unitary matrix, the
/// eigenvalues, the number of sorted eigenvalues (always zero), and a status. For a real matrix,
/// two results hold the real and the imaginary parts of the eigenvalues.
#[derive(Debug)]
struct Schur<T> {
    n: usize,
    of: ElementMarker<T>,
}

impl<T: HasSchurForm> PerMatrix for Schur<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), RoutineError> {
        let ([input], [form, unitary, values @ .., sorted, status]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let a = Matrix::from_rows(elements::<T>(input)?, self.n, self.n)?;
        write_status(sorted, 0)?;
        let found = match general::schur(a, workers)? {
            Ok(found) => found,
            Err(failed) => {
                fill(form, T::not_a_number())?;
                fill(unitary, T::not_a_number())?;
                write_values::<T>(values, &vec![T::Eigen::not_a_number(); self.n])?;
                return write_status(status, failed.max(1));
            }
        };
        found.form.write_rows(elements_mut(form)?)?;
        found.unitary.write_rows(elements_mut(unitary)?)?;
        write_values::<T>(values, &found.values)?;
        write_status(status, 0)
    }

    fn cost(&self) -> usize {
        self.n.saturating_pow(3).saturating_mul(25)
    }

    fn describe(&self) -> &'static str {
        "Schur form by QR iteration"
    }
}

/// Writes eigenvalues to one complex result, or the real and imaginary parts of the eigenvalues to
/// two real results.
fn write_values<T: HasSchurForm>(results: &mut [&mut [u8]], values: &[T::Eigen]) -> Result<(), RoutineError> {
    match results {
        [both] => write(both, values),
        [re, im] => {
            write(re, &values.iter().map(|z| z.re()).collect::<Vec<_>>())?;
            write(im, &values.iter().map(|z| z.im()).collect::<Vec<_>>())
        }
        _ => Err(RoutineError::Buffer),
    }
}

/// Returns the element types of the results that hold eigenvalues. `ty` is the element type of the
/// matrix.
fn types_of_values(ty: ElementType) -> Vec<ElementType> {
    if ty.is_complex() { vec![ty] } else { vec![ty, ty] }
}

pub(super) fn gees<T: HasSchurForm>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2])?;
    let n = form.square(0)?;
    let ty = form.element_type();
    let (matrix, vector, status): (&[usize], &[usize], _) = (&[n, n], &[n], (ElementType::S32, &[][..]));
    let values = types_of_values(ty).into_iter().map(|ty| (ty, vector));
    let results: Vec<_> = [(ty, matrix); 2].into_iter().chain(values).chain([status; 2]).collect();
    form.expect(&results)?;
    if RequiredAttributes::of(operation.instruction)?.letter("sort")? != 'N' {
        return Err(Unsupported::new("a sorted Schur form"));
    }
    form.routine(Schur::<T> { n, of: PhantomData })
}

/// Eigenvalues and optional eigenvectors of any square matrix. The results are the eigenvalues, the
/// left and the right eigenvectors, and a status. For a real matrix, two results hold the real and
/// the imaginary parts of the eigenvalues.
#[derive(Debug)]
struct Eigen<T> {
    n: usize,
    left: bool,
    right: bool,
    of: ElementMarker<T>,
}

impl<T: HasSchurForm> PerMatrix for Eigen<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), RoutineError> {
        let ([input], [values @ .., left, right, status]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let a = Matrix::from_rows(elements::<T>(input)?, self.n, self.n)?;
        let nan = T::Eigen::not_a_number();
        let found = match general::eigen(a, self.left, self.right, workers)? {
            Ok(found) => found,
            Err(failed) => {
                write_values::<T>(values, &vec![nan; self.n])?;
                fill(left, nan)?;
                fill(right, nan)?;
                return write_status(status, failed.max(1));
            }
        };
        for (vectors, result) in [(found.left, left), (found.right, right)] {
            match vectors {
                Some(vectors) => vectors.write_rows(elements_mut(result)?)?,
                None => fill(result, T::Eigen::nothing())?,
            }
        }
        write_values::<T>(values, &found.values)?;
        write_status(status, 0)
    }

    fn cost(&self) -> usize {
        self.n.saturating_pow(3).saturating_mul(25)
    }

    fn describe(&self) -> &'static str {
        "eigenvalues by QR iteration"
    }
}

pub(super) fn geev<T: HasSchurForm>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2])?;
    let n = form.square(0)?;
    let ty = form.element_type();
    let complex = match ty {
        ElementType::F32 => ElementType::C64,
        ElementType::F64 => ElementType::C128,
        complex => complex,
    };
    let (matrix, vector): (&[usize], &[usize]) = (&[n, n], &[n]);
    let values = types_of_values(ty).into_iter().map(|ty| (ty, vector));
    let results: Vec<_> = values.chain([(complex, matrix); 2]).chain([(ElementType::S32, &[][..])]).collect();
    form.expect(&results)?;
    let attributes = RequiredAttributes::of(operation.instruction)?;
    let wanted = |name| attributes.is_first(name, ['V', 'N']);
    form.routine(Eigen::<T> { n, left: wanted("compute_left")?, right: wanted("compute_right")?, of: PhantomData })
}
