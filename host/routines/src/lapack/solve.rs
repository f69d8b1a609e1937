//! Computes Cholesky and LU factorisations, and solves triangular and tridiagonal systems of
//! equations.

use std::fmt::Debug;
use std::marker::PhantomData;

use faer::MatRef;
use fusebox_core::hlo::{ElementType, Op, Transpose};

use super::attributes::RequiredAttributes;
use super::call::{write, write_status};
use super::for_type;
use super::shapes::CallShapes;
use super::triangular::TriangularSystem;
use crate::linalg::batch::PerMatrix;
use crate::linalg::matrix::Matrix;
use crate::linalg::product::{Triangle, solve_triangle};
use crate::linalg::scalar::Scalar;
use crate::linalg::tridiagonal::TridiagonalSystem;
use crate::linalg::{cholesky, lu};
use crate::{Operation, Routine, RoutineError, Unsupported, Workers, elements, elements_mut, widened::widened};

/// Marker for the element type of a computation.
pub(super) type ElementMarker<T> = PhantomData<fn() -> T>;

/// Cholesky factorisation of an `n` × `n` matrix.
#[derive(Debug)]
struct Cholesky<T> {
    n: usize,
    lower: bool,
    /// Whether HLO's `cholesky` defines the results. If this field is false, LAPACK's function
    /// defines the results. HLO's `cholesky` sets the triangle outside the factor to zero, and sets
    /// all elements to NaN if the matrix has no Cholesky factor. LAPACK's function leaves the
    /// triangle outside the factor unchanged, and returns a status.
    clean: bool,
    of: ElementMarker<T>,
}

impl<T: Scalar> PerMatrix for Cholesky<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), RoutineError> {
        let ([input], [result, status @ ..]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let input = elements::<T>(input)?;
        // The factor U of A is the adjoint of the factor L of A's adjoint.
        let mut a = if self.lower {
            Matrix::from_rows(input, self.n, self.n)?
        } else {
            Matrix::adjoint_from_rows(input, self.n, self.n)?
        };
        let failed = cholesky::factorise(&mut a, workers)?;
        if self.clean {
            match failed {
                Some(_) => a.elements_mut().fill(T::not_a_number()),
                None => (0..self.n).for_each(|j| a.column_mut(j)[..j].fill(T::nothing())),
            }
        }
        let result = elements_mut::<T>(result)?;
        if self.lower {
            a.write_rows(result)?
        } else {
            a.write_rows_of_adjoint(result)?
        }
        if !self.clean {
            self.restore_other_triangle(input, result);
        }
        status.iter_mut().try_for_each(|status| write_status(status, failed.unwrap_or(0)))
    }

    fn cost(&self) -> usize {
        self.n.saturating_pow(3) / 3
    }

    fn describe(&self) -> &'static str {
        "Cholesky factorisation"
    }
}

impl<T: Scalar> Cholesky<T> {
    /// Copies one triangle from the input to the result: the triangle that the factorisation does
    /// not compute. On some processors, the crate faer overwrites elements next to the computed
    /// triangle.
    fn restore_other_triangle(&self, input: &[T], result: &mut [T]) {
        let rows = input.chunks_exact(self.n.max(1)).zip(result.chunks_exact_mut(self.n.max(1)));
        for (row, (given, found)) in rows.enumerate() {
            let other = if self.lower { row + 1..self.n } else { 0..row };
            found[other.clone()].copy_from_slice(&given[other]);
        }
    }
}

pub(super) fn potrf<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2])?;
    let n = form.square(0)?;
    form.expect(&[(form.element_type(), &[n, n]), (ElementType::S32, &[])])?;
    let lower = RequiredAttributes::of(operation.instruction)?.is_first("uplo", ['L', 'U'])?;
    form.routine(Cholesky::<T> { n, lower, clean: false, of: PhantomData })
}

/// Creates the routine of `cholesky`.
pub fn make_cholesky(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let Op::Cholesky { lower } = operation.instruction.op else {
        return Err(Unsupported::new("a Cholesky factorisation without its attributes"));
    };
    fn typed<T: Scalar>(form: &CallShapes, n: usize, lower: bool) -> Result<Box<dyn Routine>, Unsupported> {
        form.routine(Cholesky::<T> { n, lower, clean: true, of: PhantomData })
    }
    let form = CallShapes::new(operation, &[2])?;
    let n = form.square(0)?;
    form.expect(&[(form.element_type(), &[n, n])])?;
    match form.element_type() {
        ty if ty.is_float() && ty.bits() < 32 => widened(typed::<f32>(&form, n, lower)?, ty),
        ty => for_type!(ty, typed(&form, n, lower)),
    }
}

/// LU factorisation. The results are the packed factors, the pivots and a status.
#[derive(Debug)]
struct Lu<T> {
    rows: usize,
    columns: usize,
    of: ElementMarker<T>,
}

impl<T: Scalar> PerMatrix for Lu<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), RoutineError> {
        let ([input], [factors, pivots, status]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let mut a = Matrix::from_rows(elements::<T>(input)?, self.rows, self.columns)?;
        let found = lu::factorise(&mut a, workers)?;
        a.write_rows(elements_mut(factors)?)?;
        let from_one: Vec<i32> = found.rows.iter().map(|&row| i32::try_from(row + 1).unwrap_or(i32::MAX)).collect();
        write(pivots, &from_one)?;
        write_status(status, found.singular)
    }

    fn cost(&self) -> usize {
        self.rows.saturating_mul(self.columns).saturating_mul(self.rows.min(self.columns))
    }

    fn describe(&self) -> &'static str {
        "LU factorisation with partial pivoting"
    }
}

pub(super) fn getrf<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2])?;
    let [rows, columns] = form.matrix(0)?;
    let size = rows.min(columns);
    form.expect(&[(form.element_type(), &[rows, columns]), (ElementType::S32, &[size]), (ElementType::S32, &[])])?;
    form.routine(Lu::<T> { rows, columns, of: PhantomData })
}

/// Solves a triangular system, `op(a) x = b` or `x op(a) = b`, for `x`.
#[derive(Debug)]
struct TriangularSolve<T> {
    /// Number of rows and of columns of the triangular matrix `a`.
    n: usize,
    /// Number of right-hand sides: the columns of `b` if `a` is on the left, else the rows of `b`.
    count: usize,
    system: TriangularSystem,
    of: ElementMarker<T>,
}

impl<T: Scalar> PerMatrix for TriangularSolve<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), RoutineError> {
        let ([a, b], [x]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let (a, b, x) = (elements::<T>(a)?, elements::<T>(b)?, elements_mut::<T>(x)?);
        if a.len() != self.n * self.n || b.len() != self.n * self.count || x.len() != b.len() {
            return Err(RoutineError::Buffer);
        }
        let TriangularSystem { left_side, lower, unit_diagonal, transpose_a } = self.system;
        let transposed = self.system.is_transposed();
        let a = MatRef::from_row_major_slice(a, self.n, self.n);
        let a = if transposed { a.transpose() } else { a };
        let conjugate = transpose_a == Transpose::Adjoint;
        let form = Triangle { lower: lower != transposed, unit: unit_diagonal, conjugate };
        if !left_side {
            x.copy_from_slice(b);
            return solve_triangle(a, form, x, workers);
        }
        let mut right = Matrix::from_rows(b, self.n, self.count)?;
        solve_triangle(a, form, right.elements_mut(), workers)?;
        right.write_rows(x)
    }

    fn cost(&self) -> usize {
        self.n.saturating_mul(self.n).saturating_mul(self.count)
    }

    fn describe(&self) -> &'static str {
        "a triangular system by substitution"
    }
}

impl<T: Scalar> TriangularSolve<T> {
    /// Creates the routine for the operands' shapes.
    fn routine(form: &CallShapes, system: TriangularSystem) -> Result<Box<dyn Routine>, Unsupported> {
        let n = form.square(0)?;
        let [rows, columns] = form.matrix(1)?;
        let (size, count) = if system.left_side { (rows, columns) } else { (columns, rows) };
        if size != n {
            return Err(Unsupported::new(
                "a triangular system whose right-hand side does not have the size of the matrix",
            ));
        }
        form.expect(&[(form.element_type(), &[rows, columns])])?;
        form.routine(TriangularSolve::<T> { n, count, system, of: PhantomData })
    }
}

pub(super) fn trsm<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    TriangularSolve::<T>::routine(&CallShapes::new(operation, &[2, 2])?, TriangularSystem::of(operation.instruction)?)
}

/// Creates the routine of `triangular-solve`.
pub fn make_triangular_solve(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    fn typed<T: Scalar>(form: &CallShapes, system: TriangularSystem) -> Result<Box<dyn Routine>, Unsupported> {
        TriangularSolve::<T>::routine(form, system)
    }
    let system = TriangularSystem::of(operation.instruction)?;
    let form = CallShapes::new(operation, &[2, 2])?;
    match form.element_type() {
        ty if ty.is_float() && ty.bits() < 32 => widened(typed::<f32>(&form, system)?, ty),
        ty => for_type!(ty, typed(&form, system)),
    }
}

/// Solves a tridiagonal system of `n` equations for `count` right-hand sides.
#[derive(Debug)]
struct TridiagonalSolve<T> {
    n: usize,
    count: usize,
    of: ElementMarker<T>,
}

impl<T: Scalar> PerMatrix for TridiagonalSolve<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], _: &dyn Workers) -> Result<(), RoutineError> {
        let ([lower, main, upper, b], [lower_left, main_left, upper_left, x, status]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let line = |bytes| Ok::<_, RoutineError>(elements::<T>(bytes)?.to_vec());
        let mut system = TridiagonalSystem { lower: line(lower)?, diagonal: line(main)?, upper: line(upper)? };
        // The arrays of all three diagonals have length `n`. In the array of the lower diagonal,
        // element 0 is unused.
        if [&system.lower, &system.diagonal, &system.upper].iter().any(|line| line.len() != self.n) {
            return Err(RoutineError::Buffer);
        }
        system.lower.rotate_left(1.min(self.n));
        let (b, x) = (elements::<T>(b)?, elements_mut::<T>(x)?);
        if b.len() != self.n.saturating_mul(self.count) || b.len() != x.len() {
            return Err(RoutineError::Buffer);
        }
        x.copy_from_slice(b);
        let singular = system.solve(x, self.count);
        system.lower.rotate_right(1.min(self.n));
        write(lower_left, &system.lower)?;
        write(main_left, &system.diagonal)?;
        write(upper_left, &system.upper)?;
        write_status(status, singular)
    }

    fn cost(&self) -> usize {
        self.n.saturating_mul(self.count + 1).saturating_mul(8)
    }

    fn describe(&self) -> &'static str {
        "a tridiagonal system by elimination"
    }
}

pub(super) fn gtsv<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[1, 1, 1, 2])?;
    let ty = form.element_type();
    let n = form.vector(0, ty)?;
    let [rows, count] = form.matrix(3)?;
    if form.vector(1, ty)? != n || form.vector(2, ty)? != n || rows != n {
        return Err(Unsupported::new("diagonals and a right-hand side of different lengths: expected equal lengths"));
    }
    form.expect(&[(ty, &[n]), (ty, &[n]), (ty, &[n]), (ty, &[n, count]), (ElementType::S32, &[])])?;
    form.routine(TridiagonalSolve::<T> { n, count, of: PhantomData })
}
