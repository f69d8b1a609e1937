//! Checks the algebra of indices. If an index is split and joined, the result must be the same
//! index. The values, ranges and divisors of random expressions must be right at every point,
//! whatever numbers the expressions contain.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fusebox_indexing::{Algebra, Expr, Interval, Ix};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn leaf(indices: &mut Algebra, size: i64) -> Ix {
    indices.leaf(Interval::from_size(size), 0)
}

/// Returns the row-major number of `coordinates` in `shape`.
fn linear(indices: &mut Algebra, coordinates: &[Ix], shape: &[i64]) -> Ix {
    let mut sum = indices.constant(0);
    for (&coordinate, &size) in coordinates.iter().zip(shape) {
        sum = indices.scaled(sum, size);
        sum = indices.add(sum, coordinate);
    }
    sum
}

fn coordinates(indices: &mut Algebra, linear: Ix, shape: &[i64]) -> Vec<Ix> {
    let mut stride = 1;
    let mut found: Vec<Ix> = shape
        .iter()
        .rev()
        .map(|&size| {
            let quotient = indices.floor_div(linear, stride);
            stride *= size;
            indices.modulo(quotient, size)
        })
        .collect();
    found.reverse();
    found
}

#[test]
fn splitting_into_coordinates_and_back_is_nothing() {
    let mut indices = Algebra::default();
    let shape = [7, 12, 5, 3];
    let number = leaf(&mut indices, 7 * 12 * 5 * 3);
    let split = coordinates(&mut indices, number, &shape);
    assert_eq!(linear(&mut indices, &split, &shape), number);
    let other = coordinates(&mut indices, number, &[84, 15]);
    assert_eq!(linear(&mut indices, &other, &[84, 15]), number);
}

#[test]
fn a_reshape_there_and_back_is_nothing() {
    let mut indices = Algebra::default();
    let shape = [7, 12, 5, 3];
    let start: Vec<Ix> = shape.iter().map(|&size| leaf(&mut indices, size)).collect();
    let number = linear(&mut indices, &start, &shape);
    let other = coordinates(&mut indices, number, &[84, 15]);
    let again = linear(&mut indices, &other, &[84, 15]);
    assert_eq!(coordinates(&mut indices, again, &shape), start);
}

#[test]
fn block_thread_and_lane_split_where_they_meet_a_dimension() {
    let mut indices = Algebra::default();
    let (block, thread, lane) = (leaf(&mut indices, 64), leaf(&mut indices, 128), leaf(&mut indices, 4));
    let number = linear(&mut indices, &[block, thread, lane], &[64, 128, 4]);
    // A row has 512 elements. So the row is the block, and the column needs no division.
    assert_eq!(indices.floor_div(number, 512), block);
    let column = indices.modulo(number, 512);
    assert_eq!(column, linear(&mut indices, &[thread, lane], &[128, 4]));
    assert_eq!(indices.divisibility(column), 1);
    let start = indices.sub(column, lane);
    assert_eq!(indices.divisibility(start), 4);
}

#[test]
fn negative_values_round_down() {
    let mut indices = Algebra::default();
    let x = indices.leaf(Interval::new(-8, -5), 0);
    let quotient = indices.floor_div(x, 4);
    assert_eq!(indices.as_constant(quotient), Some(-2));
    let shifted = indices.constant(4);
    let near = indices.add(x, shifted);
    let remainder = indices.modulo(x, 4);
    assert_eq!(indices.range(remainder), Interval::new(0, 3));
    assert_eq!(indices.range(near), Interval::new(-4, -1));
    let quotient = indices.floor_div(near, 4);
    assert_eq!(indices.as_constant(quotient), Some(-1));
}

#[test]
fn deep_chains_stay_small() {
    let mut indices = Algebra::default();
    let mut x = leaf(&mut indices, 1 << 20);
    for step in 0..1000 {
        let fresh = leaf(&mut indices, 1000);
        let half = indices.floor_div(x, 2 + step % 3);
        let sum = indices.add(half, fresh);
        x = indices.add(sum, x);
    }
    // The number of the next expression is the count of all earlier expressions.
    let last = format!("{:?}", leaf(&mut indices, 1001));
    let count: u32 = last.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
    assert!(count < 40_000, "{count} expressions");
}

#[test]
fn numbers_that_overflow_are_not_combined() {
    let mut indices = Algebra::default();
    let x = indices.leaf(Interval::ALL, 0);
    let most = indices.constant(i64::MAX);
    let one = indices.constant(1);
    // A sum that overflows has no constant value.
    let beyond = indices.add(most, one);
    assert_eq!(indices.as_constant(beyond), None);
    let scaled = indices.scaled(x, i64::MAX);
    let twice = indices.scaled(scaled, 2);
    assert_eq!(value(&indices, twice, &[3]), 3i64.wrapping_mul(i64::MAX).wrapping_mul(2));
    let sum = indices.add(scaled, scaled);
    assert_eq!(value(&indices, sum, &[3]), value(&indices, twice, &[3]));
    // 2^40 · 2^30 · y is a multiple of 2^40. The overflow of 64 bits must not yield another
    // divisor.
    let y = indices.leaf(Interval::from_size(100), 0);
    let z = indices.leaf(Interval::from_size(100), 0);
    let (large, small) = (indices.scaled(y, 1 << 40), indices.scaled(z, 1 << 30));
    let product = indices.product(large, small);
    let fifteen = indices.constant(15);
    let sum = indices.add(product, fifteen);
    assert_eq!(indices.divisibility(sum), 1);
}

/// Returns the value of an expression for these values of the leaves. Evaluates the written form of
/// the expression.
fn value(indices: &Algebra, ix: Ix, leaves: &[i64]) -> i64 {
    indices.write(ix, &mut std::collections::HashMap::new(), &Expr::dim).eval(leaves, &[], &[])
}

const LEAVES: [(i64, i64); 3] = [(0, 5), (-4, 3), (2, 9)];

/// A step that creates an expression from the expressions so far. It consists of an operation, the
/// indices of the operands, and a number.
type Step = (u8, prop::sample::Index, prop::sample::Index, i64);

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => -30i64..60,
        1 => prop_oneof![Just(64i64), Just(128), Just(1 << 20), Just((1 << 40) + 1), Just(i64::MAX / 3)],
        1 => prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(i64::MIN + 1)],
    ]
}

fn step() -> impl Strategy<Value = Step> {
    (0u8..10, any::<prop::sample::Index>(), any::<prop::sample::Index>(), number())
}

/// Applies the operation to expressions. Also returns the operation as a function of numbers. This
/// function returns `None` on overflow.
fn apply(indices: &mut Algebra, step: &Step, a: Ix, b: Ix) -> (Ix, impl Fn(i128, i128) -> Option<i128> + use<>) {
    let &(operation, _, _, number) = step;
    let divisor = number.checked_abs().unwrap_or(7).max(1);
    let ix = match operation {
        0 | 1 => indices.add(a, b),
        2 => indices.sub(a, b),
        3 => indices.scaled(a, number),
        4 => indices.product(a, b),
        5 => indices.floor_div(a, divisor),
        6 => indices.modulo(a, divisor),
        7 => indices.min(a, b),
        8 => indices.max(a, b),
        _ => {
            let number = indices.constant(number);
            indices.add(a, number)
        }
    };
    (ix, move |x: i128, y: i128| {
        let value = match operation {
            0 | 1 => x + y,
            2 => x - y,
            3 => x * i128::from(number),
            4 => x * y,
            5 => x.div_euclid(divisor.into()),
            6 => x.rem_euclid(divisor.into()),
            7 => x.min(y),
            8 => x.max(y),
            _ => x + i128::from(number),
        };
        i64::try_from(value).is_ok().then_some(value)
    })
}

proptest! {
    // Every run checks the same cases.
    #![proptest_config(ProptestConfig {
        cases: 6000, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn values_ranges_and_divisors_are_right(steps in prop::collection::vec(step(), 1..14)) {
        let mut indices = Algebra::default();
        let leaves = LEAVES.map(|(lower, upper)| indices.leaf(Interval::new(lower, upper), 0));
        let points: Vec<[i64; 3]> = (0..60).map(|i| {
            // Check the corners first, and then points that are distributed over the box.
            let pick = |at: usize| {
                let (lower, upper) = LEAVES[at];
                if i < 8 { [lower, upper][i >> at & 1] } else { lower + (i as i64 * [7, 5, 3][at]) % (upper - lower + 1) }
            };
            [pick(0), pick(1), pick(2)]
        }).collect();
        let mut known: Vec<(Ix, Vec<Option<i128>>)> =
            (0..3).map(|at| (leaves[at], points.iter().map(|point| Some(point[at].into())).collect())).collect();
        for step in &steps {
            let ((a, x), (b, y)) = (step.1.get(&known).clone(), step.2.get(&known).clone());
            let (ix, on_numbers) = apply(&mut indices, step, a, b);
            let values: Vec<_> = x.iter().zip(&y).map(|(x, y)| on_numbers((*x)?, (*y)?)).collect();
            // If an expression overflows at some point, it guarantees nothing.
            if values.iter().any(Option::is_none) {
                continue;
            }
            let (range, divisor) = (indices.range(ix), i128::from(indices.divisibility(ix)));
            for (point, expected) in points.iter().zip(&values) {
                let expected = expected.unwrap();
                let found = value(&indices, ix, point);
                prop_assert_eq!(i128::from(found), expected, "{:?} at {:?}", step, point);
                prop_assert!(range.contains(found), "{} is not in {}", found, range);
                prop_assert!(if divisor == 0 { expected == 0 } else { expected % divisor == 0 }, "{}", divisor);
            }
            known.push((ix, values));
        }
    }
}
