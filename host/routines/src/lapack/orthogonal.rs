//! Computes QR factorisations. Also computes unitary matrices from their reflectors, and multiplies
//! matrices by these unitary matrices.

use std::marker::PhantomData;

use fusebox_core::hlo::ElementType;

use super::attributes::RequiredAttributes;
use super::call::write;
use super::shapes::CallShapes;
use super::solve::ElementMarker;
use crate::linalg::batch::PerMatrix;
use crate::linalg::matrix::Matrix;
use crate::linalg::qr;
use crate::linalg::scalar::Scalar;
use crate::{Operation, Routine, RoutineError, Unsupported, Workers, elements, elements_mut};

/// QR factorisation. The results are the packed factors and the scalar factors of the reflectors
/// (taus). With column pivoting, the order of the columns is another result, between the packed
/// factors and the taus.
#[derive(Debug)]
struct Qr<T> {
    rows: usize,
    columns: usize,
    pivoted: bool,
    of: ElementMarker<T>,
}

impl<T: Scalar> PerMatrix for Qr<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), RoutineError> {
        match (arguments, results) {
            ([input], [packed, taus]) if !self.pivoted => {
                let mut a = Matrix::from_rows(elements::<T>(input)?, self.rows, self.columns)?;
                let found = qr::factorise(&mut a, workers)?;
                a.write_rows(elements_mut(packed)?)?;
                write(taus, &found)
            }
            ([input, fixed], [packed, order, taus]) => {
                let mut a = Matrix::from_rows(elements::<T>(input)?, self.rows, self.columns)?;
                let fixed = elements::<i32>(fixed)?;
                let found = qr::factorise_pivoted(&mut a, |c| fixed.get(c).is_some_and(|&x| x != 0));
                a.write_rows(elements_mut(packed)?)?;
                let from_one = found.order.iter().map(|&column| i32::try_from(column + 1).unwrap_or(i32::MAX));
                write(order, &from_one.collect::<Vec<i32>>())?;
                write(taus, &found.taus)
            }
            _ => Err(RoutineError::Buffer),
        }
    }

    fn cost(&self) -> usize {
        self.rows.saturating_mul(self.columns).saturating_mul(self.rows.min(self.columns)).saturating_mul(2)
    }

    fn describe(&self) -> &'static str {
        if self.pivoted { "QR factorisation with column pivoting" } else { "QR factorisation by blocks of reflectors" }
    }
}

pub(super) fn geqrf<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2])?;
    let [rows, columns] = form.matrix(0)?;
    let ty = form.element_type();
    form.expect(&[(ty, &[rows, columns]), (ty, &[rows.min(columns)])])?;
    form.routine(Qr::<T> { rows, columns, pivoted: false, of: PhantomData })
}

pub(super) fn geqp3<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2, 1])?;
    let [rows, columns] = form.matrix(0)?;
    let (ty, size) = (form.element_type(), rows.min(columns));
    if form.vector(1, ElementType::S32)? != columns {
        return Err(Unsupported::new("an order of the columns of another length: expected one entry for each column"));
    }
    form.expect(&[(ty, &[rows, columns]), (ElementType::S32, &[columns]), (ty, &[size])])?;
    form.routine(Qr::<T> { rows, columns, pivoted: true, of: PhantomData })
}

/// Computes the first columns of a product of reflectors, which is a unitary matrix.
#[derive(Debug)]
struct Unitary<T> {
    rows: usize,
    columns: usize,
    reflectors: usize,
    of: ElementMarker<T>,
}

impl<T: Scalar> PerMatrix for Unitary<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), RoutineError> {
        let ([packed, taus], [result]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let packed = Matrix::from_rows(elements::<T>(packed)?, self.rows, self.columns)?;
        let q = qr::unitary(&packed, elements::<T>(taus)?, workers)?;
        q.write_rows(elements_mut(result)?)
    }

    fn cost(&self) -> usize {
        self.rows.saturating_mul(self.columns).saturating_mul(self.reflectors).saturating_mul(2)
    }

    fn describe(&self) -> &'static str {
        "a product of reflectors"
    }
}

pub(super) fn orgqr<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2, 1])?;
    let [rows, columns] = form.matrix(0)?;
    let ty = form.element_type();
    let reflectors = form.vector(1, ty)?;
    if reflectors > columns || columns > rows {
        return Err(Unsupported::new(
            "more columns than rows, or more reflectors than columns: expected at most as many",
        ));
    }
    form.expect(&[(ty, &[rows, columns])])?;
    form.routine(Unitary::<T> { rows, columns, reflectors, of: PhantomData })
}

/// Multiplies a matrix, from the left or from the right, by a product of reflectors or by the
/// adjoint of this product.
#[derive(Debug)]
struct TimesUnitary<T> {
    /// Numbers of rows and columns of two matrices. The matrix `packed` holds the reflectors, and
    /// `matrix` is the matrix to multiply.
    packed: [usize; 2],
    matrix: [usize; 2],
    left: bool,
    adjoint: bool,
    of: ElementMarker<T>,
}

impl<T: Scalar> PerMatrix for TimesUnitary<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), RoutineError> {
        let ([packed, taus, input], [result]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let packed = Matrix::from_rows(elements::<T>(packed)?, self.packed[0], self.packed[1])?;
        let (taus, input, result) = (elements::<T>(taus)?, elements::<T>(input)?, elements_mut::<T>(result)?);
        let [rows, columns] = self.matrix;
        if self.left {
            let mut c = Matrix::from_rows(input, rows, columns)?;
            qr::apply_unitary(&packed, taus, self.adjoint, &mut c, workers)?;
            return c.write_rows(result);
        }
        // C Q is the adjoint of Qᴴ Cᴴ.
        let mut c = Matrix::adjoint_from_rows(input, columns, rows)?;
        qr::apply_unitary(&packed, taus, !self.adjoint, &mut c, workers)?;
        c.write_rows_of_adjoint(result)
    }

    fn cost(&self) -> usize {
        self.matrix[0].saturating_mul(self.matrix[1]).saturating_mul(self.packed[1]).saturating_mul(4)
    }

    fn describe(&self) -> &'static str {
        "a product with reflectors"
    }
}

pub(super) fn ormqr<T: Scalar>(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let form = CallShapes::new(operation, &[2, 1, 2])?;
    let (packed, matrix) = (form.matrix(0)?, form.matrix(2)?);
    let ty = form.element_type();
    let attributes = RequiredAttributes::of(operation.instruction)?;
    let (left, adjoint) = (attributes.get("left")?, attributes.get("transpose")?);
    let reflectors = form.vector(1, ty)?;
    let size = if left { matrix[0] } else { matrix[1] };
    if packed[0] != size || reflectors > packed[1] || reflectors > size {
        return Err(Unsupported::new(
            "reflectors that do not fit the matrix: expected as many elements as it has rows, or columns",
        ));
    }
    form.expect(&[(ty, &matrix)])?;
    form.routine(TimesUnitary::<T> { packed, matrix, left, adjoint, of: PhantomData })
}
