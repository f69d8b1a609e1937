//! Computes reductions to Hessenberg form and to tridiagonal form.

use std::marker::PhantomData;

use fusebox_core::hlo::ElementType;

use super::attributes::RequiredAttributes;
use super::call::{write, write_status};
use super::shapes::CallShapes;
use super::solve::ElementMarker;
use crate::linalg::batch::PerMatrix;
use crate::linalg::matrix::Matrix;
use crate::linalg::scalar::Scalar;
use crate::linalg::{hessenberg, tridiagonal};
use crate::{Operation, Routine, RoutineError, Unsupported, Workers, elements, elements_mut};

/// Reduction of a square matrix to Hessenberg form. The first result is a matrix that holds the
/// Hessenberg form and, below the first subdiagonal, the reflectors. The other results are the
/// scalar factors of the reflectors (taus) and a status.
#[derive(Debug)]
struct Hessenberg<T> {
    n: usize,
    /// Range of rows and columns to reduce. Outside these rows and columns, the matrix must already
    /// be upper triangular.
    active: std::ops::Range<usize>,
    of: ElementMarker<T>,
}

impl<T: Scalar> PerMatrix for Hessenberg<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], _: &dyn Workers) -> Result<(), RoutineError> {
        let ([input], [packed, taus, status]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let mut a = Matrix::from_rows(elements::<T>(input)?, self.n, self.n)?;
        let found = hessenberg::reduce(&mut a, self.active.start, self.active.end)?;
        a.write_rows(elements_mut(packed)?)?;
        write(taus, &found)?;
        write_status(status, 0)
    }

    fn cost(&self) -> usize {
        self.n.saturating_pow(3).saturating_mul(3)
    }

    fn describe(&self) -> &'static str {
        "Hessenberg form by reflectors"
    }
}

pub(super) fn gehrd<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2])?;
    let n = form.square(0)?;
    let ty = form.element_type();
    form.expect(&[(ty, &[n, n]), (ty, &[n.saturating_sub(1)]), (ElementType::S32, &[])])?;
    let attributes = RequiredAttributes::of(operation.instruction)?;
    let bound = |name| attributes.get::<i64>(name).map(|bound| usize::try_from(bound).unwrap_or(usize::MAX));
    let (low, high) = (bound("low")?, bound("high")?);
    let active = match n {
        0 => 0..0,
        _ if 1 <= low && low <= high && high <= n => low - 1..high,
        _ => {
            return Err(Unsupported::new(format!(
                "`low = {low}, high = {high}` in backend_config: expected rows from 1 to {n}"
            )));
        }
    };
    form.routine(Hessenberg::<T> { n, active, of: PhantomData })
}

/// Reduction of a Hermitian matrix to tridiagonal form. The first result is a matrix that holds the
/// three diagonals of the tridiagonal form and, outside these diagonals, the reflectors. The other
/// results are the main diagonal, the off-diagonal, the scalar factors of the reflectors (taus) and
/// a status.
#[derive(Debug)]
struct Tridiagonal<T> {
    n: usize,
    lower: bool,
    of: ElementMarker<T>,
}

impl<T: Scalar> PerMatrix for Tridiagonal<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], _: &dyn Workers) -> Result<(), RoutineError> {
        let ([input], [packed, diagonal, off_diagonal, taus, status]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let mut a = Matrix::from_rows(elements::<T>(input)?, self.n, self.n)?;
        if !self.lower {
            // Reversing the order of rows and columns exchanges the upper and the lower triangle.
            a.reverse();
        }
        let mut found = tridiagonal::reduce(&mut a)?;
        if !self.lower {
            a.reverse();
            found.diagonal.reverse();
            found.off_diagonal.reverse();
            found.taus.reverse();
        }
        a.write_rows(elements_mut(packed)?)?;
        write(diagonal, &found.diagonal)?;
        write(off_diagonal, &found.off_diagonal)?;
        write(taus, &found.taus)?;
        write_status(status, 0)
    }

    fn cost(&self) -> usize {
        self.n.saturating_pow(3).saturating_mul(3)
    }

    fn describe(&self) -> &'static str {
        "tridiagonal form by reflectors"
    }
}

pub(super) fn sytrd<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2])?;
    let n = form.square(0)?;
    let (ty, below) = (form.element_type(), n.saturating_sub(1));
    let real = ty.real_part();
    form.expect(&[(ty, &[n, n]), (real, &[n]), (real, &[below]), (ty, &[below]), (ElementType::S32, &[])])?;
    let lower = RequiredAttributes::of(operation.instruction)?.is_first("uplo", ['L', 'U'])?;
    form.routine(Tridiagonal::<T> { n, lower, of: PhantomData })
}
