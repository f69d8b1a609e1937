//! Factorisations and solvers. The tests multiply results out, or compare them with values computed
//! by hand.

use crate::support::{array, assert_near, body, elements, values};
use fusebox_core::hlo::{Literal, Shape};

/// `a · b` of square matrices of size `n`, row-major.
fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|i| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum()).collect()
}

fn transposed(a: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|i| a[i % n * n + i / n]).collect()
}

const SYMMETRIC: [f64; 9] = [4.0, 2.0, -1.0, 2.0, 5.0, 0.5, -1.0, 0.5, 3.0];

fn matrix(values: &[f64]) -> Literal {
    array(&[3, 3], values)
}

fn call(target: &str, result: &str, config: &str, inputs: &[Literal]) -> Literal {
    let mut text = String::new();
    let mut names = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        let Shape::Array(shape) = input.shape() else { panic!("arrays only") };
        let dims: Vec<String> = shape.dims.iter().map(i64::to_string).collect();
        text += &format!("p{i} = {}[{}] parameter({i})\n", shape.element_type, dims.join(","));
        names.push(format!("p{i}"));
    }
    text += &format!(
        "ROOT r = {result} custom-call({}), custom_call_target=\"{target}\", api_version=API_VERSION_TYPED_FFI, backend_config={{{config}}}",
        names.join(", ")
    );
    body(&text, inputs)
}

#[test]
fn cholesky_multiplies_out_and_fails_with_nan() {
    for lower in [true, false] {
        let text = format!("a = f64[3,3] parameter(0)\nROOT r = f64[3,3] cholesky(a), lower={lower}");
        let factor: Vec<f64> = values(&body(&text, &[matrix(&SYMMETRIC)]));
        let other = transposed(&factor, 3);
        let back = if lower { product(&factor, &other, 3) } else { product(&other, &factor, 3) };
        assert_near(&back, &SYMMETRIC, 1e-14);
        assert_eq!(factor[if lower { 2 } else { 6 }], 0.0);
    }
    let text = "a = f64[3,3] parameter(0)\nROOT r = f64[3,3] cholesky(a), lower=true";
    let failed: Vec<f64> = values(&body(text, &[matrix(&SYMMETRIC.map(|x| -x))]));
    assert!(failed.iter().all(|x| x.is_nan()));
}

#[test]
fn triangular_systems_of_every_form() {
    let b = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0];
    for (left, lower, unit, transpose) in (0..16).map(|i| (i & 1 == 0, i & 2 == 0, i & 4 == 0, i & 8 == 0)) {
        let name = if transpose { "TRANSPOSE" } else { "NO_TRANSPOSE" };
        let text = format!(
            "a = f64[3,3] parameter(0)\nb = f64[3,3] parameter(1)\nROOT r = f64[3,3] triangular-solve(a, b), \
            left_side={left}, lower={lower}, unit_diagonal={unit}, transpose_a={name}"
        );
        let x: Vec<f64> = values(&body(&text, &[matrix(&SYMMETRIC), matrix(&b)]));
        let read = |i: usize| match (i / 3).cmp(&(i % 3)) {
            std::cmp::Ordering::Equal if unit => 1.0,
            std::cmp::Ordering::Greater if !lower => 0.0,
            std::cmp::Ordering::Less if lower => 0.0,
            _ => SYMMETRIC[i],
        };
        let triangle: Vec<f64> = (0..9).map(read).collect();
        let triangle = if transpose { transposed(&triangle, 3) } else { triangle };
        let back = if left { product(&triangle, &x, 3) } else { product(&x, &triangle, 3) };
        assert_near(&back, &b, 1e-12);
    }
}

#[test]
fn lu_pivots_on_the_largest() {
    let a = matrix(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0]);
    let results = elements(&call("lapack_dgetrf_ffi", "(f64[3,3], s32[3], s32[])", "", &[a]));
    assert_eq!(values::<i32>(&results[1]), [3, 3, 3]);
    assert_eq!(values::<i32>(&results[2]), [0]);
    let factors: Vec<f64> = values(&results[0]);
    assert_near(&factors[..3], &[7.0, 8.0, 10.0], 0.0);
    assert_near(&factors[3..4], &[1.0 / 7.0], 1e-16);
    let singular = elements(&call("lapack_dgetrf_ffi", "(f64[3,3], s32[3], s32[])", "", &[matrix(&[0.0; 9])]));
    assert_eq!(values::<i32>(&singular[2]), [1]);
}

#[test]
fn qr_has_lapacks_signs() {
    let a = [3.0, 1.0, 2.0, 4.0, -1.0, 0.0, 0.0, 2.0, 5.0];
    let results = elements(&call("lapack_dgeqrf_ffi", "(f64[3,3], f64[3])", "", &[matrix(&a)]));
    let factors: Vec<f64> = values(&results[0]);
    assert_near(&factors[..1], &[-5.0], 1e-14);
    assert_near(&values::<f64>(&results[1])[..1], &[1.6], 1e-14);
    let q: Vec<f64> = values(&call("lapack_dorgqr_ffi", "f64[3,3]", "", &results));
    let r: Vec<f64> = (0..9).map(|i| if i / 3 > i % 3 { 0.0 } else { factors[i] }).collect();
    assert_near(&product(&q, &r, 3), &a, 1e-14);
}

#[test]
fn symmetric_eigenvalues_ascend_and_vectors_are_orthogonal() {
    for uplo in [76, 85] {
        let config = format!("mode = 86 : ui8, uplo = {uplo} : ui8");
        let results = elements(&call("lapack_dsyevd_ffi", "(f64[3,3], f64[3], s32[])", &config, &[matrix(&SYMMETRIC)]));
        let (vectors, eigenvalues): (Vec<f64>, Vec<f64>) = (values(&results[0]), values(&results[1]));
        assert!(eigenvalues.is_sorted());
        let scaled: Vec<f64> = (0..9).map(|i| vectors[i] * eigenvalues[i % 3]).collect();
        assert_near(&product(&scaled, &transposed(&vectors, 3), 3), &SYMMETRIC, 1e-13);
        let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert_near(&product(&vectors, &transposed(&vectors, 3), 3), &identity, 1e-14);
    }
}

#[test]
fn singular_values_descend_and_multiply_out() {
    let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let shape = "(f64[3,3], f64[3], f64[3,3], f64[3,3], s32[])";
    let results = elements(&call("lapack_dgesdd_ffi", shape, "mode = 65 : ui8", &[matrix(&a)]));
    let singular: Vec<f64> = values(&results[1]);
    assert!(singular.is_sorted_by(|a, b| a >= b) && singular[2] < 1e-14);
    let (u, vt): (Vec<f64>, Vec<f64>) = (values(&results[2]), values(&results[3]));
    let scaled: Vec<f64> = (0..9).map(|i| u[i] * singular[i % 3]).collect();
    assert_near(&product(&scaled, &vt, 3), &a, 1e-13);
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    assert_near(&product(&u, &transposed(&u, 3), 3), &identity, 1e-13);
}

#[test]
fn an_infinite_diagonal_is_a_pivot() {
    let a = matrix(&[4.0, 2.0, 2.0, 2.0, f64::INFINITY, 1.0, 2.0, 1.0, 5.0]);
    let results = elements(&call("lapack_dpotrf_ffi", "(f64[3,3], s32[])", "uplo = 76 : ui8", &[a]));
    let factor = values::<f64>(&results[0]);
    assert_eq!([0, 3, 4, 6, 7, 8].map(|at| factor[at]), [2.0, 1.0, f64::INFINITY, 1.0, 0.0, 2.0]);
    assert_eq!(values::<i32>(&results[1]), [0]);
}

/// Like LAPACK, returns a status and no numbers.
#[test]
fn what_is_not_finite_has_no_factors() {
    for bad in [f64::NAN, f64::INFINITY] {
        let a = [1.0, 2.0, 3.0, 4.0, bad, 6.0, 7.0, 8.0, 9.0];
        let vectors = "compute_left = 78 : ui8, compute_right = 86 : ui8";
        for (name, shape, config, place) in [
            ("lapack_dsyevd_ffi", "(f64[3,3], f64[3], s32[])", "mode = 86 : ui8, uplo = 76 : ui8", 1),
            ("lapack_dgesdd_ffi", "(f64[3,3], f64[3], f64[3,3], f64[3,3], s32[])", "mode = 65 : ui8", 1),
            ("lapack_dgeev_ffi", "(f64[3], f64[3], c128[3,3], c128[3,3], s32[])", vectors, 0),
        ] {
            let results = elements(&call(name, shape, config, &[matrix(&a)]));
            assert!(values::<f64>(&results[place]).iter().all(|x| x.is_nan()), "{name} of {bad}");
            assert_ne!(values::<i32>(results.last().unwrap())[0], 0, "{name} of {bad}");
        }
    }
}

#[test]
fn eigenvalues_of_a_rotation() {
    let a = matrix(&[0.0, -2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0]);
    let config = "compute_left = 78 : ui8, compute_right = 86 : ui8";
    let results = elements(&call("lapack_dgeev_ffi", "(f64[3], f64[3], c128[3,3], c128[3,3], s32[])", config, &[a]));
    assert_near(&values::<f64>(&results[0]), &[0.0, 0.0, 3.0], 1e-14);
    assert_near(&values::<f64>(&results[1]), &[2.0, -2.0, 0.0], 1e-14);
}

#[test]
fn tridiagonal_systems() {
    // Rows: (2 1 0), (1 2 1), (0 1 2); the solution is (1, 2, 3).
    let lower = array(&[3], &[0f64, 1.0, 1.0]);
    let (main, upper) = (array(&[3], &[2f64; 3]), array(&[3], &[1f64, 1.0, 0.0]));
    let right = array(&[3, 1], &[4f64, 8.0, 8.0]);
    let shape = "(f64[3], f64[3], f64[3], f64[3,1], s32[])";
    let results = elements(&call("lapack_dgtsv_ffi", shape, "", &[lower, main, upper, right]));
    assert_near(&values::<f64>(&results[3]), &[1.0, 2.0, 3.0], 1e-15);
}

/// Matrices with real eigenvalues, pairs, multiple ones, zeros, and numbers whose products
/// overflow.
fn general_matrices() -> Vec<(usize, Vec<f64>)> {
    let drawn = |n: usize, seed: u64| -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
        };
        (0..n * n).map(|_| next()).collect()
    };
    let mut all: Vec<(usize, Vec<f64>)> = (0..12).map(|n| (n, drawn(n, n as u64 + 3))).collect();
    all.push((30, drawn(30, 77)));
    all.push((5, drawn(5, 5).iter().map(|x| x * 1e200).collect()));
    all.push((5, drawn(5, 6).iter().map(|x| x * 1e-200).collect()));
    all.push((3, vec![0.0; 9]));
    all.push((3, SYMMETRIC.to_vec()));
    all.push((2, vec![1.0, 1.0, -1e-17, 1.0]));
    all.push((2, vec![0.0, 0.0, 1.0, 0.0]));
    // A permutation of period four. Its eigenvalues have equal magnitude, so that plain shifts
    // never converge.
    all.push((4, (0..16).map(|i| if i % 4 == (i / 4 + 1) % 4 { 1.0 } else { 0.0 }).collect()));
    all
}

#[test]
fn real_schur_forms_multiply_out_and_are_in_standard_form() {
    for (n, a) in general_matrices() {
        let result = format!("(f64[{n},{n}], f64[{n},{n}], f64[{n}], f64[{n}], s32[], s32[])");
        let input = array(&[n as i64, n as i64], &a);
        let found = call("lapack_dgees_ffi", &result, "mode = 86 : ui8, sort = 78 : ui8", &[input]);
        let parts = elements(&found);
        let [t, q, re, im] = [0, 1, 2, 3].map(|i| values::<f64>(&parts[i]));
        assert_eq!(values::<i32>(&parts[5]), [0]);
        let size = a.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        let per_size = |m: &[f64]| m.iter().map(|x| x / size).collect::<Vec<f64>>();
        let back = product(&product(&q, &t, n), &transposed(&q, n), n);
        assert_near(&per_size(&back), &per_size(&a), 1e-13);
        let one: Vec<f64> = (0..n * n).map(|i| if i / n == i % n { 1.0 } else { 0.0 }).collect();
        assert_near(&product(&transposed(&q, n), &q, n), &one, 1e-13);
        let at = |r: usize, c: usize| t[r * n + c];
        for r in 0..n {
            assert!((0..r.saturating_sub(1)).all(|c| at(r, c) == 0.0), "{n}: not in blocks");
            assert_eq!(re[r], at(r, r));
            let is_second = r > 0 && at(r, r - 1) != 0.0;
            let is_first = r + 1 < n && at(r + 1, r) != 0.0;
            assert!(!(is_first && is_second), "{n}: a block of three");
            if is_second {
                assert_eq!(at(r, r), at(r - 1, r - 1), "{n}: no standard form");
                assert!((at(r, r - 1) < 0.0) != (at(r - 1, r) < 0.0), "{n}: no standard form");
                assert!(im[r] < 0.0 && im[r - 1] == -im[r]);
                let square = im[r] / size * (im[r] / size) + at(r, r - 1) / size * (at(r - 1, r) / size);
                assert!(square.abs() < 1e-14);
            } else if !is_first {
                assert_eq!(im[r], 0.0);
            }
        }
    }
    let nan = array(&[2, 2], &[1.0, f64::NAN, 0.0, 1.0]);
    let result = "(f64[2,2], f64[2,2], f64[2], f64[2], s32[], s32[])";
    let parts = elements(&call("lapack_dgees_ffi", result, "mode = 86 : ui8, sort = 78 : ui8", &[nan]));
    assert!((0..4).all(|i| values::<f64>(&parts[i]).iter().all(|x| x.is_nan())));
    assert_ne!(values::<i32>(&parts[5]), [0]);
}
