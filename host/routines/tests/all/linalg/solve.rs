//! Checks Cholesky and LU factors, and triangular and tridiagonal systems.

use fusebox_core::hlo::ElementType;

use super::judge::WorstErrors;
use super::matrices::{C, Mat, ScaledMatrix, TYPES, lapack, operand, run, shape, to_bytes};
use super::{for_each_case, oblong, square};
use crate::support::Random;

const S32: ElementType = ElementType::S32;

#[test]
fn cholesky_factors_multiply_out() {
    let mut worst = WorstErrors::default();
    for_each_case(1, square, |case| {
        let case = case.hermitian(true);
        let (ty, n) = (case.ty, case.matrix.nrows());
        let root = if case.factor < 1.0 { -1.0 } else { 1.0 } * case.factor.log2().abs() / 2.0;
        for lower in [true, false] {
            let config = format!("uplo = {} : ui8", if lower { 76 } else { 85 });
            let found = lapack(ty, "potrf", &config, &[operand(&case)], &[(ty, &[n, n]), (S32, &[])]);
            assert_eq!(found[1].status(), 0, "{ty} {} {n}", case.family);
            let packed = found[0].unscaled(root.exp2());
            let other = |i: usize, j: usize| if lower { i < j } else { i > j };
            let (given, size) = (case.bytes(), found[0].bytes.len() / (n * n).max(1));
            let kept = |at: usize| given[at * size..][..size] == found[0].bytes[at * size..][..size];
            let stays = (0..n * n).all(|at| !other(at / n, at % n) || kept(at));
            assert!(stays, "the other triangle is as it was");
            let keep = |i: usize, j: usize| if lower { i >= j } else { i <= j };
            let f = Mat::from_fn(n, n, |i, j| if keep(i, j) { packed[(i, j)] } else { C::ZERO });
            let product = if lower { &f * f.adjoint() } else { f.adjoint() * &f };
            worst.note("cholesky", &case, (product - &case.matrix).norm_l2(), case.matrix.norm_l2());

            let operation = format!("cholesky(), lower={lower}");
            let clean = run(&operation, &[operand(&case)], &shape(ty, &[n, n]));
            assert_eq!(clean[0].unscaled(root.exp2()), f, "the operation gives the same, and zeros beside");
        }
    });
    worst.check(&[("cholesky", 2.1)]);
}

#[test]
fn a_matrix_that_is_not_positive_definite_has_a_status() {
    for (ty, _) in TYPES {
        for n in [1, 5, 40, 200, 300] {
            let bad = n * 2 / 3;
            let element = |i: usize, j: usize| match (i == j, i == bad) {
                (true, true) => -1.0,
                (true, false) => 2.0,
                _ => 0.0,
            };
            for broken in [-1.0, f64::NAN] {
                let element = |i: usize, j: usize| if element(i, j) < 0.0 { broken } else { element(i, j) };
                let values = (0..n * n).map(|at| C::new(element(at / n, at % n), 0.0));
                let input = [(shape(ty, &[n, n]), to_bytes(ty, values))];
                let found = lapack(ty, "potrf", "uplo = 76 : ui8", &input, &[(ty, &[n, n]), (S32, &[])]);
                assert_eq!(found[1].status(), bad as i32 + 1);
                let clean = run("cholesky(), lower=true", &input, &shape(ty, &[n, n]));
                assert!(clean[0].values.iter().all(|z| z.re.is_nan()));
            }
        }
    }
}

/// Checks an infinite diagonal element. As in LAPACK, its root is infinity, and the elements below
/// become zero. The rest of the matrix is factorised as if this row and column were missing.
#[test]
fn an_infinite_diagonal_is_a_pivot() {
    for (ty, _) in TYPES {
        for n in [1, 5, 40, 200, 300] {
            let infinite = n / 3;
            let factor = |n: usize, infinite: Option<usize>| {
                let element = |i: usize, j: usize| match i.abs_diff(j) {
                    0 if Some(i) == infinite => f64::INFINITY,
                    0 => 2.0,
                    distance => 0.5 / (1.0 + distance as f64).powi(2),
                };
                let values = (0..n * n).map(|at| C::new(element(at / n, at % n), 0.0));
                let input = [(shape(ty, &[n, n]), to_bytes(ty, values))];
                let found = run("cholesky(), lower=true", &input, &shape(ty, &[n, n]));
                move |i: usize, j: usize| found[0].values[i * n + j]
            };
            let found = factor(n, Some(infinite));
            assert!(found(infinite, infinite).re == f64::INFINITY, "{ty} {n}");
            assert!((infinite + 1..n).all(|i| found(i, infinite) == C::new(0.0, 0.0)), "{ty} {n}");
            assert!((0..n * n).all(|at| at == infinite * (n + 1) || found(at / n, at % n).re.is_finite()), "{ty} {n}");
            let mut squares = (infinite + 1..n).map(|i| (0..=i).map(|j| found(i, j).norm_sqr()).sum::<f64>());
            assert!(squares.all(|square| (square - 2.0).abs() < 0.02), "{ty} {n}");
        }
    }
}

#[test]
fn lu_factors_multiply_out() {
    let mut worst = WorstErrors::default();
    for_each_case(2, oblong, |case| {
        let (ty, rows, columns) = (case.ty, case.matrix.nrows(), case.matrix.ncols());
        let size = rows.min(columns);
        let results: [(_, &[usize]); 3] = [(ty, &[rows, columns]), (S32, &[size]), (S32, &[])];
        let found = lapack(ty, "getrf", "", &[operand(&case)], &results);
        let packed = Mat::from_fn(rows, columns, |i, j| found[0].values[i * columns + j]);
        let unscale = 1.0 / case.factor;
        let mut l = Mat::identity(rows, size);
        let mut u = Mat::zeros(size, columns);
        for i in 0..rows {
            for j in 0..columns {
                if i > j { l[(i, j)] = packed[(i, j)] } else { u[(i, j)] = packed[(i, j)] * unscale }
            }
        }
        let mut permuted = case.matrix.clone();
        for (i, pivot) in found[1].real().iter().enumerate() {
            let pivot = *pivot as usize - 1;
            assert!(pivot >= i && pivot < rows);
            (0..columns)
                .for_each(|j| (permuted[(i, j)], permuted[(pivot, j)]) = (permuted[(pivot, j)], permuted[(i, j)]));
        }
        let zero = (0..size).find(|&i| u[(i, i)] == C::ZERO);
        assert_eq!(found[2].status(), zero.map_or(0, |i| i as i32 + 1));
        assert!(
            (0..size).all(|j| (j + 1..rows).all(|i| l[(i, j)].norm() <= 2f64.sqrt() + 1e-6)),
            "pivots are the largest"
        );
        worst.note("lu", &case, (l * u - permuted).norm_l2(), case.matrix.norm_l2());
    });
    worst.check(&[("lu", 0.9)]);
}

/// Returns a triangular operand. The routine must not read the other triangle or a unit diagonal,
/// so these elements are NaN.
fn triangle(case: &ScaledMatrix, lower: bool, unit_diagonal: bool) -> (Mat, (String, Vec<u8>)) {
    let n = case.matrix.nrows();
    let read = |i: usize, j: usize| if lower { i > j } else { i < j };
    let value = |i: usize, j: usize| match () {
        () if i == j && unit_diagonal => C::ONE,
        () if i == j => case.matrix[(i, j)] + if case.matrix[(i, j)].re < 0.0 { -2.0 } else { 2.0 },
        () if read(i, j) => case.matrix[(i, j)] / n as f64,
        () => C::ZERO,
    };
    let t = Mat::from_fn(n, n, value);
    let stored = |i: usize, j: usize| {
        if i == j && !unit_diagonal || read(i, j) { t[(i, j)] } else { C::new(f64::NAN, f64::NAN) }
    };
    let bytes = to_bytes(case.ty, (0..n * n).map(|at| stored(at / n, at % n)));
    let rounded = |i: usize, j: usize| match case.ty.real_part() {
        ElementType::F32 => C::new(f64::from(t[(i, j)].re as f32), f64::from(t[(i, j)].im as f32)),
        _ => t[(i, j)],
    };
    (Mat::from_fn(n, n, rounded), (shape(case.ty, &[n, n]), bytes))
}

#[test]
fn triangular_systems_are_solved() {
    let mut worst = WorstErrors::default();
    let mut random = Random::new(33);
    let mut number = 0;
    for_each_case(3, square, |case| {
        let (ty, n) = (case.ty, case.matrix.nrows());
        number += 1;
        let flags: [bool; 3] = std::array::from_fn(|bit| number >> bit & 1 == 1);
        let [left, lower, unit_diagonal] = flags;
        let (letter, transpose) = [(78, "NO_TRANSPOSE"), (84, "TRANSPOSE"), (67, "ADJOINT")][random.below(3)];
        let count = random.below(40);
        let (t, a) = triangle(&case, lower, unit_diagonal);
        let (rows, columns) = if left { (n, count) } else { (count, n) };
        let b = ScaledMatrix::new(&mut random, ty, 0, rows, columns);
        let op = match letter {
            78 => t.clone(),
            84 => t.transpose().to_owned(),
            _ => t.adjoint().to_owned(),
        };
        let code = |first: bool, letters: [u8; 2]| if first { letters[0] } else { letters[1] };
        let config = format!(
            "side = {} : ui8, uplo = {} : ui8, trans_x = {letter} : ui8, diag = {} : ui8",
            code(left, *b"LR"),
            code(lower, *b"LU"),
            code(unit_diagonal, *b"UN")
        );
        let operands = [a, operand(&b)];
        let x = lapack(ty, "trsm", &config, &operands, &[(ty, &[rows, columns])]);
        let operation = format!(
            "triangular-solve(), left_side={left}, lower={lower}, unit_diagonal={unit_diagonal}, transpose_a={transpose}"
        );
        assert_eq!(run(&operation, &operands, &shape(ty, &[rows, columns]))[0].bytes, x[0].bytes);
        let x = x[0].matrix();
        let back = if left { &op * &x } else { &x * &op };
        worst.note("triangular", &case, (back - &b.matrix).norm_l2(), op.norm_l2() * x.norm_l2());
    });
    worst.check(&[("triangular", 2.0)]);
}

#[test]
fn tridiagonal_systems_are_solved() {
    let mut worst = WorstErrors::default();
    let mut random = Random::new(44);
    for_each_case(4, square, |case| {
        let (ty, n) = (case.ty, case.matrix.nrows());
        let count = 1 + random.below(5);
        let line = |random: &mut Random| ScaledMatrix::new(random, ty, 0, 1, n);
        let [mut lower, main, mut upper] = std::array::from_fn(|_| line(&mut random));
        if n > 0 {
            (lower.matrix[(0, 0)], upper.matrix[(0, n - 1)]) = (C::ZERO, C::ZERO);
        }
        let b = ScaledMatrix::new(&mut random, ty, 0, n, count);
        let vector = |case: &ScaledMatrix| (shape(ty, &[n]), case.bytes());
        let results: [(_, &[usize]); 5] = [(ty, &[n]), (ty, &[n]), (ty, &[n]), (ty, &[n, count]), (S32, &[])];
        let operands = [vector(&lower), vector(&main), vector(&upper), operand(&b)];
        let found = lapack(ty, "gtsv", "", &operands, &results);
        assert_eq!(found[4].status(), 0);
        let mut a = Mat::zeros(n, n);
        for i in 0..n {
            a[(i, i)] = main.matrix[(0, i)];
            if i > 0 {
                a[(i, i - 1)] = lower.matrix[(0, i)];
                a[(i - 1, i)] = upper.matrix[(0, i - 1)];
            }
        }
        let x = found[3].matrix();
        worst.note("tridiagonal", &case, (&a * &x - &b.matrix).norm_l2(), a.norm_l2() * x.norm_l2());
    });
    worst.check(&[("tridiagonal", 1.2)]);
    let zeros = || (shape(ElementType::F32, &[3]), vec![0; 12]);
    let operands = [zeros(), zeros(), zeros(), (shape(ElementType::F32, &[3, 1]), vec![0; 12])];
    let ty = ElementType::F32;
    let results: [(_, &[usize]); 5] = [(ty, &[3]), (ty, &[3]), (ty, &[3]), (ty, &[3, 1]), (S32, &[])];
    assert_eq!(lapack(ty, "gtsv", "", &operands, &results)[4].status(), 1, "the first pivot is zero");
}

#[test]
fn batches_are_the_matrices_one_by_one() {
    let mut random = Random::new(55);
    for (ty, _) in TYPES {
        for (count, n) in [(3, 5), (64, 8), (5, 40), (2, 150), (0, 4)] {
            let cases: Vec<ScaledMatrix> = (0..count).map(|_| ScaledMatrix::new(&mut random, ty, 0, n, n)).collect();
            let together = cases.iter().flat_map(ScaledMatrix::bytes).collect();
            let results: [(_, &[usize]); 3] = [(ty, &[count, n, n]), (S32, &[count, n]), (S32, &[count])];
            let found = lapack(ty, "getrf", "", &[(shape(ty, &[count, n, n]), together)], &results);
            for (number, case) in cases.iter().enumerate() {
                let results: [(_, &[usize]); 3] = [(ty, &[n, n]), (S32, &[n]), (S32, &[])];
                for (one, all) in lapack(ty, "getrf", "", &[operand(case)], &results).iter().zip(&found) {
                    let size = one.bytes.len();
                    assert_eq!(one.bytes, all.bytes[number * size..(number + 1) * size]);
                }
            }
        }
    }
}

#[test]
fn narrow_floats_are_rounded_once() {
    // The Cholesky factor of ((4, 2), (2, 17)) is ((2, 0), (1, 4)).
    for (ty, code) in [(ElementType::BF16, brain as fn(f32) -> u32), (ElementType::F16, half)] {
        let bytes = |values: &[f32]| values.iter().flat_map(|&x| (code(x) as u16).to_le_bytes()).collect::<Vec<u8>>();
        let a = (shape(ty, &[2, 2]), bytes(&[4.0, 2.0, 2.0, 17.0]));
        let factor = run("cholesky(), lower=true", &[a], &shape(ty, &[2, 2]));
        assert_eq!(factor[0].bytes, bytes(&[2.0, 0.0, 1.0, 4.0]));
        let operation = "triangular-solve(), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE";
        let b = (shape(ty, &[2, 1]), bytes(&[4.0, 10.0]));
        let operands = [(shape(ty, &[2, 2]), factor[0].bytes.clone()), b];
        assert_eq!(run(operation, &operands, &shape(ty, &[2, 1]))[0].bytes, bytes(&[2.0, 2.0]));
    }
}

/// Returns the `bf16` code of a number that is exact in `bf16`.
fn brain(x: f32) -> u32 {
    x.to_bits() >> 16
}

/// Returns the `f16` code of a number. The number is an integer below 32, times a small power of
/// two.
fn half(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits == 0 { 0 } else { ((bits >> 23) - 127 + 15) << 10 | (bits >> 13 & 0x3FF) }
}
