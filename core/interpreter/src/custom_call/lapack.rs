//! LAPACK's functions with JAX's conventions: the leading dimensions are batch dimensions, and the
//! last result is the status.

use fusebox_core::hlo::{ArrayShape, ElementType, Instruction, Shape, Transpose};

use super::attributes::Attributes;
use crate::error::{Outcome, ensure, malformed, unsupported};
use crate::linalg::{self, Matrix, RealSchur, TriangularForm, batch_dims, matrices, stack};
use crate::number::Complex;
use crate::operands::Operands;
use crate::value::Value;

/// One call of a LAPACK function: its attributes, operands and result shapes.
struct Call<'a> {
    attributes: &'a Attributes,
    operands: &'a Operands,
    results: Vec<&'a ArrayShape>,
}

/// Evaluates `lapack_<routine>_ffi`. The routine's first letter names the element type.
pub(super) fn evaluate(
    routine: &str,
    instruction: &Instruction,
    attributes: &Attributes,
    operands: &Operands,
) -> Outcome<Value> {
    let results = instruction.shape.leaves().into_iter().filter_map(Shape::as_array).collect();
    let call = Call { attributes, operands, results };
    match routine.get(1..) {
        Some("potrf") => call.potrf(),
        Some("getrf") => call.getrf(),
        Some("trsm") => call.trsm(),
        Some("geqrf") => call.geqrf(),
        Some("geqp3") => call.geqp3(),
        Some("orgqr" | "ungqr") => call.orgqr(),
        Some("gtsv") => call.gtsv(),
        Some("syevd" | "heevd") => call.syevd(),
        Some("sytrd" | "hetrd") => call.sytrd(),
        Some("gesdd" | "gesvd") => call.gesdd(),
        Some("gehrd") => call.gehrd(),
        Some("geev") => call.geev(),
        Some("gees") => call.gees(),
        _ => unsupported(format!("the LAPACK function {routine}")),
    }
}

/// Returns the integers as a column vector.
fn integers(values: impl IntoIterator<Item = i64>) -> Matrix {
    reals(values.into_iter().map(|x| x as f64))
}

fn reals(values: impl IntoIterator<Item = f64>) -> Matrix {
    Matrix::column_vector(values.into_iter().map(|re| Complex { re, im: 0.0 }).collect())
}

impl Call<'_> {
    fn result(&self, index: usize) -> Outcome<&ArrayShape> {
        self.results.get(index).copied().map_or_else(|| malformed(format!("result {index} is missing")), Ok)
    }

    /// Applies the factorisation `factor` to every matrix of the first operand. `factor` returns
    /// one matrix per result of the call. `ranks` lists, for each result, the number of dimensions
    /// beyond the batch dimensions.
    fn batched(
        &self,
        ranks: &[usize],
        mut factor: impl FnMut(usize, Matrix) -> Outcome<Vec<Matrix>>,
    ) -> Outcome<Value> {
        let x = self.operands.array(0)?;
        let batch = batch_dims(x);
        let mut parts: Vec<Vec<Matrix>> = vec![Vec::new(); ranks.len()];
        for (b, matrix) in matrices(x)?.into_iter().enumerate() {
            let results = factor(b, matrix)?;
            parts.iter_mut().zip(results).for_each(|(list, result)| list.push(result));
        }
        self.stacked(&batch, ranks, &parts)
    }

    fn stacked(&self, batch: &[usize], ranks: &[usize], parts: &[Vec<Matrix>]) -> Outcome<Value> {
        let mut results = Vec::with_capacity(ranks.len());
        for (index, (&rank, list)) in ranks.iter().zip(parts).enumerate() {
            let Some(first) = list.first() else {
                return unsupported("LAPACK on an empty batch");
            };
            let inner = match rank {
                0 => vec![],
                1 => vec![first.elements().len()],
                _ => vec![first.rows, first.columns],
            };
            results.push(Value::from(stack(self.result(index)?.element_type, batch, inner, list)?));
        }
        Ok(Value::one_or_tuple(results))
    }

    fn square(a: &Matrix) -> Outcome<()> {
        if a.rows == a.columns { Ok(()) } else { malformed("the matrix must be square") }
    }

    /// Computes Cholesky factors. `potrf` returns the factor and the status.
    fn potrf(&self) -> Outcome<Value> {
        let lower = self.attributes.letter("uplo")? == 'L';
        self.batched(&[2, 0], |_, a| {
            Self::square(&a)?;
            let (factor, failed) = linalg::cholesky_factor(a, lower);
            Ok(vec![factor, integers([failed.unwrap_or(0) as i64])])
        })
    }

    /// Computes LU factorisations. `getrf` returns the factors, the pivots (numbered from 1) and
    /// the status.
    fn getrf(&self) -> Outcome<Value> {
        self.batched(&[2, 1, 0], |_, a| {
            let lu = linalg::lu_factor(a);
            let pivots = integers(lu.pivots.iter().map(|&p| p as i64 + 1));
            Ok(vec![lu.factors, pivots, integers([lu.singular as i64])])
        })
    }

    fn trsm(&self) -> Outcome<Value> {
        let form = TriangularForm {
            left: self.attributes.letter("side")? == 'L',
            lower: self.attributes.letter("uplo")? == 'L',
            unit_diagonal: self.attributes.letter("diag")? == 'U',
            transpose: match self.attributes.letter("trans_x")? {
                'T' => Transpose::Transpose,
                'C' => Transpose::Adjoint,
                _ => Transpose::None,
            },
        };
        linalg::triangular_solve(self.operands.array(0)?, self.operands.array(1)?, form).map(Value::from)
    }

    /// Computes QR factorisations. `geqrf` returns the factors and the taus.
    fn geqrf(&self) -> Outcome<Value> {
        self.batched(&[2, 1], |_, a| {
            let (factors, taus) = linalg::qr_factor(a);
            Ok(vec![factors, Matrix::column_vector(taus)])
        })
    }

    /// Computes QR factorisations with column pivoting. The operands are a matrix and a mask of its
    /// columns. Columns with a non-zero mask come first. `geqp3` returns the factors, the order of
    /// the columns (numbered from 1) and the taus.
    fn geqp3(&self) -> Outcome<Value> {
        let fixed = self.operands.array(1)?.ints()?;
        self.batched(&[2, 1, 1], |b, a| {
            let columns = a.columns;
            let fixed: Vec<bool> = (0..columns).map(|c| fixed.get(b * columns + c).is_some_and(|&x| x != 0)).collect();
            let (factors, order, taus) = linalg::qr_factor_pivoted(a, &fixed);
            let order = integers(order.into_iter().map(|c| c as i64 + 1));
            Ok(vec![factors, order, Matrix::column_vector(taus)])
        })
    }

    /// Computes the unitary factors of QR factorisations. `orgqr` reads the factors and the taus,
    /// and returns the unitary factor.
    fn orgqr(&self) -> Outcome<Value> {
        let taus = self.operands.array(1)?;
        let count = taus.dims.last().copied().unwrap_or(0);
        let taus = taus.to_complex()?;
        self.batched(&[2], |b, a| {
            let taus = taus.get(b * count..(b + 1) * count).unwrap_or_default();
            let fits = count <= a.columns && a.columns <= a.rows;
            ensure!(fits, "orgqr needs at least as many rows as columns, and at least as many columns as reflectors");
            Ok(vec![linalg::unitary_from_reflectors(&a, taus)])
        })
    }

    /// Solves tridiagonal systems. `gtsv` reads the lower, main and upper diagonal and the
    /// right-hand sides. `gtsv` returns the overwritten diagonals, the solution and the status. JAX
    /// pads the lower and the upper diagonal to full length.
    fn gtsv(&self) -> Outcome<Value> {
        let right = self.operands.array(3)?;
        let [lower, main, upper] = [0, 1, 2].map(|i| self.operands.array(i).and_then(|d| Ok((d, d.to_complex()?))));
        let (lower, main, upper) = (lower?, main?, upper?);
        let n = main.0.dims.last().copied().unwrap_or(0);
        let mut parts: Vec<Vec<Matrix>> = vec![Vec::new(); 5];
        for (b, right) in matrices(right)?.into_iter().enumerate() {
            let fits = right.rows == n && [&lower.0, &upper.0].iter().all(|d| d.dims == main.0.dims);
            ensure!(fits, "the diagonals do not fit the right-hand side");
            let line = |d: &[Complex]| d[b * n..(b + 1) * n].to_vec();
            // The first element of the lower diagonal is padding.
            let mut below = line(&lower.1);
            below.rotate_left(1.min(n));
            let s = linalg::solve_tridiagonal(below, line(&main.1), line(&upper.1), right);
            let mut below = s.lower;
            below.rotate_right(1.min(n));
            let vectors = [below, s.diagonal, s.upper].map(Matrix::column_vector);
            let results = vectors.into_iter().chain([s.solution, integers([s.singular as i64])]);
            parts.iter_mut().zip(results).for_each(|(list, result)| list.push(result));
        }
        self.stacked(&batch_dims(right), &[1, 1, 1, 2, 0], &parts)
    }

    /// Computes eigenvalues of symmetric or Hermitian matrices. `syevd` returns the eigenvectors as
    /// columns, the eigenvalues in ascending order, and the status.
    fn syevd(&self) -> Outcome<Value> {
        let lower = self.attributes.letter("uplo")? == 'L';
        let epsilon = self.epsilon()?;
        self.batched(&[2, 1, 0], |_, a| {
            Self::square(&a)?;
            let eigen = linalg::symmetric_eigen(&a, lower, epsilon);
            let n = a.rows;
            if !eigen.converged || eigen.values.iter().any(|value| !value.is_finite()) {
                return Ok(vec![Matrix::not_numbers(n, n), reals(vec![f64::NAN; n]), integers([1])]);
            }
            Ok(vec![eigen.vectors, reals(eigen.values), integers([0])])
        })
    }

    /// Reduces symmetric or Hermitian matrices to tridiagonal form. `sytrd` returns the reflectors,
    /// the main diagonal, the off diagonal, the taus and the status.
    fn sytrd(&self) -> Outcome<Value> {
        let lower = self.attributes.letter("uplo")? == 'L';
        self.batched(&[2, 1, 1, 1, 0], |_, a| {
            Self::square(&a)?;
            let t = linalg::tridiagonal_form(&a, lower);
            Ok(vec![t.factors, reals(t.diagonal), reals(t.off_diagonal), Matrix::column_vector(t.taus), integers([0])])
        })
    }

    /// Computes singular value decompositions. `gesdd` returns the remainder of the matrix (zeros
    /// here), the singular values, the left vectors, the adjoint of the right vectors, and the
    /// status. The result shapes determine the number of singular vectors.
    fn gesdd(&self) -> Outcome<Value> {
        let dims_from_end = |index: usize, back: usize| -> Outcome<usize> {
            let dims = &self.result(index)?.dims;
            let size = dims.len().checked_sub(back).and_then(|at| usize::try_from(dims[at]).ok());
            size.map_or_else(|| malformed("the singular vectors that gesdd gives must be matrices"), Ok)
        };
        let (left, right) = (dims_from_end(2, 1)?, dims_from_end(3, 2)?);
        self.batched(&[2, 1, 2, 2, 0], |_, a| {
            let (rows, columns) = (a.rows, a.columns);
            let Some(svd) = linalg::singular_values(&a) else {
                let (u, vh) = (Matrix::not_numbers(rows, left), Matrix::not_numbers(right, columns));
                let values = reals(vec![f64::NAN; rows.min(columns)]);
                return Ok(vec![Matrix::zeros(rows, columns), values, u, vh, integers([1])]);
            };
            let u = svd.left.resized(rows, left);
            let vh = svd.right.adjoint().resized(right, columns);
            Ok(vec![Matrix::zeros(rows, columns), reals(svd.values), u, vh, integers([0])])
        })
    }

    /// Reduces matrices to Hessenberg form. `gehrd` returns the Hessenberg form (with the
    /// reflectors' tails below), the taus and the status.
    fn gehrd(&self) -> Outcome<Value> {
        let low = self.attributes.integer("low")?;
        let high = self.attributes.integer("high")?;
        self.batched(&[2, 1, 0], |_, a| {
            Self::square(&a)?;
            let n = a.rows as i64;
            ensure!(
                1 <= low && high <= n && (n == 0 || low <= high),
                "gehrd needs 1 <= low <= high <= rows, but has low = {low}, high = {high} and {n} rows"
            );
            let (form, taus) = linalg::hessenberg(a, low as usize - 1, high as usize);
            Ok(vec![form, Matrix::column_vector(taus), integers([0])])
        })
    }

    /// Computes eigenvalues of general matrices. `geev` returns the eigenvalues (for real matrices,
    /// real and imaginary parts as separate results), the left and right eigenvectors, and the
    /// status.
    fn geev(&self) -> Outcome<Value> {
        let real = self.operands.array(0)?.ty.is_float();
        let vectors = |name: &str| Ok(self.attributes.letter(name)? == 'V');
        let (left, right) = (vectors("compute_left")?, vectors("compute_right")?);
        let work = |a: &Matrix| -> Outcome<(Vec<Complex>, Matrix, Matrix, i64)> {
            Self::square(a)?;
            let Some(eigen) = linalg::eigenvectors(a, real) else {
                let none = Matrix::not_numbers(a.rows, a.rows);
                return Ok((Matrix::not_numbers(a.rows, 1).elements().to_vec(), none.clone(), none, 1));
            };
            let blank = || Matrix::zeros(a.rows, a.rows);
            let of_adjoint = if left { eigen.left } else { blank() };
            Ok((eigen.values, of_adjoint, if right { eigen.right } else { blank() }, 0))
        };
        if real {
            return self.batched(&[1, 1, 2, 2, 0], |_, a| {
                let (values, left, right, status) = work(&a)?;
                let (re, im) = (reals(values.iter().map(|z| z.re)), reals(values.iter().map(|z| z.im)));
                Ok(vec![re, im, left, right, integers([status])])
            });
        }
        self.batched(&[1, 2, 2, 0], |_, a| {
            let (values, left, right, status) = work(&a)?;
            Ok(vec![Matrix::column_vector(values), left, right, integers([status])])
        })
    }

    /// Computes Schur forms. `gees` returns the triangular factor, the unitary factor, the
    /// eigenvalues (for real matrices, real and imaginary parts as separate results), the number of
    /// sorted eigenvalues, and the status.
    fn gees(&self) -> Outcome<Value> {
        if self.attributes.letter("sort")? != 'N' {
            return unsupported("a sorted Schur form");
        }
        if self.operands.array(0)?.ty.is_float() {
            return self.batched(&[2, 2, 1, 1, 0, 0], |_, a| {
                Self::square(&a)?;
                let n = a.rows;
                let (form, status) = match linalg::real_schur(&a) {
                    Some(form) => (form, 0),
                    None => {
                        let (t, q) = (Matrix::not_numbers(n, n), Matrix::not_numbers(n, n));
                        let values = Matrix::not_numbers(n, 1).elements().to_vec();
                        (RealSchur { t, q, values }, 1)
                    }
                };
                let (re, im) = (form.values.iter().map(|z| z.re), form.values.iter().map(|z| z.im));
                let (re, im) = (reals(re), reals(im));
                Ok(vec![form.t, form.q, re, im, integers([0]), integers([status])])
            });
        }
        self.batched(&[2, 2, 1, 0, 0], |_, a| {
            Self::square(&a)?;
            let n = a.rows;
            let (t, q, status) = match linalg::schur(&a) {
                Some((t, q)) => (t, q, 0),
                None => (Matrix::not_numbers(n, n), Matrix::not_numbers(n, n), 1),
            };
            let values = Matrix::column_vector((0..n).map(|i| t.get(i, i)).collect());
            Ok(vec![t, q, values, integers([0]), integers([status])])
        })
    }

    fn epsilon(&self) -> Outcome<f64> {
        Ok(match self.operands.array(0)?.ty {
            ElementType::F32 | ElementType::C64 => f64::from(f32::EPSILON) / 2.0,
            _ => f64::EPSILON / 2.0,
        })
    }
}
