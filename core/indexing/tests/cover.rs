//! Checks whether several maps together cover an array exactly. Algebra and the enumeration of all
//! points must agree, and the cost of algebra must not grow with the size of the array.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fusebox_indexing::{
    Coverage, Expr, IndexingMap, Interval, Proof, Variable, Violation, check_coverage_within, check_joint_coverage,
    delinearize, linearize,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A part of an array. For each dimension, holds the first index, the stride, and the number of
/// indices.
#[derive(Clone, Debug)]
struct Piece(Vec<[i64; 3]>);

impl Piece {
    fn whole(shape: &[i64]) -> Piece {
        Piece(shape.iter().map(|&size| [0, 1, size]).collect())
    }

    /// Splits the piece along a dimension. The results are two contiguous parts, or the even and
    /// the odd elements.
    fn cut(&self, dimension: usize, at: i64, interleaved: bool) -> Vec<Piece> {
        let [first, distance, size] = self.0[dimension];
        let parts = if interleaved {
            [[first, distance * 2, (size + 1) / 2], [first + distance, distance * 2, size / 2]]
        } else {
            [[first, distance, at % size], [first + at % size * distance, distance, size - at % size]]
        };
        let part = |part| {
            let mut piece = self.clone();
            piece.0[dimension] = part;
            piece
        };
        parts.into_iter().filter(|part| part[2] > 0).map(part).collect()
    }

    /// Distributes the piece to lanes, threads and blocks in row-major order. A guard excludes
    /// surplus points.
    fn dealt(&self, threads: i64, lanes: i64) -> IndexingMap {
        let sizes: Vec<i64> = self.0.iter().map(|part| part[2]).collect();
        let elements: i64 = sizes.iter().product();
        let blocks = (elements + threads * lanes - 1) / (threads * lanes);
        let position = Expr::dim(1) * (threads * lanes) + Expr::dim(0) * lanes + Expr::range(0);
        let index = delinearize(&position, &sizes).into_iter().zip(&self.0);
        let results = index.map(|(i, [first, distance, _])| i * *distance + *first).collect();
        IndexingMap {
            dims: vec![Variable::named("th", threads), Variable::named("bl", blocks)],
            ranges: vec![Variable::named("lane", lanes)],
            results,
            ..IndexingMap::default()
        }
        .with_constraint(position, Interval::from_size(elements))
    }
}

/// Cuts an array into pieces, and distributes each piece to threads. Returns the maps of the
/// pieces.
fn parts(shape: &[i64], cuts: &[(usize, usize, i64, bool)], threads: i64, lanes: i64) -> Vec<IndexingMap> {
    let mut pieces = vec![Piece::whole(shape)];
    for &(piece, dimension, at, interleaved) in cuts {
        let piece = pieces.swap_remove(piece % pieces.len());
        pieces.extend(piece.cut(dimension % shape.len(), at, interleaved));
    }
    pieces.iter().map(|piece| piece.dealt(threads, lanes)).collect()
}

/// Returns the map with linearised results: the results are positions in the array.
fn flattened(map: &IndexingMap, shape: &[i64]) -> IndexingMap {
    IndexingMap { results: vec![linearize(&map.results, shape)], ..map.clone() }
}

/// Adds a fault that a plan must not have.
fn damage(maps: &mut Vec<IndexingMap>, which: usize, how: u32) {
    let at = which % maps.len();
    match how {
        0 => maps[at].results[0] = maps[at].results[0].clone() + 1,
        1 => drop(maps.remove(at)),
        2 => maps.push(maps[at].clone()),
        3 => maps[at].constraints[0].bounds.upper += 1,
        4 => maps[at].constraints[0].bounds.upper -= 1,
        5 => maps[at].constraints.clear(),
        6 => maps[at].dims[1].bounds.upper -= 1,
        _ => maps[at].ranges.push(Variable::named("again", 2)),
    }
}

/// Returns the number of visits of each element.
fn reached(maps: &[IndexingMap]) -> HashMap<Vec<i64>, usize> {
    let mut reached = HashMap::new();
    for map in maps {
        let _ = map.for_each_point(|point| {
            *reached.entry(point.results.to_vec()).or_default() += 1;
            ControlFlow::Continue(())
        });
    }
    reached
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn algebra_says_what_counting_says(
        shape in prop::collection::vec(1i64..9, 1..4),
        cuts in prop::collection::vec((0usize..9, 0usize..3, 0i64..9, prop::bool::weighted(0.2)), 0..6),
        threads in prop_oneof![Just(1i64), Just(3), Just(4), Just(32)],
        lanes in prop_oneof![Just(1i64), Just(2), Just(4)],
        flat in any::<bool>(),
        fault in prop::option::of((0usize..9, 0u32..8)),
    ) {
        let mut maps = parts(&shape, &cuts, threads, lanes);
        let mut target = shape.clone();
        if flat {
            maps = maps.iter().map(|map| flattened(map, &shape)).collect();
            target = vec![shape.iter().product()];
        }
        // For linearised indices, lanes may cross the cuts, so algebra need not decide these cases.
        let is_plain = fault.is_none() && !flat;
        if let Some((which, how)) = fault {
            damage(&mut maps, which, how);
        }
        let reached = reached(&maps);
        let inside = reached.keys().all(|index| index.iter().zip(&target).all(|(&i, &n)| 0 <= i && i < n));
        let once = inside && reached.values().all(|&times| times == 1);
        let all = once && reached.len() as i64 == target.iter().product::<i64>();
        for (coverage, wanted) in
            [(Coverage::InBounds, inside), (Coverage::AtMostOnce, once), (Coverage::ExactlyOnce, all)]
        {
            prop_assert_eq!(check_joint_coverage(&maps, &target, coverage).is_ok(), wanted, "{:?}", coverage);
            let by_algebra = check_coverage_within(&maps, &target, coverage, 0);
            match by_algebra {
                Ok(proof) => prop_assert!(wanted && proof == Proof::Structural),
                Err(Violation::Costly { .. }) => {
                    let texts = || maps.iter().map(|map| map.simplify().to_string()).collect::<Vec<_>>();
                    prop_assert!(!is_plain, "not decided: {:?}", texts());
                }
                Err(_) => prop_assert!(!wanted),
            }
        }
    }
}

#[test]
fn many_pieces_of_a_large_array_are_decided_without_a_point() {
    // There are 500 adjacent operands. Their indices are array indices or linearised indices.
    let shape = [3000, 500 * 48, 64];
    let piece = |number: i64| Piece(vec![[0, 1, 3000], [number * 48, 1, 48], [0, 1, 64]]);
    let maps: Vec<IndexingMap> = (0..500).map(|number| piece(number).dealt(128, 4)).collect();
    let flat: Vec<IndexingMap> = maps.iter().map(|map| flattened(map, &shape)).collect();
    let begin = Instant::now();
    assert_eq!(check_coverage_within(&maps, &shape, Coverage::ExactlyOnce, 0), Ok(Proof::Structural));
    let elements = [shape.iter().product()];
    assert_eq!(check_coverage_within(&flat, &elements, Coverage::ExactlyOnce, 0), Ok(Proof::Structural));
    // The check also detects a missing operand without evaluating a point.
    let missing = check_coverage_within(&maps[1..], &shape, Coverage::ExactlyOnce, 0);
    let (points, elements) = (3000 * 48 * 64 * 499, 3000 * 48 * 64 * 500);
    assert_eq!(missing, Err(Violation::Count { points, elements }));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}
