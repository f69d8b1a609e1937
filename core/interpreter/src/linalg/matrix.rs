//! Dense matrices, and conversions between batches of matrices and arrays.

use fusebox_core::hlo::ElementType;

use crate::error::{Outcome, ensure, malformed};
use crate::number::{self, Complex, complex};
use crate::value::{Array, Data, element_count};

/// A dense row-major matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub rows: usize,
    pub columns: usize,
    elements: Vec<Complex>,
}

impl Matrix {
    /// Creates a matrix. `element` computes each element from its row and column.
    pub fn from_fn(rows: usize, columns: usize, element: impl Fn(usize, usize) -> Complex) -> Self {
        let elements = (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))).map(|(r, c)| element(r, c)).collect();
        Matrix { rows, columns, elements }
    }

    pub fn zeros(rows: usize, columns: usize) -> Self {
        Matrix::from_fn(rows, columns, |_, _| Complex::ZERO)
    }

    /// Returns a matrix whose elements are NaN. This matrix is the result if a factorisation does
    /// not exist.
    pub fn not_numbers(rows: usize, columns: usize) -> Self {
        Matrix::from_fn(rows, columns, |_, _| complex(f64::NAN, f64::NAN))
    }

    /// Whether all elements are finite.
    pub fn is_finite(&self) -> bool {
        self.elements.iter().all(|z| z.re.is_finite() && z.im.is_finite())
    }

    pub fn identity(rows: usize, columns: usize) -> Self {
        Matrix::from_fn(rows, columns, |r, c| if r == c { Complex::ONE } else { Complex::ZERO })
    }

    /// Creates a matrix with one column.
    pub fn column_vector(elements: Vec<Complex>) -> Self {
        Matrix { rows: elements.len(), columns: 1, elements }
    }

    #[inline]
    pub fn get(&self, row: usize, column: usize) -> Complex {
        self.elements[row * self.columns + column]
    }

    #[inline]
    pub fn set(&mut self, row: usize, column: usize, value: Complex) {
        self.elements[row * self.columns + column] = value;
    }

    #[inline]
    pub fn subtract(&mut self, row: usize, column: usize, value: Complex) {
        let at = row * self.columns + column;
        self.elements[at] = self.elements[at].subtract(value);
    }

    pub fn swap_rows(&mut self, a: usize, b: usize) {
        (0..self.columns).for_each(|c| self.elements.swap(a * self.columns + c, b * self.columns + c));
    }

    pub fn swap_columns(&mut self, a: usize, b: usize) {
        (0..self.rows).for_each(|r| self.elements.swap(r * self.columns + a, r * self.columns + b));
    }

    /// Returns the conjugate transpose.
    pub fn adjoint(&self) -> Matrix {
        Matrix::from_fn(self.columns, self.rows, |r, c| self.get(c, r).conjugate())
    }

    pub fn transpose(&self) -> Matrix {
        Matrix::from_fn(self.columns, self.rows, |r, c| self.get(c, r))
    }

    /// Reverses the order of rows and columns.
    pub fn reversed(&self) -> Matrix {
        Matrix::from_fn(self.rows, self.columns, |r, c| self.get(self.rows - 1 - r, self.columns - 1 - c))
    }

    /// Returns a matrix that consists of these columns, in this order.
    pub fn with_columns(&self, columns: &[usize]) -> Matrix {
        Matrix::from_fn(self.rows, columns.len(), |r, c| self.get(r, columns[c]))
    }

    /// Returns the first rows and columns of the matrix. Adds zeros if the matrix is too small.
    pub fn resized(&self, rows: usize, columns: usize) -> Matrix {
        let inside = |r, c| r < self.rows && c < self.columns;
        Matrix::from_fn(rows, columns, |r, c| if inside(r, c) { self.get(r, c) } else { Complex::ZERO })
    }

    pub fn times(&self, other: &Matrix) -> Matrix {
        let terms = |r, c| (0..self.columns).map(move |k| self.get(r, k).multiply(other.get(k, c)));
        Matrix::from_fn(self.rows, other.columns, |r, c| terms(r, c).fold(Complex::ZERO, Complex::add))
    }

    /// Returns the elements in row-major order.
    pub fn elements(&self) -> &[Complex] {
        &self.elements
    }
}

/// Returns all dimensions but the last two.
pub(crate) fn batch_dims(x: &Array) -> Vec<usize> {
    x.dims[..x.rank().saturating_sub(2)].to_vec()
}

/// Returns the matrices in an array's last two dimensions.
pub(crate) fn matrices(x: &Array) -> Outcome<Vec<Matrix>> {
    let [.., rows, columns] = x.dims[..] else {
        return malformed("a matrix has two dimensions at least");
    };
    let elements = x.to_complex()?;
    let count: usize = batch_dims(x).iter().product();
    let size = rows * columns;
    let matrix = |b: usize| Matrix { rows, columns, elements: elements[b * size..(b + 1) * size].to_vec() };
    Ok((0..count).map(matrix).collect())
}

/// Stacks matrices into an array of type `ty`. The dimensions of the array are the batch
/// dimensions, then `inner` (two for matrices, one for vectors, none for scalars).
pub(crate) fn stack(ty: ElementType, batch: &[usize], inner: Vec<usize>, parts: &[Matrix]) -> Outcome<Array> {
    let dims = [batch.to_vec(), inner].concat();
    let elements = parts.iter().flat_map(|m| m.elements.iter().copied());
    let data = if ty.is_complex() {
        Data::Complex(elements.map(|z| number::round_complex(ty, z)).collect())
    } else if ty.is_integer() {
        Data::Int(elements.map(|z| z.re as i64).collect())
    } else {
        Data::Float(elements.map(|z| number::round(ty, z.re)).collect())
    };
    ensure!(data.len() == element_count(&dims)?, "a result of {} elements for {dims:?}", data.len());
    Ok(Array::new(ty, dims, data))
}
