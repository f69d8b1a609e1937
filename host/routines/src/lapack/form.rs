//! What every call has: batch dimensions in front, shapes of matrices behind, types that fit each other.

use fusebox_core::hlo::{ArrayShape, ElementType};

use crate::linalg::batch::{Batched, PerMatrix};
use crate::{Operation, Routine, Unsupported};

/// The operands and results of a call, whose shapes are looked at from behind.
pub(super) struct Form<'a> {
    operation: &'a Operation<'a>,
    /// Sizes of the batch dimensions.
    batch: &'a [i64],
    ty: ElementType,
}

impl<'a> Form<'a> {
    /// By the first operand, which has `rank` dimensions behind the batch's.
    pub fn new(operation: &'a Operation<'a>, rank: usize) -> Result<Self, Unsupported> {
        let first = operation.argument(0)?;
        let batch = first.dims.len().checked_sub(rank).map(|end| &first.dims[..end]);
        let batch = batch.ok_or_else(|| Unsupported::new("a LAPACK call on less than a matrix"))?;
        Ok(Form { operation, batch, ty: first.element_type })
    }

    /// Of the first operand's elements.
    pub fn element_type(&self) -> ElementType {
        self.ty
    }

    /// The rows and columns of operand `number`.
    pub fn matrix(&self, number: usize) -> Result<[usize; 2], Unsupported> {
        self.sizes(self.operation.argument(number)?, self.ty)
    }

    /// The side of a square operand.
    pub fn square(&self, number: usize) -> Result<usize, Unsupported> {
        match self.matrix(number)? {
            [rows, columns] if rows == columns => Ok(rows),
            _ => Err(Unsupported::new("a LAPACK call on a matrix that is not square")),
        }
    }

    /// The length of operand `number`, a vector.
    pub fn vector(&self, number: usize, ty: ElementType) -> Result<usize, Unsupported> {
        self.sizes::<1>(self.operation.argument(number)?, ty).map(|[length]| length)
    }

    /// The rows and columns of result `number`.
    pub fn result_matrix(&self, number: usize, ty: ElementType) -> Result<[usize; 2], Unsupported> {
        self.sizes(self.operation.result(number)?, ty)
    }

    /// That the results are these: type and sizes behind the batch's, of each.
    pub fn expect(&self, results: &[(ElementType, &[usize])]) -> Result<(), Unsupported> {
        let found = self.operation.results();
        let fits = |(shape, (ty, sizes)): (&&ArrayShape, &(ElementType, &[usize]))| {
            shape.element_type == *ty
                && shape.dims.strip_prefix(self.batch).is_some_and(|inner| {
                    inner.iter().map(|&size| usize::try_from(size)).eq(sizes.iter().map(|&size| Ok(size)))
                })
        };
        match found.len() == results.len() && found.iter().zip(results).all(fits) {
            true => Ok(()),
            false => Err(Unsupported::new("a LAPACK call whose results do not fit its operands")),
        }
    }

    fn sizes<const N: usize>(&self, shape: &ArrayShape, ty: ElementType) -> Result<[usize; N], Unsupported> {
        let inner = shape.dims.strip_prefix(self.batch).and_then(|inner| <[i64; N]>::try_from(inner).ok());
        let sizes = inner.map(|inner| inner.map(usize::try_from)).filter(|sizes| sizes.iter().all(Result::is_ok));
        match sizes {
            Some(sizes) if shape.element_type == ty => Ok(sizes.map(Result::unwrap_or_default)),
            _ => Err(Unsupported::new("a LAPACK call whose operands and results do not fit each other")),
        }
    }

    /// The routine that does the same on every matrix.
    pub fn routine(&self, each: impl PerMatrix + 'static) -> Result<Box<dyn Routine>, Unsupported> {
        let sizes = self.batch.iter().map(|&size| usize::try_from(size).ok());
        let batch = sizes.into_iter().try_fold(1usize, |all, size| all.checked_mul(size?));
        let batch = batch.ok_or_else(|| Unsupported::new("a LAPACK call on more matrices than the host can count"))?;
        Ok(Box::new(Batched { batch, each }))
    }
}
