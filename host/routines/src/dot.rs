//! Computes matrix products with the crate `gemm`. The contraction emitters are measured against
//! this routine.
//!
//! The result is split into bands, which are adjacent rows or adjacent columns. Each band is
//! computed on one thread, by one call of the crate. The bits of a result do not depend on the
//! number of threads (see [`BandSplit`]).

use std::fmt::Debug;
use std::marker::PhantomData;

use bytemuck::{AnyBitPattern, NoUninit};
use faer::MatMut;
use fusebox_core::hlo::{ArrayShape, ElementType, Module, Op};
use gemm::{Parallelism, c32, c64, gemm};

use crate::widened::widened;
use crate::{Context, Operation, Routine, RoutineError, Unsupported, elements, elements_mut, for_each};

/// Minimum number of multiplications per band. For a smaller band, starting a thread costs more
/// time than the thread saves.
const LEAST_PRODUCTS: usize = 1 << 19;
/// Approximate maximum number of bands over all batches, unless there are more threads. All bands
/// of a batch read one of the operands completely, and each band packs this operand again.
const MOST_BANDS: usize = 8;
/// Granularity of a band: its number of rows or columns is a multiple of this number, so that the
/// band fills whole vectors. Only the last band of a batch may have up to `LINES - 1` more.
const LINES: usize = 16;
/// Largest number of rows and of columns for which the crate determines the lengths of its partial
/// sums in another way.
const SMALL: usize = 64;

/// Strides of an operand's matrix within one batch, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Strides {
    /// Distance from one row to the next.
    pub row: isize,
    /// Distance from one column to the next.
    pub column: isize,
}

/// A batched matrix product: `[batch, rows, steps]` times `[batch, steps, columns]`. `steps` is the
/// size of the contracted dimension. The result is row-major.
#[derive(Clone, Debug)]
pub struct Product {
    /// The type of both operands and of the result.
    pub element: ElementType,
    /// Number of rows of the left operand in each batch.
    pub rows: usize,
    /// Size of the contracted dimension. Each element of the result is a sum of this many products.
    pub steps: usize,
    /// Number of columns of the right operand in each batch.
    pub columns: usize,
    /// Strides of the left operand.
    pub left: Strides,
    /// Strides of the right operand.
    pub right: Strides,
    /// Batch dimensions, outermost first. Each entry holds the size of a dimension and its strides
    /// in the left and in the right operand, in elements.
    pub batch: Vec<(usize, [usize; 2])>,
}

/// A Rust type that has the size and the byte layout of an array's elements in memory.
trait Element: AnyBitPattern + NoUninit + Send + Sync + Debug {
    /// The corresponding number type of the crate `gemm`, with the same size and byte layout.
    type Number: Copy + 'static;
    const ZERO: Self::Number;
    const ONE: Self::Number;
}

macro_rules! elements {
    ($($element:ty => $number:ty, $zero:expr, $one:expr;)*) => {$(
        impl Element for $element {
            type Number = $number;
            const ZERO: $number = $zero;
            const ONE: $number = $one;
        }
    )*};
}

elements! {
    f32 => f32, 0.0, 1.0;
    f64 => f64, 0.0, 1.0;
    [f32; 2] => c32, c32::new(0.0, 0.0), c32::new(1.0, 0.0);
    [f64; 2] => c64, c64::new(0.0, 0.0), c64::new(1.0, 0.0);
}

/// The routine of a product of matrices with elements `T`.
#[derive(Debug)]
struct Gemm<T> {
    product: Product,
    element: PhantomData<T>,
}

/// The split of each batch's result into bands.
///
/// The crate's algorithm for a band depends on the size of the band, and different algorithms add
/// in a different order. So the number of bands depends on the number of threads only if each
/// possible band has at least [`LINES`] lines of more than [`SMALL`] elements: for all such bands,
/// the crate uses the same algorithm and the same order.
#[derive(Clone, Copy, Debug)]
struct BandSplit {
    /// Whether a band consists of columns.
    columns: bool,
    /// Number of rows or columns that are distributed among the bands.
    lines: usize,
    bands: usize,
}

impl BandSplit {
    /// Splits the columns if they outnumber the rows, else the rows. Each band packs the whole
    /// operand of the side that is not split, so this operand should be the smaller one.
    fn of(product: &Product, threads: usize) -> BandSplit {
        let Product { rows, steps, columns, .. } = *product;
        let products = rows.saturating_mul(columns).saturating_mul(steps);
        let (lines, others) = (rows.max(columns), rows.min(columns));
        let most = match threads {
            _ if others <= SMALL => MOST_BANDS,
            1 => 1,
            // If a thread is interrupted, the others compute its second band.
            _ => (2 * threads).min(MOST_BANDS).max(threads),
        };
        // Threads always compute different batches concurrently. If there are many batches, fewer
        // bands per batch suffice.
        let batches = product.batch.iter().map(|(size, _)| *size).fold(1, usize::saturating_mul);
        let most = most.div_ceil(batches.max(1)).min(lines / LINES).max(1);
        BandSplit { columns: columns > rows, lines, bands: (products / LEAST_PRODUCTS).clamp(1, most) }
    }

    /// Returns the number of rows or columns of each band.
    fn counts(self) -> impl Iterator<Item = usize> {
        let whole = self.lines / LINES;
        let end = move |band: usize| if band == self.bands { self.lines } else { whole * band / self.bands * LINES };
        (0..self.bands).map(move |band| end(band + 1) - end(band))
    }
}

impl<T> Gemm<T> {
    fn of(product: Product) -> Box<Self> {
        Box::new(Gemm { product, element: PhantomData })
    }
}

/// Creates the routine of a `dot`. The operands and the result must have the same float or complex
/// type.
pub fn make(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let product = product(operation)?;
    Ok(match product.element {
        ElementType::F32 => Gemm::<f32>::of(product),
        ElementType::F64 => Gemm::<f64>::of(product),
        ElementType::C64 => Gemm::<[f32; 2]>::of(product),
        ElementType::C128 => Gemm::<[f64; 2]>::of(product),
        narrow if narrow.is_float() && narrow.bits() < 32 => widened(Gemm::<f32>::of(product), narrow)?,
        other => return Err(Unsupported::new(format!("a product of arrays of {other}"))),
    })
}

/// Returns the matrix product that a module's only operation computes.
///
/// # Errors
/// If the operation is not a `dot`, if the element types of its operands and result differ, or if
/// an operand has contracting dimensions or remaining non-batch dimensions that are not adjacent.
pub fn product_of(module: &Module) -> Result<Product, Unsupported> {
    product(&Operation::of(module)?)
}

/// Returns the matrix product that an operation computes. In each operand, the contracting
/// dimensions must be adjacent, and the remaining non-batch dimensions must be adjacent, too.
fn product(operation: &Operation) -> Result<Product, Unsupported> {
    let (left, right, result) = (operation.argument(0)?, operation.argument(1)?, operation.result(0)?);
    let element = left.element_type;
    if right.element_type != element || result.element_type != element {
        return Err(Unsupported::new("a product of arrays of several element types"));
    }
    let Op::Dot(dims) = &operation.instruction.op else {
        return Err(Unsupported::new("a product that is no dot"));
    };
    let side = |array: &ArrayShape, batch: &[i64], steps: &[i64]| {
        let is_line = |dim: &i64| !batch.contains(dim) && !steps.contains(dim);
        let lines: Vec<i64> = (0..array.dims.len() as i64).filter(is_line).collect();
        // Adjacent dimensions are merged into one.
        let one = |of: &[i64]| match *of {
            [] => Ok((1, 0)),
            [.., last] if of.windows(2).all(|two| two[0] + 1 == two[1]) => {
                let size = of.iter().map(|&dim| array.dims[dim as usize] as usize).product();
                Ok((size, stride(array, last) as isize))
            }
            _ => Err(Unsupported::new("a product whose operand has dimensions of one role that are not adjacent")),
        };
        Ok::<_, Unsupported>((one(&lines)?, one(steps)?))
    };
    let ((rows, row), (steps, left_step)) = side(left, &dims.lhs_batch, &dims.lhs_contracting)?;
    let ((columns, column), (_, right_step)) = side(right, &dims.rhs_batch, &dims.rhs_contracting)?;
    let batch = dims.lhs_batch.iter().zip(&dims.rhs_batch);
    let batch = batch.map(|(&in_left, &in_right)| {
        (left.dims[in_left as usize] as usize, [stride(left, in_left), stride(right, in_right)])
    });
    let batch = batch.collect();
    let (left, right) = (Strides { row, column: left_step }, Strides { row: right_step, column });
    Ok(Product { element, rows, steps, columns, left, right, batch })
}

/// Returns the stride of a dimension in elements.
fn stride(array: &ArrayShape, dim: i64) -> usize {
    array.dims[dim as usize + 1..].iter().product::<i64>() as usize
}

impl Product {
    /// Returns, for each operand, the index of the last element that the product reads.
    fn last(&self) -> [usize; 2] {
        let reach = |lines: usize, by: usize| lines.saturating_sub(1).saturating_mul(by);
        let of = |side: usize, ways: [(usize, isize); 2]| {
            let batch = self.batch.iter().map(|(size, strides)| reach(*size, strides[side]));
            let within = ways.into_iter().map(|(lines, by)| reach(lines, by.unsigned_abs()));
            batch.chain(within).fold(0, usize::saturating_add)
        };
        [
            of(0, [(self.rows, self.left.row), (self.steps, self.left.column)]),
            of(1, [(self.steps, self.right.row), (self.columns, self.right.column)]),
        ]
    }

    /// Returns the number of multiplications of all batches.
    pub fn multiplications(&self) -> u64 {
        let sizes = self.batch.iter().map(|(size, _)| *size).chain([self.rows, self.steps, self.columns]);
        sizes.fold(1, |product: u64, size| product.saturating_mul(size as u64))
    }

    /// Whether the result has no elements, or the contracted dimension has size 0.
    pub fn is_empty(&self) -> bool {
        let batches = self.batch.iter().any(|(count, _)| *count == 0);
        batches || self.rows == 0 || self.steps == 0 || self.columns == 0
    }

    /// Returns, for each operand, the index of the first element of a batch.
    pub fn begin(&self, batch: usize) -> [usize; 2] {
        let (mut rest, mut begin) = (batch, [0, 0]);
        for (size, strides) in self.batch.iter().rev() {
            let index = rest % size;
            rest /= size;
            (0..2).for_each(|side| begin[side] += index * strides[side]);
        }
        begin
    }

    /// Computes one band. [`Product::last`] must be a valid index into each operand.
    #[allow(unsafe_code, reason = "the crate takes pointers and strides")]
    fn multiply<T: Element>(&self, left: &[T], right: &[T], band: Band<'_, T>) {
        let Band { begin: [in_left, in_right], row, column, results } = band;
        let left = &left[in_left + row * self.left.row.unsigned_abs()..];
        let right = &right[in_right + column * self.right.column.unsigned_abs()..];
        // SAFETY: only this call writes the band's results. The call reads each operand from the
        // band's first element up to at most the product's last element. `run` has checked that
        // this last element is in bounds. Strides are not negative. A number has the same bytes as
        // an element.
        unsafe {
            gemm(
                results.nrows(),
                results.ncols(),
                self.steps,
                results.as_ptr_mut().cast::<T::Number>(),
                results.col_stride(),
                results.row_stride(),
                false,
                left.as_ptr().cast::<T::Number>(),
                self.left.column,
                self.left.row,
                right.as_ptr().cast::<T::Number>(),
                self.right.column,
                self.right.row,
                T::ZERO,
                T::ONE,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
    }
}

/// A band of one batch's result.
struct Band<'r, T> {
    /// For each operand, the index of the first element of the band's batch.
    begin: [usize; 2],
    /// First row (`row`) and first column (`column`) of the band.
    row: usize,
    column: usize,
    results: MatMut<'r, T>,
}

/// Splits the result of one batch into bands. `begin` holds, for each operand, the index of the
/// first element of the batch.
fn bands<T>(mut rest: MatMut<'_, T>, begin: [usize; 2], split: BandSplit) -> Vec<Band<'_, T>> {
    let (mut row, mut column) = (0, 0);
    let band = |count: usize| {
        let whole = std::mem::replace(&mut rest, MatMut::from_row_major_slice_mut(&mut [], 0, 0));
        let (results, others) =
            if split.columns { whole.split_at_col_mut(count) } else { whole.split_at_row_mut(count) };
        rest = others;
        let band = Band { begin, row, column, results };
        if split.columns {
            column += count
        } else {
            row += count
        }
        band
    };
    split.counts().map(band).collect()
}

impl<T: Element + 'static> Routine for Gemm<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        let form = &self.product;
        let [left, right] = arguments else { return Err(RoutineError::Buffer) };
        let [result] = results else { return Err(RoutineError::Buffer) };
        let (left, right): (&[T], &[T]) = (elements(left)?, elements(right)?);
        let result: &mut [T] = elements_mut(result)?;
        let batches = form.batch.iter().map(|(size, _)| *size);
        let expected = batches.chain([form.rows, form.columns]).fold(1, usize::saturating_mul);
        if result.len() != expected {
            return Err(RoutineError::Buffer);
        }
        if result.is_empty() {
            return Ok(());
        }
        let size = form.rows * form.columns;
        if form.steps == 0 {
            result.fill(bytemuck::Zeroable::zeroed());
            return Ok(());
        }
        let [last_left, last_right] = form.last();
        if last_left >= left.len() || last_right >= right.len() {
            return Err(RoutineError::Buffer);
        }
        let split = BandSplit::of(form, context.workers.threads());
        let bands = result.chunks_mut(size).enumerate().flat_map(|(number, of_batch)| {
            let results = MatMut::from_row_major_slice_mut(of_batch, form.rows, form.columns);
            bands(results, form.begin(number), split)
        });
        for_each(context.workers, bands.collect(), |band| form.multiply(left, right, band));
        Ok(())
    }

    fn describe(&self) -> String {
        "the library gemm".into()
    }
}
