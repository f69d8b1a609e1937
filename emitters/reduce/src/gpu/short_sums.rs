//! Splits a thread's long sum into short sums, so that rounding errors stay small. Each addition to
//! a large sum rounds. If all elements are equal, all errors have the same sign.
//!
//! ```text
//! (th, bl)[s0 in 0..240, s1 in 0..4]       240 iterations of 4 elements: one sum of 960
//!
//! (th, bl)[s0 in 0..40]                    outer: 40 sums,
//!   (th, bl, s0)[s0 in 0..6, s1 in 0..4]   inner: each of 24
//! ```

use fusebox_core::analysis::{Reduced, ReductionGroup};
use fusebox_core::hlo::BinaryOp;
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};

/// Maximum number of additions of one thread in a single sum.
const SHORT: i64 = 16;

/// Maximum number of loop iterations of a thread if each iteration computes a short sum. For more
/// iterations, a nested loop computes each short sum, which takes more code.
const FEW_TURNS: i64 = 64;

/// The loops over a thread's elements, split into outer and inner loops.
#[derive(Clone, Debug, PartialEq)]
pub struct ShortSums {
    /// Map `(th, bl)[outer]` with one iteration for each short sum. The map has no results.
    pub outer: IndexingMap,
    /// Range variables of `outer` that are unrolled.
    pub outer_unrolled: Vec<usize>,
    /// Map `(th, bl, outer)[inner] -> …` to the elements of a short sum.
    pub inner: IndexingMap,
    /// Range variables of `inner` that are unrolled.
    pub inner_unrolled: Vec<usize>,
}

/// Whether all heroes of a group are sums whose additions round.
pub fn are_rounded(group: &ReductionGroup) -> bool {
    let is_rounded = |value: &Reduced| value.element_type.is_float() || value.element_type.is_complex();
    group.heroes.iter().all(|hero| hero.operation == Some(BinaryOp::Add) && hero.values.iter().all(is_rounded))
}

impl ShortSums {
    /// Splits a walk. A short sum adds up the elements that a thread reads at once. If there would
    /// be more than [`FEW_TURNS`] of these short sums, each short sum adds up more elements. The
    /// number of short sums and the number of elements per short sum are then both about the square
    /// root of the number of all elements. Returns `None` if there are few additions.
    pub fn of(walk: &IndexingMap, unrolled: &[usize]) -> Option<ShortSums> {
        let sizes: Vec<i64> = walk.ranges.iter().map(|range| range.bounds.size() as i64).collect();
        let product = |sizes: &[i64]| sizes.iter().fold(1_i64, |product, &size| product.saturating_mul(size));
        let additions = product(&sizes);
        if additions <= SHORT {
            return None;
        }
        let at_once = (0..sizes.len()).rev().take_while(|range| unrolled.contains(range)).count();
        let rolled = sizes.len() - at_once;
        if product(&sizes[..rolled]) <= FEW_TURNS {
            return Self::between(walk, unrolled, rolled);
        }
        let most = SHORT.max((additions as u64).isqrt() as i64);
        let mut first = sizes.len();
        let mut inside = 1;
        while first > 0 && inside * sizes[first - 1] <= most {
            first -= 1;
            inside *= sizes[first];
        }
        // Splits the next loop if it is not unrolled.
        let cut = first.checked_sub(1).filter(|range| !unrolled.contains(range));
        let piece = cut.map_or(1, |range| piece(sizes[range], most / inside));
        if piece > 1 { cut_at(walk, unrolled, first - 1, piece) } else { Self::between(walk, unrolled, first) }
    }

    /// Makes the loops before number `first` the outer loops, and the other loops the inner loops.
    fn between(walk: &IndexingMap, unrolled: &[usize], first: usize) -> Option<ShortSums> {
        if first == 0 || first == walk.ranges.len() {
            return None;
        }
        let outer = IndexingMap {
            ranges: walk.ranges[..first].to_vec(),
            results: Vec::new(),
            constraints: Vec::new(),
            ..walk.clone()
        };
        let count = walk.dims.len() as u32;
        let dims: Vec<Expr> = (0..count).map(Expr::dim).collect();
        let turns = (count..count + first as u32).map(Expr::dim);
        let ranges: Vec<Expr> = turns.chain((0..(walk.ranges.len() - first) as u32).map(Expr::range)).collect();
        let rewrite = |expr: &Expr| expr.substitute(&dims, &ranges, &[]);
        let inner = IndexingMap {
            dims: walk.dims.iter().chain(&walk.ranges[..first]).cloned().collect(),
            ranges: walk.ranges[first..].to_vec(),
            results: walk.results.iter().map(rewrite).collect(),
            constraints: walk.constraints.iter().map(|c| Constraint::new(rewrite(&c.expr), c.bounds)).collect(),
            ..IndexingMap::default()
        };
        let (before, behind): (Vec<usize>, Vec<usize>) = unrolled.iter().partition(|&&range| range < first);
        let inner_unrolled = behind.into_iter().map(|range| range - first).collect();
        Some(ShortSums { outer, outer_unrolled: before, inner, inner_unrolled })
    }
}

/// Returns the number of iterations of one short sum, at most `most`, in a loop of `size`
/// iterations. If `size` has a divisor between half of `most` and `most`, returns the divisor, so
/// that no iteration needs a check.
fn piece(size: i64, most: i64) -> i64 {
    let divides = |piece: &i64| size % piece == 0;
    ((most + 1) / 2..=most).rev().find(divides).unwrap_or(most)
}

/// Splits the loop over a range variable into an outer loop over pieces and an inner loop within a
/// piece.
fn cut_at(walk: &IndexingMap, unrolled: &[usize], range: usize, piece: i64) -> Option<ShortSums> {
    let size = walk.ranges[range].bounds.size() as i64;
    let pieces = ceil_div(size, piece);
    let mut cut = walk.clone();
    cut.ranges[range] = Variable { bounds: Interval::from_size(pieces), ..cut.ranges[range].clone() };
    cut.ranges.insert(range + 1, Variable::named(&format!("{}_s", walk.ranges[range].name), piece));
    let turn = Expr::range(range as u32) * piece + Expr::range(range as u32 + 1);
    let moved = |number: usize| Expr::range(number as u32 + u32::from(number > range));
    let ranges: Vec<Expr> =
        (0..walk.ranges.len()).map(|number| if number == range { turn.clone() } else { moved(number) }).collect();
    let dims: Vec<Expr> = (0..walk.dims.len() as u32).map(Expr::dim).collect();
    let rewrite = |expr: &Expr| expr.substitute(&dims, &ranges, &[]);
    cut.results = walk.results.iter().map(rewrite).collect();
    cut.constraints = walk.constraints.iter().map(|c| Constraint::new(rewrite(&c.expr), c.bounds)).collect();
    if pieces * piece > size {
        cut.constraints.push(Constraint::new(turn, Interval::from_size(size)));
    }
    let unrolled: Vec<usize> = unrolled.iter().map(|&number| number + usize::from(number > range)).collect();
    ShortSums::between(&cut, &unrolled, range + 1)
}
