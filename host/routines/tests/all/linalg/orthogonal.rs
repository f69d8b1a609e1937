//! Checks QR factors, and products with the reflectors of a factorisation.

use fusebox_core::hlo::ElementType;

use super::judge::{WorstErrors, departure};
use super::matrices::{C, Mat, ScaledMatrix, handed_on, lapack, operand, shape, to_bytes};
use super::{for_each_case, oblong};
use crate::support::Random;

/// Returns the factor R that packed factors contain.
fn upper(packed: &Mat, rows: usize) -> Mat {
    Mat::from_fn(rows, packed.ncols(), |i, j| if i <= j { packed[(i, j)] } else { C::ZERO })
}

#[test]
fn qr_factors_multiply_out() {
    let mut worst = WorstErrors::default();
    for_each_case(11, oblong, |case| {
        let (ty, rows, columns) = (case.ty, case.matrix.nrows(), case.matrix.ncols());
        let size = rows.min(columns);
        let found = lapack(ty, "geqrf", "", &[operand(&case)], &[(ty, &[rows, columns]), (ty, &[size])]);
        let packed = found[0].unscaled(case.factor);
        assert!((0..size).all(|i| packed[(i, i)].im == 0.0), "the diagonal of R is real");
        // Check the thin Q, which has one column per reflector, and the complete Q.
        let name = if ty.is_complex() { "ungqr" } else { "orgqr" };
        for width in [size, rows] {
            let value = |i: usize, j: usize| if j < size { found[0].values[i * columns + j] } else { C::ZERO };
            let bytes = to_bytes(ty, (0..rows * width).map(|at| value(at / width, at % width)));
            let reflectors = (shape(ty, &[rows, width]), bytes);
            let q = lapack(ty, name, "", &[reflectors, handed_on(&found[1])], &[(ty, &[rows, width])])[0].matrix();
            worst.note("qr orthogonality", &case, departure(&q), 1.0);
            let rest = q.subcols(0, size) * upper(&packed, size) - &case.matrix;
            worst.note("qr", &case, rest.norm_l2(), case.matrix.norm_l2());
        }
    });
    worst.check(&[("qr orthogonality", 5.0), ("qr", 2.5)]);
}

#[test]
fn pivoted_qr_factors_multiply_out_and_descend() {
    let mut worst = WorstErrors::default();
    let mut random = Random::new(12);
    for_each_case(13, oblong, |case| {
        let (ty, rows, columns) = (case.ty, case.matrix.nrows(), case.matrix.ncols());
        let size = rows.min(columns);
        let fix = random.below(4) == 0;
        let fixed: Vec<bool> = (0..columns).map(|_| fix && random.below(5) == 0).collect();
        let s32 = ElementType::S32;
        let marks = to_bytes(s32, fixed.iter().map(|&fixed| C::new(f64::from(u8::from(fixed)), 0.0)));
        let operands = [operand(&case), (shape(s32, &[columns]), marks)];
        let results: [(_, &[usize]); 3] = [(ty, &[rows, columns]), (s32, &[columns]), (ty, &[size])];
        let found = lapack(ty, "geqp3", "", &operands, &results);
        let packed = found[0].unscaled(case.factor);
        let order: Vec<usize> = found[1].real().iter().map(|&column| column as usize - 1).collect();
        let leading = fixed.iter().filter(|&&fixed| fixed).count();
        assert!(order[..leading].iter().all(|&column| fixed[column]), "fixed columns go first");
        let diagonal: Vec<f64> = (leading.min(size)..size).map(|i| packed[(i, i)].norm()).collect();
        let descends = diagonal.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-3) + 1e-6 * diagonal[0]);
        assert!(descends, "{diagonal:?}");
        let reflectors = to_bytes(ty, (0..rows * size).map(|at| found[0].values[at / size * columns + at % size]));
        let name = if ty.is_complex() { "ungqr" } else { "orgqr" };
        let operands = [(shape(ty, &[rows, size]), reflectors), handed_on(&found[2])];
        let q = lapack(ty, name, "", &operands, &[(ty, &[rows, size])])[0].matrix();
        worst.note("pivoted orthogonality", &case, departure(&q), 1.0);
        let permuted = Mat::from_fn(rows, columns, |i, j| case.matrix[(i, order[j])]);
        worst.note("pivoted qr", &case, (q * upper(&packed, size) - permuted).norm_l2(), case.matrix.norm_l2());
    });
    worst.check(&[("pivoted orthogonality", 5.5), ("pivoted qr", 2.5)]);
}

#[test]
fn products_with_reflectors_are_those_with_their_matrix() {
    let mut worst = WorstErrors::default();
    let mut random = Random::new(14);
    for_each_case(
        15,
        |_, size| (size, size / 2 + 1),
        |case| {
            let (ty, rows, columns) = (case.ty, case.matrix.nrows(), case.matrix.ncols());
            let size = rows.min(columns);
            let found = lapack(ty, "geqrf", "", &[operand(&case)], &[(ty, &[rows, columns]), (ty, &[size])]);
            let (product, whole) = if ty.is_complex() { ("unmqr", "ungqr") } else { ("ormqr", "orgqr") };
            let value = |i: usize, j: usize| if j < size { found[0].values[i * columns + j] } else { C::ZERO };
            let reflectors =
                (shape(ty, &[rows, rows]), to_bytes(ty, (0..rows * rows).map(|at| value(at / rows, at % rows))));
            let q = lapack(ty, whole, "", &[reflectors, handed_on(&found[1])], &[(ty, &[rows, rows])])[0].matrix();
            let other = random.below(30);
            for (left, adjoint) in [(true, true), (true, false), (false, true), (false, false)] {
                let dims = if left { [rows, other] } else { [other, rows] };
                let c = ScaledMatrix::new(&mut random, ty, 0, dims[0], dims[1]);
                let config = format!("left = {left}, transpose = {adjoint}");
                let operands = [handed_on(&found[0]), handed_on(&found[1]), operand(&c)];
                let product = lapack(ty, product, &config, &operands, &[(ty, &dims)])[0].matrix();
                let q = if adjoint { q.adjoint().to_owned() } else { q.clone() };
                let exact = if left { q * &c.matrix } else { &c.matrix * q };
                worst.note("products with reflectors", &case, (product - exact).norm_l2(), c.matrix.norm_l2());
            }
        },
    );
    worst.check(&[("products with reflectors", 2.0)]);
}
