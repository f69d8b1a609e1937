//! Checks the shapes and element types of a call's operands and results. Each shape consists of
//! batch dimensions, followed by the dimensions of a matrix, a vector or a scalar.

use fusebox_core::hlo::{ArrayShape, ElementType};

use crate::linalg::batch::{Batched, PerMatrix};
use crate::{Operation, Routine, Unsupported};

/// The shapes of the operands and results of a call. The methods ignore the batch dimensions: they
/// return and check the dimensions that follow.
pub(super) struct CallShapes<'a> {
    operation: &'a Operation<'a>,
    /// Sizes of the batch dimensions.
    batch: &'a [i64],
    ty: ElementType,
}

impl<'a> CallShapes<'a> {
    /// Reads the batch dimensions from the first operand. `ranks` holds, for each operand, the
    /// number of dimensions that follow the batch dimensions. Fails if the batch dimensions of an
    /// operand differ from those of the first operand, or if the rank of an operand does not fit
    /// `ranks`.
    pub fn new(operation: &'a Operation<'a>, ranks: &[usize]) -> Result<Self, Unsupported> {
        operation.takes_arrays(ranks.len())?;
        let first = operation.argument(0)?;
        let inner = ranks.first().copied().unwrap_or_default();
        let batch = first.dims.get(..first.rank().saturating_sub(inner)).unwrap_or_default();
        for (shape, &rank) in operation.arguments().into_iter().zip(ranks) {
            if shape.dims.strip_prefix(batch).is_none_or(|inner| inner.len() != rank) {
                let wanted = format!("{rank} dimensions after those of the batch, {batch:?}");
                return Err(Unsupported::new(format!("an operand {shape}: expected {wanted}")));
            }
        }
        Ok(CallShapes { operation, batch, ty: first.element_type })
    }

    /// Returns the element type of the first operand.
    pub fn element_type(&self) -> ElementType {
        self.ty
    }

    /// Returns the numbers of rows and columns of operand `number`.
    pub fn matrix(&self, number: usize) -> Result<[usize; 2], Unsupported> {
        self.sizes(self.operation.argument(number)?, self.ty)
    }

    /// Returns the number of rows of operand `number`. Fails if the operand is not a square matrix.
    pub fn square(&self, number: usize) -> Result<usize, Unsupported> {
        match self.matrix(number)? {
            [rows, columns] if rows == columns => Ok(rows),
            [rows, columns] => {
                Err(Unsupported::new(format!("a matrix of {rows} rows and {columns} columns: expected a square one")))
            }
        }
    }

    /// Returns the length of operand `number`. Fails if the operand is not a vector of elements of
    /// type `ty`.
    pub fn vector(&self, number: usize, ty: ElementType) -> Result<usize, Unsupported> {
        self.sizes::<1>(self.operation.argument(number)?, ty).map(|[length]| length)
    }

    /// Returns the numbers of rows and columns of result `number`.
    pub fn result_matrix(&self, number: usize, ty: ElementType) -> Result<[usize; 2], Unsupported> {
        self.sizes(self.operation.result(number)?, ty)
    }

    /// Checks, for every result, its element type and the sizes of the dimensions that follow the
    /// batch dimensions.
    pub fn expect(&self, results: &[(ElementType, &[usize])]) -> Result<(), Unsupported> {
        let size = |&size: &usize| i64::try_from(size).unwrap_or(i64::MAX);
        let dims = |sizes: &[usize]| self.batch.iter().copied().chain(sizes.iter().map(size)).collect::<Vec<_>>();
        let wanted: Vec<_> = results.iter().map(|&(ty, sizes)| ArrayShape::new(ty, dims(sizes))).collect();
        let found = self.operation.results();
        if found.len() == wanted.len() && found.iter().zip(&wanted).all(|(a, b)| a.same_type_and_dims(b)) {
            Ok(())
        } else {
            let wanted: Vec<_> = wanted.iter().map(ToString::to_string).collect();
            Err(Unsupported::new(format!("these results: expected {}", wanted.join(", "))))
        }
    }

    fn sizes<const N: usize>(&self, shape: &ArrayShape, ty: ElementType) -> Result<[usize; N], Unsupported> {
        let inner = shape.dims.strip_prefix(self.batch).and_then(|inner| <[i64; N]>::try_from(inner).ok());
        let sizes = inner.map(|inner| inner.map(usize::try_from)).filter(|sizes| sizes.iter().all(Result::is_ok));
        match sizes {
            Some(sizes) if shape.element_type == ty => Ok(sizes.map(Result::unwrap_or_default)),
            _ => Err(Unsupported::new(format!(
                "an array {shape}: expected {N} dimensions of {ty} after those of the batch"
            ))),
        }
    }

    /// Creates the routine that executes `each` once for every index of the batch dimensions.
    pub fn routine(&self, each: impl PerMatrix + 'static) -> Result<Box<dyn Routine>, Unsupported> {
        Ok(Box::new(Batched { batch: self.matrices()?, each: Box::new(each) }))
    }

    /// Returns the number of indices of the batch dimensions.
    fn matrices(&self) -> Result<usize, Unsupported> {
        let sizes = self.batch.iter().map(|&size| usize::try_from(size).ok());
        let batch = sizes.into_iter().try_fold(1usize, |all, size| all.checked_mul(size?));
        batch.ok_or_else(|| Unsupported::new("more matrices than the host can count"))
    }
}
