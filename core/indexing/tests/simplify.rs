//! Checks the simplifier of expressions. There are examples for each rule, and random expressions
//! for all rules together.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fusebox_indexing::{Bounds, Constraint, Expr, ExprKind, Interval, delinearize, linearize, range_of, simplify_expr};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn dims(bounds: &[(i64, i64)]) -> Bounds {
    Bounds::of_dims(bounds.iter().map(|&(lower, upper)| Interval::new(lower, upper)))
}

fn simplified(text: &str, bounds: &[(i64, i64)]) -> String {
    simplify_expr(&text.parse().unwrap(), &dims(bounds)).to_string()
}

#[track_caller]
fn check(text: &str, bounds: &[(i64, i64)], expected: &str) {
    assert_eq!(simplified(text, bounds), expected, "{text} over {bounds:?}");
}

/// Bounds that allow no simplification.
const WIDE: [(i64, i64); 4] = [(0, 100_000); 4];

#[test]
fn sums_are_collected_and_sorted() {
    check("d1 + d0 + d1", &WIDE, "d0 + d1 * 2");
    check("(d0 + d1) * 4 + 3 - d0", &WIDE, "d0 * 3 + d1 * 4 + 3");
    check("2 * d0 + -2 * d0 + 7", &WIDE, "7");
    check("(d1 * 3) * (d0 * 2) + d0 * d1", &WIDE, "(d0 * d1) * 7");
}

#[test]
fn a_single_value_becomes_a_number() {
    check("d0", &[(5, 5)], "5");
    check("(d0 * 16 - 497) floordiv 512", &[(0, 4)], "-1");
    check("d0 mod 8", &[(16, 16)], "0");
}

#[test]
fn remainders_without_wrap_are_differences() {
    check("d0 mod 42", &[(53, 71)], "d0 - 42");
    check("d0 mod 5", &[(-5, -1)], "d0 + 5");
    check("d0 mod 5", &[(-4, 0)], "d0 mod 5");
    check("d0 mod 5", &[(-6, -1)], "d0 mod 5");
}

#[test]
fn multiples_leave_remainders_and_quotients() {
    check("(d0 * 4) mod 12", &WIDE, "(d0 mod 3) * 4");
    check("(d0 * 2 + d1) mod 2", &WIDE, "d1 mod 2");
    check("(d0 + 13) mod 5", &WIDE, "(d0 + 3) mod 5");
    check("(d0 * 6) mod 3", &WIDE, "0");
    check("(d0 mod 12) mod 4", &WIDE, "d0 mod 4");
    check("(d0 + 8) floordiv 4", &WIDE, "d0 floordiv 4 + 2");
    check("(d0 - 1) floordiv 4", &WIDE, "(d0 + 3) floordiv 4 - 1");
    check("(d0 * 16 + d1 * 4 + d2) floordiv 8", &WIDE, "d0 * 2 + (d1 * 4 + d2) floordiv 8");
    check("(d0 * 6) floordiv 4", &WIDE, "(d0 * 3) floordiv 2");
    check("(d0 * 6 + 9) floordiv 18", &WIDE, "(d0 + 1) floordiv 3");
    check("(d0 * 32 + 4639) floordiv 4608 - d0 floordiv 144", &WIDE, "1");
}

#[test]
fn small_rests_are_split_off() {
    check("(d0 * 6 + d1) floordiv 9", &[(0, 100), (0, 2)], "(d0 * 2) floordiv 3");
    check(
        "(d0 * 458752 + d1 + d2 * 4 + d3 * 512) mod 20000",
        &[(0, 9), (0, 3), (0, 127), (0, 895)],
        "d1 + ((d0 * 114688 + d2 + d3 * 128) mod 5000) * 4",
    );
    // These rules keep an inner vector loop contiguous. The variables are block, thread and lane.
    check("(d0 * 512 + d1 * 4 + d2) floordiv 28", &[(0, 9), (0, 127), (0, 3)], "(d0 * 128 + d1) floordiv 7");
    check("(d0 * 512 + d1 * 4 + d2) mod 28", &[(0, 9), (0, 127), (0, 3)], "d2 + ((d0 * 128 + d1) mod 7) * 4");
}

#[test]
fn nested_quotients_and_remainders_merge() {
    check("(d0 floordiv 2) floordiv 7", &WIDE, "d0 floordiv 14");
    check("(d0 mod 12) floordiv 4", &WIDE, "(d0 floordiv 4) mod 3");
    check("((d0 * 100 + d1 * 10 + d2) mod 100) floordiv 10", &[(0, 9), (0, 8), (0, 8)], "d1");
    check("(d0 * 2 + d1 floordiv 64) floordiv 3", &WIDE, "(d0 * 128 + d1) floordiv 192");
    check("(d0 floordiv 3 * 3 + d1 floordiv 2) floordiv 6", &[(0, 1000), (0, 5)], "d0 floordiv 6");
    check("d0 floordiv -3", &[(0, 100)], "(d0 * -1) floordiv 3");
    check("d0 mod -3", &[(0, 2)], "((d0 * -1) mod 3) * -1");
}

#[test]
fn quotient_and_remainder_recombine() {
    check("(d0 floordiv 7) * 7 + d0 mod 7", &WIDE, "d0");
    check("(d0 * 128) mod 715 + ((d0 * 128) floordiv 715) * 715", &WIDE, "d0 * 128");
    check("d0 - (d0 floordiv 3) * 3", &WIDE, "d0 mod 3");
    check("d1 - (d0 floordiv 3) * 12 + d0 * 4", &WIDE, "d1 + (d0 mod 3) * 4");
    // The simplifier does not split a coefficient. So 24 and 16 keep their common factor, which is
    // the alignment of an access.
    check("(d0 floordiv 8) * 128 + (d0 mod 8) * 24", &WIDE, "(d0 floordiv 8) * 128 + (d0 mod 8) * 24");
    check("d0 floordiv 4 - (d0 floordiv 12) * 3", &WIDE, "(d0 floordiv 4) mod 3");
    check("d0 mod 4 + ((d0 floordiv 4) mod 3) * 4", &WIDE, "d0 mod 12");
    check(
        "((d1 * 2 + d0 floordiv 64) mod 3) * 256 + (d0 mod 64) * 4 + ((d1 * 128 + d0) floordiv 192) * 768",
        &WIDE,
        "d0 * 4 + d1 * 512",
    );
    check("(((-11 * d0 - d1 + 109) floordiv 11) * -1) + 9", &[(0, 7), (0, 8)], "d0");
}

#[test]
fn minima_and_maxima_by_range() {
    check("min(d0, 20)", &[(0, 10)], "d0");
    check("max(d0, 20)", &[(0, 10)], "20");
    check("max(d0, d0 + 1)", &WIDE, "d0 + 1");
    check("min(d1, min(d0, d1 + 3))", &WIDE, "min(d0, d1)");
}

#[test]
fn linearising_undoes_delinearising() {
    let shape = [3, 5, 7, 2, 11];
    let position = Expr::dim(0);
    let bounds = Bounds::of_dims([Interval::from_size(shape.iter().product())]);
    let back = linearize(&delinearize(&position, &shape), &shape);
    assert_eq!(simplify_expr(&back, &bounds), position);

    let index: Vec<Expr> = (0..5).map(Expr::dim).collect();
    let bounds = Bounds::of_dims(shape.map(Interval::from_size));
    let back = delinearize(&linearize(&index, &shape), &shape);
    let back: Vec<Expr> = back.iter().map(|e| simplify_expr(e, &bounds)).collect();
    assert_eq!(back, index);

    // The second shape has no boundary in common with the first.
    let through = [11, 2, 7, 5, 3];
    let there = delinearize(&linearize(&index, &shape), &through);
    let back = delinearize(&linearize(&there, &through), &shape);
    let back: Vec<Expr> = back.iter().map(|e| simplify_expr(e, &bounds)).collect();
    assert_eq!(back, index);
}

#[test]
fn facts_about_sums_are_used() {
    let mut bounds = dims(&[(0, 127), (0, 7), (0, 3)]);
    bounds.assume(Constraint::new("d1 * 128 + d0".parse::<Expr>().unwrap(), Interval::new(0, 899)));
    let linear: Expr = "d1 * 512 + d0 * 4 + d2".parse().unwrap();
    assert_eq!(range_of(&linear, &bounds), Interval::new(0, 3599));
    assert_eq!(simplify_expr(&linear.clone().floor_div(3600), &bounds), Expr::constant(0));
    bounds.facts.clear();
    assert_eq!(range_of(&linear, &bounds), Interval::new(0, 4095));
}

#[test]
fn shared_subexpressions_cost_once() {
    // As a tree, this expression has 2^200 nodes.
    let mut expr = Expr::dim(0);
    for i in 0..200 {
        expr = expr.clone().floor_div(3 + i % 2) + expr.modulo(5);
    }
    same_values(&expr);
    // No part of this expression can be simplified, and every pass rebuilds the 2^60 nodes.
    let mut expr = Expr::dim(0);
    for i in 0..60 {
        expr = (expr.clone() + (i % 5 + 1)).min(expr * 3 + Expr::dim(1));
    }
    same_values(&expr);
    // This is a sum in which every pair of terms might combine.
    let terms = (1..120).map(|i| Expr::dim(0).floor_div(i + 1) * (i % 5) + Expr::dim(0).modulo(i + 2) * (i % 7));
    same_values(&terms.reduce(|a, b| a + b).unwrap());
}

#[track_caller]
fn same_values(expr: &Expr) {
    let simplified = simplify_expr(expr, &dims(&[(0, 1_000_000), (0, 1000)]));
    for point in [[0, 0], [1, 3], [17, 1000], [999_999, 999]] {
        assert_eq!(simplified.eval(&point, &[], &[]), expr.eval(&point, &[], &[]));
    }
}

#[test]
fn extreme_numbers_do_not_panic() {
    let big = [i64::MIN, i64::MIN + 1, -2, -1, 1, 2, i64::MAX - 1, i64::MAX];
    let bounds = dims(&[(i64::MIN, i64::MAX), (0, i64::MAX)]);
    let constant = |c: i64| Expr::new(ExprKind::Constant(c));
    let node = |op: usize, a: Expr, b: Expr| {
        let make = [ExprKind::Add, ExprKind::Mul, ExprKind::FloorDiv, ExprKind::Mod, ExprKind::Min, ExprKind::Max][op];
        Expr::new(make(a, b))
    };
    for (a, b) in big.iter().flat_map(|&a| big.iter().map(move |&b| (a, b))) {
        for (outer, inner) in (0..6).flat_map(|o| (0..6).map(move |i| (o, i))) {
            let first = node(inner, Expr::dim(0), constant(a));
            let _ = simplify_expr(&node(outer, first.clone(), constant(b)), &bounds);
            let _ = simplify_expr(&node(outer, first, node(inner, Expr::dim(1), constant(b))), &bounds);
        }
    }
}

const BOUNDS: [(i64, i64); 3] = [(0, 5), (-4, 3), (2, 9)];

/// Creates expressions as they occur in index computations. They have sums, constant factors and
/// constant divisors, and sometimes a product, a minimum or a maximum.
fn index_expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![(0u32..3).prop_map(Expr::dim), (-20i64..60).prop_map(Expr::constant)];
    leaf.prop_recursive(5, 24, 2, |inner| {
        let constant = prop_oneof![
            4 => (1i64..13).prop_map(Expr::constant),
            2 => prop_oneof![Just(2i64), Just(4), Just(6), Just(8), Just(12), Just(24)].prop_map(Expr::constant),
            1 => (-6i64..0).prop_map(Expr::constant),
        ];
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(a, b)| Expr::new(ExprKind::Add(a, b))),
            3 => (inner.clone(), constant.clone()).prop_map(|(a, b)| Expr::new(ExprKind::Mul(a, b))),
            3 => (inner.clone(), constant.clone()).prop_map(|(a, b)| Expr::new(ExprKind::FloorDiv(a, b))),
            3 => (inner.clone(), constant).prop_map(|(a, b)| Expr::new(ExprKind::Mod(a, b))),
            1 => (inner.clone(), inner, 0..5).prop_map(|(a, b, op)| Expr::new(match op {
                0 => ExprKind::Mul(a, b),
                1 => ExprKind::FloorDiv(a, b),
                2 => ExprKind::Mod(a, b),
                3 => ExprKind::Min(a, b),
                _ => ExprKind::Max(a, b),
            })),
        ]
    })
}

fn points() -> impl Iterator<Item = [i64; 3]> {
    let [a, b, c] = BOUNDS.map(|(lower, upper)| lower..=upper);
    a.flat_map(move |x| {
        let c = c.clone();
        b.clone().flat_map(move |y| c.clone().map(move |z| [x, y, z]))
    })
}

proptest! {
    // Checks 4,000 expressions, each at all 384 points. This makes 1.5 million comparisons.
    #![proptest_config(config(4000))]

    #[test]
    fn simplifying_keeps_every_value(expr in index_expr()) {
        let bounds = dims(&BOUNDS);
        let simplified = simplify_expr(&expr, &bounds);
        let range = range_of(&simplified, &bounds);
        for point in points() {
            let value = expr.eval(&point, &[], &[]);
            prop_assert_eq!(simplified.eval(&point, &[], &[]), value, "{} -> {} at {:?}", expr, simplified, point);
            prop_assert!(range.contains(value));
        }
        prop_assert_eq!(simplify_expr(&simplified, &bounds), simplified.clone(), "not canonical: {}", simplified);
    }

    #[test]
    fn facts_hold_where_they_are_used(expr in index_expr(), fact in index_expr(), lower in -10i64..30, size in 0i64..20) {
        let interval = Interval::new(lower, lower + size);
        let mut bounds = dims(&BOUNDS);
        bounds.assume(Constraint::new(fact.clone(), interval));
        let simplified = simplify_expr(&expr, &bounds);
        for point in points().filter(|point| interval.contains(fact.eval(point, &[], &[]))) {
            prop_assert_eq!(simplified.eval(&point, &[], &[]), expr.eval(&point, &[], &[]), "{} -> {}", expr, simplified);
        }
    }
}

/// Returns a configuration with which every run checks the same cases. If a rule is needed for only
/// one case in a million, its absence must not make a build fail at random.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() }
}
