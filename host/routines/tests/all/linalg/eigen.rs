//! Checks eigenvalues, singular values and Schur forms.

use fusebox_core::hlo::ElementType;

use super::judge::{WorstErrors, departure};
use super::matrices::{C, Mat, RoutineResult, TYPES, lapack, operand, shape, to_bytes};
use super::{for_each_case, oblong, square};

const S32: ElementType = ElementType::S32;

fn diagonal(values: &[C]) -> Mat {
    Mat::from_fn(values.len(), values.len(), |i, j| if i == j { values[i] } else { C::ZERO })
}

fn unscaled(values: &[C], factor: f64) -> Vec<C> {
    values.iter().map(|z| z / factor).collect()
}

#[test]
fn eigenvectors_of_hermitian_matrices() {
    let mut worst = WorstErrors::default();
    for_each_case(31, square, |case| {
        let case = case.hermitian(false);
        let (ty, n) = (case.ty, case.matrix.nrows());
        let results: [(_, &[usize]); 3] = [(ty, &[n, n]), (ty.real_part(), &[n]), (S32, &[])];
        let name = if ty.is_complex() { "heevd" } else { "syevd" };
        for uplo in [76, 85] {
            let call = |mode: u8| {
                let config = format!("mode = {mode} : ui8, uplo = {uplo} : ui8");
                lapack(ty, name, &config, &[operand(&case)], &results)
            };
            let found = call(86);
            assert_eq!(found[2].status(), 0);
            let values = unscaled(&found[1].values, case.factor);
            assert!(values.is_sorted_by(|a, b| a.re <= b.re));
            let v = found[0].matrix();
            worst.note("eigh orthogonality", &case, departure(&v), 1.0);
            let rest = &case.matrix * &v - &v * diagonal(&values);
            worst.note("eigh", &case, rest.norm_l2(), case.matrix.norm_l2());
            let alone = unscaled(&call(78)[1].values, case.factor);
            let off = values.iter().zip(&alone).map(|(a, b)| (a - b).norm_sqr()).sum::<f64>().sqrt();
            worst.note("eigenvalues alone", &case, off, case.matrix.norm_l2());
        }
    });
    worst.check(&[("eigh orthogonality", 5.0), ("eigh", 3.5), ("eigenvalues alone", 2.5)]);
}

/// Checks vectors of single-precision matrices. The routine computes in double precision and rounds
/// once.
#[test]
fn eigenvectors_and_singular_vectors_of_single_matrices_are_as_close_as_their_type_allows() {
    let mut worst = WorstErrors::default();
    for_each_case(36, square, |case| {
        if ![ElementType::F32, ElementType::C64].contains(&case.ty) {
            return;
        }
        let case = case.hermitian(false);
        let (ty, n) = (case.ty, case.matrix.nrows());
        let name = if ty.is_complex() { "heevd" } else { "syevd" };
        let results: [(_, &[usize]); 3] = [(ty, &[n, n]), (ty.real_part(), &[n]), (S32, &[])];
        let found = lapack(ty, name, "mode = 86 : ui8, uplo = 76 : ui8", &[operand(&case)], &results);
        let v = found[0].matrix();
        worst.note("eigh orthogonality", &case, departure(&v), 1.0);
        let rest = &case.matrix * &v - &v * diagonal(&unscaled(&found[1].values, case.factor));
        worst.note("eigh", &case, rest.norm_l2(), case.matrix.norm_l2());
        let results: [(_, &[usize]); 5] =
            [(ty, &[n, n]), (ty.real_part(), &[n]), (ty, &[n, n]), (ty, &[n, n]), (S32, &[])];
        let found = lapack(ty, "gesdd", "mode = 83 : ui8", &[operand(&case)], &results);
        let product = found[2].matrix() * diagonal(&unscaled(&found[1].values, case.factor)) * found[3].matrix();
        worst.note("svd", &case, (product - &case.matrix).norm_l2(), case.matrix.norm_l2());
    });
    worst.check(&[("eigh orthogonality", 1.0), ("eigh", 1.0), ("svd", 1.0)]);
}

#[test]
fn singular_vectors() {
    let mut worst = WorstErrors::default();
    for_each_case(32, oblong, |case| {
        let (ty, rows, columns) = (case.ty, case.matrix.nrows(), case.matrix.ncols());
        let size = rows.min(columns);
        for (mode, left, right) in [(65, rows, columns), (83, size, size)] {
            let results: [(_, &[usize]); 5] = [
                (ty, &[rows, columns]),
                (ty.real_part(), &[size]),
                (ty, &[rows, left]),
                (ty, &[right, columns]),
                (S32, &[]),
            ];
            let config = format!("mode = {mode} : ui8");
            let found = lapack(ty, "gesdd", &config, &[operand(&case)], &results);
            assert_eq!(found[4].status(), 0);
            let values = unscaled(&found[1].values, case.factor);
            assert!(values.is_sorted_by(|a, b| a.re >= b.re) && values.iter().all(|s| s.re >= 0.0));
            let (u, vh) = (found[2].matrix(), found[3].matrix());
            worst.note("svd orthogonality", &case, departure(&u).max(departure(&vh.adjoint().to_owned())), 1.0);
            let product = u.subcols(0, size) * diagonal(&values) * vh.subrows(0, size);
            worst.note("svd", &case, (product - &case.matrix).norm_l2(), case.matrix.norm_l2());
            let alone = lapack(ty, "gesvd", "mode = 78 : ui8", &[operand(&case)], &results);
            let alone = unscaled(&alone[1].values, case.factor);
            let off = values.iter().zip(&alone).map(|(a, b)| (a - b).norm_sqr()).sum::<f64>().sqrt();
            worst.note("singular values alone", &case, off, case.matrix.norm_l2());
        }
    });
    worst.check(&[("svd orthogonality", 6.0), ("svd", 10.0), ("singular values alone", 2.0)]);
}

/// Returns eigenvalues as complex numbers. Joins the real and imaginary parts if they are two
/// results.
fn joined(found: &[RoutineResult]) -> Vec<C> {
    match found {
        [re, im] => re.values.iter().zip(&im.values).map(|(re, im)| C::new(re.re, im.re)).collect(),
        [both] => both.values.clone(),
        _ => panic!("one or two results"),
    }
}

fn values_of(ty: ElementType, n: &[usize]) -> Vec<(ElementType, &[usize])> {
    if ty.is_complex() { vec![(ty, n)] } else { vec![(ty, n), (ty, n)] }
}

#[test]
fn schur_forms_multiply_out() {
    let mut worst = WorstErrors::default();
    for_each_case(33, square, |case| {
        let (ty, n) = (case.ty, case.matrix.nrows());
        let matrix: (_, &[usize]) = (ty, &[n, n]);
        let vector = [n];
        let results = [vec![matrix, matrix], values_of(ty, &vector), vec![(S32, &[][..]); 2]].concat();
        let found = lapack(ty, "gees", "mode = 86 : ui8, sort = 78 : ui8", &[operand(&case)], &results);
        let [t, q, values @ .., sorted, status] = &found[..] else { panic!() };
        assert_eq!((sorted.status(), status.status()), (0, 0), "{}", case.family);
        let (t, q) = (t.unscaled(case.factor), q.matrix());
        let values = unscaled(&joined(values), case.factor);
        for j in 0..n {
            for i in j + 1..n {
                assert!(t[(i, j)] == C::ZERO || (i == j + 1 && !ty.is_complex()), "an element below the diagonal");
            }
        }
        for i in 0..n.saturating_sub(1) {
            if t[(i + 1, i)] == C::ZERO {
                continue;
            }
            let next = i + 2 < n && t[(i + 2, i + 1)] != C::ZERO;
            let standard = t[(i, i)] == t[(i + 1, i + 1)] && t[(i, i + 1)].re * t[(i + 1, i)].re < 0.0 && !next;
            assert!(standard, "a block of {} is not in standard form", case.family);
            assert!(values[i].im > 0.0 && values[i + 1] == values[i].conj());
        }
        worst.note("schur orthogonality", &case, departure(&q), 1.0);
        worst.note("schur", &case, (&q * &t * q.adjoint() - &case.matrix).norm_l2(), case.matrix.norm_l2());
        let off: f64 = (0..n).map(|i| (values[i].re - t[(i, i)].re).abs()).sum();
        worst.note("values of schur", &case, off, case.matrix.norm_l2());
    });
    worst.check(&[("schur orthogonality", 7.0), ("schur", 6.5), ("values of schur", 0.1)]);
}

/// A Schur form is not unique. Programs that compare it with LAPACK's expect the same order of the
/// eigenvalues.
#[test]
fn eigenvalues_of_a_complex_schur_form_have_the_order_of_lapack() {
    let n = 5;
    let element = |i: usize, j: usize| {
        let (re, im) = ((3 * i + 5 * j) % 7, (2 * i + j * j) % 5);
        C::new(re as f64 - 3.0, im as f64 - 2.0)
    };
    let bytes = to_bytes(ElementType::C128, (0..n * n).map(|at| element(at / n, at % n)));
    let (square, vector) = ([n, n], [n]);
    let input = [(shape(ElementType::C128, &square), bytes)];
    let matrix: (_, &[usize]) = (ElementType::C128, &square);
    let results = [matrix, matrix, (ElementType::C128, &vector), (S32, &[]), (S32, &[])];
    let found = lapack(ElementType::C128, "gees", "mode = 86 : ui8, sort = 78 : ui8", &input, &results);
    // LAPACK's `zgees` returns these eigenvalues for this matrix.
    let values = [
        C::new(-4.959674541622, -1.965255494565),
        C::new(-2.068851461976, -4.497134607354),
        C::new(1.622837596161, -1.023900544612),
        C::new(0.987635117013, 3.164738067010),
        C::new(-0.581946709575, 4.321552579522),
    ];
    for (found, expected) in found[2].values.iter().zip(values) {
        assert!((found - expected).norm() < 1e-10, "{found} is not {expected}");
    }
}

#[test]
fn eigenvectors_of_any_matrix() {
    let mut worst = WorstErrors::default();
    for_each_case(34, square, |case| {
        let (ty, n) = (case.ty, case.matrix.nrows());
        let complex = if ty.real_part() == ElementType::F32 { ElementType::C64 } else { ElementType::C128 };
        let matrix: (_, &[usize]) = (complex, &[n, n]);
        let vector = [n];
        let results = [values_of(ty, &vector), vec![matrix, matrix, (S32, &[])]].concat();
        let config = "compute_left = 86 : ui8, compute_right = 86 : ui8";
        let found = lapack(ty, "geev", config, &[operand(&case)], &results);
        let [values @ .., left, right, status] = &found[..] else { panic!() };
        assert_eq!(status.status(), 0, "{}", case.family);
        let values = unscaled(&joined(values), case.factor);
        let (left, right) = (left.matrix(), right.matrix());
        let a = &case.matrix;
        let norm = a.norm_l2();
        worst.note("eig", &case, (a * &right - &right * diagonal(&values)).norm_l2(), norm);
        worst.note("left eig", &case, (left.adjoint() * a - diagonal(&values) * left.adjoint()).norm_l2(), norm);
        for vectors in [&left, &right] {
            for j in 0..n {
                let column = vectors.col(j);
                worst.note("length", &case, (column.norm_l2() - 1.0).abs(), 1.0);
                let largest = (0..n).fold(0, |best, i| if column[i].norm() > column[best].norm() { i } else { best });
                let near = |i: usize| column[i].norm() >= column[largest].norm() * (1.0 - 1e-5);
                assert!((0..n).any(|i| near(i) && column[i].im == 0.0), "no largest component is real");
            }
        }
    });
    worst.check(&[("eig", 4.0), ("left eig", 3.5), ("length", 2.0)]);
}

#[test]
fn what_is_not_finite_has_a_status_and_ends() {
    for (ty, _) in TYPES {
        for (n, bad) in [(1, f64::NAN), (5, f64::NAN), (5, f64::INFINITY), (60, f64::NAN), (90, f64::NEG_INFINITY)] {
            let value = |at: usize| C::new(if at == n * n / 2 { bad } else { (at % 7) as f64 }, 0.0);
            let input = [(shape(ty, &[n, n]), to_bytes(ty, (0..n * n).map(value)))];
            let (real, matrix): (_, (_, &[usize])) = (ty.real_part(), (ty, &[n, n]));
            let status: (_, &[usize]) = (S32, &[]);
            let call = |name: &str, config: &str, results: &[(ElementType, &[usize])], wanted: usize| {
                let found = lapack(ty, name, config, &input, results);
                assert_ne!(found.last().unwrap().status(), 0, "{name}");
                assert!(found[wanted].values.iter().all(|z| z.re.is_nan()), "{name}");
            };
            let name = if ty.is_complex() { "heevd" } else { "syevd" };
            call(name, "mode = 86 : ui8, uplo = 76 : ui8", &[matrix, (real, &[n]), status], 1);
            let svd = [matrix, (real, &[n]), matrix, matrix, status];
            call("gesdd", "mode = 65 : ui8", &svd, 1);
            let (vector, square) = ([n], [n, n]);
            let schur = [vec![matrix, matrix], values_of(ty, &vector), vec![status; 2]].concat();
            call("gees", "mode = 86 : ui8, sort = 78 : ui8", &schur, 0);
            let complex = if real == ElementType::F32 { ElementType::C64 } else { ElementType::C128 };
            let eig = [values_of(ty, &vector), vec![(complex, &square[..]); 2], vec![status]].concat();
            call("geev", "compute_left = 78 : ui8, compute_right = 86 : ui8", &eig, 0);
            // The other functions must end too, whatever they compute.
            lapack(ty, "getrf", "", &input, &[matrix, (S32, &[n]), status]);
            lapack(ty, "geqrf", "", &input, &[matrix, (ty, &[n])]);
            lapack(ty, "gehrd", &format!("low = 1 : i32, high = {n} : i32"), &input, &[matrix, (ty, &[n - 1]), status]);
        }
    }
}
