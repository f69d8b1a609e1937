//! Checks Hessenberg and tridiagonal forms.

use fusebox_core::hlo::ElementType;

use super::judge::{WorstErrors, departure};
use super::matrices::{C, Mat, RoutineResult, lapack, operand};
use super::{for_each_case, square};

const S32: ElementType = ElementType::S32;

/// Returns the product of reflectors `I - tau v vᴴ`. The vector `v` of reflector `k` has a one at
/// `unit(k)` and `tail(k, i)` in row `i`.
fn product(
    n: usize,
    taus: &RoutineResult,
    unit: impl Fn(usize) -> usize,
    tail: impl Fn(usize, usize) -> C,
    back: bool,
) -> Mat {
    let mut q = Mat::identity(n, n);
    let mut numbers: Vec<usize> = (0..taus.values.len()).collect();
    if back {
        numbers.reverse();
    }
    for k in numbers {
        let v = Mat::from_fn(n, 1, |i, _| if i == unit(k) { C::ONE } else { tail(k, i) });
        q = &q - faer::Scale(taus.values[k]) * (&q * &v) * v.adjoint();
    }
    q
}

#[test]
fn hessenberg_forms_multiply_out() {
    let mut worst = WorstErrors::default();
    for_each_case(21, square, |case| {
        let (ty, n) = (case.ty, case.matrix.nrows());
        let below = n.saturating_sub(1);
        let config = format!("low = 1 : i32, high = {n} : i32");
        let results: [(_, &[usize]); 3] = [(ty, &[n, n]), (ty, &[below]), (S32, &[])];
        let found = lapack(ty, "gehrd", &config, &[operand(&case)], &results);
        let packed = found[0].matrix();
        let tail = |k: usize, i: usize| if i > k + 1 { packed[(i, k)] } else { C::ZERO };
        let q = product(n, &found[1], |k| k + 1, tail, false);
        let scaled = found[0].unscaled(case.factor);
        let h = Mat::from_fn(n, n, |i, j| if i <= j + 1 { scaled[(i, j)] } else { C::ZERO });
        worst.note("hessenberg orthogonality", &case, departure(&q), 1.0);
        worst.note("hessenberg", &case, (&q * h * q.adjoint() - &case.matrix).norm_l2(), case.matrix.norm_l2());
    });
    worst.check(&[("hessenberg orthogonality", 3.0), ("hessenberg", 3.5)]);
}

#[test]
fn only_the_active_rows_are_reduced() {
    // Rows 2 to 4 are active. Outside these rows, the matrix is triangular.
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 6.0, 7.0, 8.0, 9.0, 0.0, 3.0, 2.0, 1.0, 4.0, 0.0, 5.0, 6.0, 2.0, 3.0];
    let values = values.iter().chain(&[0.0, 0.0, 0.0, 0.0, 7.0]).map(|&x| C::new(x, 0.0));
    let ty = ElementType::F64;
    let input = (super::matrices::shape(ty, &[5, 5]), super::matrices::to_bytes(ty, values));
    let results: [(_, &[usize]); 3] = [(ty, &[5, 5]), (ty, &[4]), (S32, &[])];
    let found = lapack(ty, "gehrd", "low = 2 : i32, high = 4 : i32", &[input], &results);
    let taus = found[1].real();
    assert!(taus[0] == 0.0 && taus[1] != 0.0 && taus[2] == 0.0 && taus[3] == 0.0, "{taus:?}");
    assert!((found[0].values[11].re + 34f64.sqrt()).abs() < 1e-14, "beta has the sign opposite to the head's");
}

#[test]
fn tridiagonal_forms_multiply_out() {
    let mut worst = WorstErrors::default();
    for_each_case(22, square, |case| {
        let case = case.hermitian(false);
        let (ty, n) = (case.ty, case.matrix.nrows());
        let (real, below) = (ty.real_part(), n.saturating_sub(1));
        for lower in [true, false] {
            let config = format!("uplo = {} : ui8", if lower { 76 } else { 85 });
            let results: [(_, &[usize]); 5] =
                [(ty, &[n, n]), (real, &[n]), (real, &[below]), (ty, &[below]), (S32, &[])];
            let name = if ty.is_complex() { "hetrd" } else { "sytrd" };
            let found = lapack(ty, name, &config, &[operand(&case)], &results);
            let packed = found[0].matrix();
            let q = if lower {
                let tail = |k: usize, i: usize| if i > k + 1 { packed[(i, k)] } else { C::ZERO };
                product(n, &found[3], |k| k + 1, tail, false)
            } else {
                // H(n-1) comes first, and the tails are stored above the diagonal.
                product(n, &found[3], |k| k, |k, i| if i < k { packed[(i, k + 1)] } else { C::ZERO }, true)
            };
            let (diagonal, beside) = (found[1].real(), found[2].real());
            let t = Mat::from_fn(n, n, |i, j| match i.abs_diff(j) {
                0 => C::new(diagonal[i] / case.factor, 0.0),
                1 => C::new(beside[i.min(j)] / case.factor, 0.0),
                _ => C::ZERO,
            });
            worst.note("tridiagonal orthogonality", &case, departure(&q), 1.0);
            worst.note("tridiagonal", &case, (&q * t * q.adjoint() - &case.matrix).norm_l2(), case.matrix.norm_l2());
        }
    });
    worst.check(&[("tridiagonal orthogonality", 3.5), ("tridiagonal", 4.5)]);
}
