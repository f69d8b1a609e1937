//! Proves the coverage of maps by algebra. The proof uses inverses and numbers of points, and does
//! not enumerate points.
//!
//! ```text
//! inverse of each map     exists: no element is reached twice; its domain holds those reached
//! pairs of domains        have no element in common
//! points of the domains   are as many as the elements, so no element is missed
//! ```
//!
//! The time for a proof depends on the maps, not on the sizes of the arrays.

use super::algebra::{Ix, Kind, Sum};
use super::interval::floor_mod;
use super::simplify::Simplifier;
use super::{Bounds, Constraint, Expr, ExprKind, IndexingMap, Interval, Variable};

/// Largest number of pairs of domains for which the proof simplifies the intersection, to decide
/// whether the domains overlap. The proof simplifies the intersection of two domains only if
/// cheaper checks of their bounds leave open whether the domains overlap.
const MOST_INTERSECTIONS: usize = 1 << 10;

/// Largest number of divisors for which the proof compares the remainders of one coordinate.
const MOST_MODULI: usize = 8;

/// The property that a map from points to elements must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Exactly one point reaches each element.
    ExactlyOnce,
    /// At most one point reaches each element.
    AtMostOnce,
    /// No point reaches an index outside of the shape.
    InBounds,
}

/// The result of the proof: whether several maps together have the required coverage of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The maps have the required coverage.
    Proven,
    /// The maps reach no element twice. All maps together reach this number of elements.
    Reached(u64),
    /// The proof does not decide whether the maps have the required coverage.
    Open,
}

/// Decides whether simplified maps have the required coverage of a shape. Uses ranges, inverses and
/// numbers of points.
pub(super) fn decide(maps: &[IndexingMap], shape: &[i64], coverage: Coverage) -> Verdict {
    let inside = |map: &IndexingMap| {
        map.is_known_empty()
            || map.results.iter().zip(shape).all(|(result, &size)| map.always(result, Interval::from_size(size)))
    };
    if !maps.iter().all(inside) {
        return Verdict::Open;
    }
    if coverage == Coverage::InBounds {
        return Verdict::Proven;
    }
    let targets: Vec<Variable> = shape.iter().map(|&size| Variable::from_size(size)).collect();
    let reaching: Vec<&IndexingMap> = maps.iter().filter(|map| !map.is_known_empty()).collect();
    let inverses: Option<Vec<IndexingMap>> = reaching.iter().map(|map| map.inverse_over(targets.clone())).collect();
    let Some(inverses) = inverses.filter(|inverses| are_disjoint(&reaching, inverses)) else { return Verdict::Open };
    if coverage == Coverage::AtMostOnce {
        return Verdict::Proven;
    }
    // A map and its inverse have equally many points.
    let count = |(map, inverse): (&&IndexingMap, &IndexingMap)| points(inverse).or_else(|| points(map));
    let reached = reaching.iter().zip(&inverses).map(count);
    match reached.into_iter().try_fold(0u64, |sum, one| sum.checked_add(one?)) {
        Some(reached) if reached == element_count(shape) => Verdict::Proven,
        Some(reached) => Verdict::Reached(reached),
        None => Verdict::Open,
    }
}

pub(super) fn element_count(shape: &[i64]) -> u64 {
    shape.iter().fold(1u64, |n, &d| n.saturating_mul(d.max(0) as u64))
}

/// Whether no two maps lead to the same element. The proof compares intervals that contain the
/// reached elements, and the domains of the inverses.
fn are_disjoint(maps: &[&IndexingMap], domains: &[IndexingMap]) -> bool {
    let (Some(first), true) = (domains.first(), domains.len() > 1) else { return true };
    let mut simplifier = Simplifier::new(&Bounds::of_variables(&IndexingMap { runtime: Vec::new(), ..first.clone() }));
    let restrictions: Vec<Vec<Restriction>> = domains.iter().map(|map| restrictions(map, &mut simplifier)).collect();
    let boxes = boxes(maps, domains);
    let apart = |a: &[Interval], b: &[Interval]| a.iter().zip(b).any(|(a, b)| a.intersect(*b).is_empty());
    let exclude = |a: &[Restriction], b: &[Restriction]| a.iter().any(|a| b.iter().any(|b| a.excludes(b)));
    let mut intersections = 0;
    (0..domains.len()).all(|i| {
        (0..i).all(|j| {
            apart(&boxes[i], &boxes[j]) || exclude(&restrictions[i], &restrictions[j]) || {
                intersections += 1;
                intersections <= MOST_INTERSECTIONS && intersection(&domains[i], &domains[j]).is_known_empty()
            }
        })
    })
}

/// Returns several intervals for each map. The first intervals of a map are the bounds of its
/// inverse's dimensions. The further intervals of a map are the ranges of the coordinates that the
/// map reaches, and the ranges of these coordinates' remainders. The divisors of the remainders are
/// coefficients that occur in the maps' results.
fn boxes(maps: &[&IndexingMap], domains: &[IndexingMap]) -> Vec<Vec<Interval>> {
    let rank = domains.first().map_or(0, |domain| domain.dims.len());
    let mut simplifiers: Vec<Simplifier> = maps.iter().map(|map| Simplifier::new(&Bounds::of_domain(map))).collect();
    let mut boxes: Vec<Vec<Interval>> = domains.iter().map(bounding_box).collect();
    for dimension in 0..rank {
        let results: Vec<Ix> =
            maps.iter().zip(&mut simplifiers).map(|(map, s)| s.read(&map.results[dimension])).collect();
        let mut moduli: Vec<i64> = Vec::new();
        for (&result, simplifier) in results.iter().zip(&simplifiers) {
            let terms = simplifier.algebra.as_sum(result).terms;
            moduli.extend(terms.iter().filter_map(|(_, k)| k.checked_abs()).filter(|&k| k > 1));
            moduli.sort_unstable_by(|a, b| b.cmp(a));
            moduli.dedup();
            moduli.truncate(MOST_MODULI);
        }
        for ((&result, simplifier), sides) in results.iter().zip(&mut simplifiers).zip(&mut boxes) {
            sides.push(simplifier.algebra.range(result));
            for &modulus in &moduli {
                let remainder = simplifier.algebra.modulo(result, modulus);
                sides.push(simplifier.algebra.range(remainder));
            }
        }
    }
    boxes
}

/// Returns the restrictions of a domain. Ignores constraints with runtime variables, because
/// runtime variables may have other values in another map.
fn restrictions(map: &IndexingMap, simplifier: &mut Simplifier) -> Vec<Restriction> {
    let is_fixed = |constraint: &&Constraint| {
        let mut is_fixed = true;
        constraint.expr.visit_leaves(&mut |leaf| is_fixed &= !matches!(leaf, ExprKind::Runtime(_)));
        is_fixed
    };
    let fixed = map.constraints.iter().filter(is_fixed);
    fixed.filter_map(|fixed| Restriction::of(simplifier.read(&fixed.expr), fixed.bounds, simplifier)).collect()
}

/// Returns an interval for each dimension. The interval satisfies the bounds of the dimension and
/// the constraints on this dimension alone.
fn bounding_box(map: &IndexingMap) -> Vec<Interval> {
    let mut bounds: Vec<Interval> = map.dims.iter().map(|dim| dim.bounds).collect();
    for constraint in &map.constraints {
        let ExprKind::Dim(dim) = constraint.expr.kind() else { continue };
        if let Some(bound) = bounds.get_mut(*dim as usize) {
            *bound = bound.intersect(constraint.bounds);
        }
    }
    bounds
}

/// Returns the intersection of two domains over the same dimensions. Renames the runtime variables
/// of the second domain, because variables of the same number may have different values.
fn intersection(a: &IndexingMap, b: &IndexingMap) -> IndexingMap {
    let renamed: Vec<_> = (0..b.runtime.len()).map(|i| Expr::runtime((a.runtime.len() + i) as u32)).collect();
    let second = b.substituted(&[], &[], &renamed);
    let runtime = [a.runtime.as_slice(), &b.runtime].concat();
    let constraints = [a.constraints.as_slice(), &second.constraints].concat();
    IndexingMap { runtime, constraints, results: Vec::new(), ..a.clone() }.simplify()
}

/// Returns the number of points of a domain. The returned number is correct for all values of the
/// runtime variables. Handles constraints on a mixed-radix number that has variables as digits. The
/// constraints may restrict the mixed-radix number, its remainder, or both. Returns `None` for
/// other constraints.
pub(super) fn points(map: &IndexingMap) -> Option<u64> {
    let mut simplifier = Simplifier::new(&Bounds::of_variables(map));
    let mut numbers: Vec<Number> = Vec::new();
    for constraint in &map.constraints {
        let ix = simplifier.read(&constraint.expr);
        let restriction = Restriction::of(ix, constraint.bounds, &simplifier)?;
        match numbers.iter_mut().find(|number| number.terms == restriction.sum.terms) {
            Some(number) => number.restrict(&restriction)?,
            None => {
                let mut number = Number::of(&restriction.sum, &simplifier)?;
                number.restrict(&restriction)?;
                numbers.push(number);
            }
        }
    }
    let is_own = |at: usize, (term, _): &(Ix, i64)| {
        numbers[..at].iter().all(|other| other.terms.iter().all(|(known, _)| known != term))
    };
    if !numbers.iter().enumerate().all(|(at, number)| number.terms.iter().all(|term| is_own(at, term))) {
        return None;
    }
    let dims = (0..map.dims.len()).map(|i| Expr::dim(i as u32)).zip(&map.dims);
    let ranges = (0..map.ranges.len()).map(|i| Expr::range(i as u32)).zip(&map.ranges);
    let mut count = 1u64;
    for (variable, declared) in dims.chain(ranges) {
        let ix = simplifier.read(&variable);
        let is_digit = numbers.iter().any(|number| number.terms.iter().any(|(term, _)| *term == ix));
        count = if is_digit { count } else { count.checked_mul(declared.bounds.size())? };
    }
    numbers.iter().try_fold(count, |count, number| count.checked_mul(number.count()?))
}

/// The condition that `sum`, or the remainder of `sum` by `modulus`, is within bounds.
struct Restriction {
    sum: Sum,
    modulus: Option<i64>,
    bounds: Interval,
}

impl Restriction {
    fn of(ix: Ix, bounds: Interval, simplifier: &Simplifier) -> Option<Restriction> {
        let algebra = &simplifier.algebra;
        let Kind::Mod(inner, modulus) = *algebra.kind(ix) else {
            return Some(Restriction { sum: algebra.as_sum(ix), modulus: None, bounds });
        };
        let bounds = bounds.intersect(Interval::from_size(modulus));
        let Kind::FloorDiv(base, divisor) = *algebra.kind(inner) else {
            return Some(Restriction { sum: algebra.as_sum(inner), modulus: Some(modulus), bounds });
        };
        // `(x / a) mod m in [l, u]` is equivalent to `x mod (a·m) in [a·l, a·u + a - 1]`.
        let upper = bounds.upper.checked_mul(divisor)?.checked_add(divisor - 1)?;
        let bounds = Interval::new(bounds.lower.checked_mul(divisor)?, upper);
        Some(Restriction { sum: algebra.as_sum(base), modulus: Some(modulus.checked_mul(divisor)?), bounds })
    }

    /// Whether no value satisfies both restrictions.
    fn excludes(&self, other: &Restriction) -> bool {
        if self.sum.terms != other.sum.terms || self.modulus != other.modulus {
            return false;
        }
        let Some(apart) = self.sum.constant.checked_sub(other.sum.constant) else { return false };
        // The bounds of the other restriction, converted to bounds of this restriction's sum.
        let moved = other.bounds + Interval::point(apart);
        match self.modulus {
            None => self.bounds.intersect(moved).is_empty(),
            Some(modulus) => {
                let turned = floor_mod(moved.lower, modulus);
                let moved =
                    Interval::new(turned, turned.saturating_add_unsigned(other.bounds.size().saturating_sub(1)));
                let again = moved + Interval::point(-modulus);
                self.bounds.intersect(moved).is_empty() && self.bounds.intersect(again).is_empty()
            }
        }
    }
}

/// A sum `Σ coefficient · variable` that takes each value of an interval exactly once.
struct Number {
    terms: Vec<(Ix, i64)>,
    values: Interval,
    /// The triple `(shift, modulus, interval)` states that `(value + shift) mod modulus` is within
    /// the interval.
    remainder: Option<(i64, i64, Interval)>,
}

impl Number {
    /// Returns the sum without its constant. For each term, the terms with smaller coefficients
    /// form a sum; the coefficient of the term must equal the number of values that this sum can
    /// have.
    fn of(sum: &Sum, simplifier: &Simplifier) -> Option<Number> {
        let mut digits = Vec::new();
        let mut lower = 0i64;
        for &(term, k) in &sum.terms {
            let range = Some(simplifier.algebra.range(term)).filter(|_| simplifier.is_counted(term))?;
            let least = k.checked_mul(if k > 0 { range.lower } else { range.upper })?;
            lower = lower.checked_add(least)?;
            digits.push((k.checked_abs()?, i64::try_from(range.size()).ok()?));
        }
        digits.sort_unstable();
        let mut place = 1i64;
        for (k, size) in digits {
            place = Some(place).filter(|&place| place == k)?.checked_mul(size)?;
        }
        let values = Interval::new(lower, lower.checked_add(place - 1)?);
        Some(Number { terms: sum.terms.clone(), values, remainder: None })
    }

    /// Adds a restriction. Returns `None` for a second restriction of a remainder.
    fn restrict(&mut self, restriction: &Restriction) -> Option<()> {
        let Restriction { sum, modulus, bounds } = restriction;
        if let Some(modulus) = *modulus {
            let is_first = self.remainder.replace((sum.constant, modulus, *bounds)).is_none();
            return is_first.then_some(());
        }
        let side = |bound: i64| bound.checked_sub(sum.constant);
        self.values = self.values.intersect(Interval::new(side(bounds.lower)?, side(bounds.upper)?));
        Some(())
    }

    fn count(&self) -> Option<u64> {
        if self.values.is_empty() {
            return Some(0);
        }
        let Some((shift, modulus, bounds)) = self.remainder else { return Some(self.values.size()) };
        let (modulus, first) = (i128::from(modulus), i128::from(bounds.lower));
        let hits = i128::from(bounds.size());
        // Counts the numbers from 0 to below n whose remainder is allowed. For negative n, the
        // result is minus the count from n to below 0.
        let below = |n: i128| n.div_euclid(modulus) * hits + (n.rem_euclid(modulus) - first).clamp(0, hits);
        let at = |value: i64| i128::from(value) + i128::from(shift);
        u64::try_from(below(at(self.values.upper) + 1) - below(at(self.values.lower))).ok()
    }
}
