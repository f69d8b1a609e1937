//! Simplification of constraints.

use super::algebra::{Algebra, Ix, Sum, gcd, split_multiples};
use super::interval::{ceil_div, floor_div, floor_mod};
use super::simplify::Simplifier;
use super::{Constraint, Expr, ExprKind, Interval};

/// The result of simplifying a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The constraint always holds.
    Always,
    /// The constraint never holds.
    Never,
    /// An equivalent constraint in canonical form.
    When(Constraint),
}

/// Largest number of rewrites of one constraint. Each rewrite makes the constraint smaller, so the
/// limit is never reached.
const MAX_REWRITES: usize = 64;

/// Brings a constraint into canonical form, given the bounds of the variables.
pub(super) fn simplify_constraint(constraint: &Constraint, simplifier: &mut Simplifier) -> Outcome {
    let (mut ix, mut bounds) = (simplifier.canonical(&constraint.expr), constraint.bounds);
    for _ in 0..MAX_REWRITES {
        let range = simplifier.algebra.range(ix);
        if bounds.intersect(range).is_empty() {
            return Outcome::Never;
        }
        if bounds.contains_interval(range) {
            return Outcome::Always;
        }
        match rewrite(ix, bounds, &mut simplifier.algebra) {
            Some(next) => (ix, bounds) = next,
            None => {
                bounds = bounds.intersect(range);
                break;
            }
        }
    }
    Outcome::When(Constraint { expr: simplifier.write(ix), bounds })
}

/// Applies one rewrite towards the canonical form, if there is one.
fn rewrite(ix: Ix, bounds: Interval, algebra: &mut Algebra) -> Option<(Ix, Interval)> {
    // A rewrite may ignore a bound that the range guarantees anyway.
    let range = algebra.range(ix);
    let lower = (range.lower < bounds.lower).then_some(bounds.lower);
    let upper = (range.upper > bounds.upper).then_some(bounds.upper);
    let mut sum = algebra.as_sum(ix);
    if sum.constant != 0 {
        let shift = |bound: Option<i64>| bound.map(|b| b.checked_sub(sum.constant)).unwrap_or(Some(0));
        let (low, high) = (shift(lower)?, shift(upper)?);
        sum.constant = 0;
        return Some(bounded(sum, lower.map(|_| low), upper.map(|_| high), algebra));
    }
    // Divisors of a coefficient fit into `i64`, except for the coefficient `i64::MIN`.
    let content = sum.terms.iter().fold(0, |g, (_, k)| gcd(g, k.unsigned_abs()));
    let content = i64::try_from(content).unwrap_or(1);
    let negative = sum.terms.first().is_some_and(|(_, k)| *k < 0);
    if content > 1 || negative {
        return divide(sum, if negative { content.checked_neg()? } else { content }, lower, upper, algebra);
    }
    // `s + y / a in [l, u]` is equivalent to `a·s + y in [a·l, a·u + a - 1]`.
    if let Some((numerator, divisor)) = algebra.absorb_quotient(&sum, 1) {
        let lower = lower.map(|l| l.checked_mul(divisor).ok_or(())).transpose().ok()?;
        let upper = upper.map(|u| u.checked_mul(divisor).and_then(|u| u.checked_add(divisor - 1)).ok_or(()));
        return Some(bounded(numerator, lower, upper.transpose().ok()?, algebra));
    }
    drop_small_rest(&sum, lower, upper, algebra)
}

/// Returns the expression of a sum, and the bounds of the sum. If a bound is missing, the end of
/// the sum's range replaces it.
fn bounded(sum: Sum, lower: Option<i64>, upper: Option<i64>, algebra: &mut Algebra) -> (Ix, Interval) {
    let ix = algebra.sum(sum);
    let range = algebra.range(ix);
    (ix, Interval::new(lower.unwrap_or(range.lower), upper.unwrap_or(range.upper)))
}

/// Rewrites `factor · x in [l, u]` to `x in [ceil(l / factor), floor(u / factor)]`. If the factor
/// is negative, the function swaps `l` and `u`.
fn divide(
    mut sum: Sum,
    factor: i64,
    lower: Option<i64>,
    upper: Option<i64>,
    algebra: &mut Algebra,
) -> Option<(Ix, Interval)> {
    for (_, k) in &mut sum.terms {
        *k = k.checked_div(factor)?;
    }
    let size = factor.checked_abs()?;
    let (lower, upper) = if factor < 0 { (invert(upper)?, invert(lower)?) } else { (lower, upper) };
    Some(bounded(sum, lower.map(|l| ceil_div(l, size)), upper.map(|u| floor_div(u, size)), algebra))
}

/// Returns the negated bound, if there is one. Returns `None` if the negation overflows, and
/// `Some(None)` if there is no bound.
fn invert(bound: Option<i64>) -> Option<Option<i64>> {
    match bound {
        Some(bound) => bound.checked_neg().map(Some),
        None => Some(None),
    }
}

/// Rewrites `g·p + r in [l, u]` to a constraint on `p` alone if `r` is too small to matter at
/// either bound. Without `r`, the bounds check of a vector does not depend on the lane.
fn drop_small_rest(sum: &Sum, lower: Option<i64>, upper: Option<i64>, algebra: &mut Algebra) -> Option<(Ix, Interval)> {
    let whole = coefficient_divisors(sum).into_iter().map(|g| (g, split_multiples(sum, g)));
    let parts = coefficient_sizes(sum).into_iter().map(|g| (g, split_coefficients(sum, g)));
    for (g, (head, rest)) in whole.chain(parts) {
        let ranges = rest.terms.iter().map(|&(term, k)| algebra.range(term) * Interval::point(k));
        let rest = ranges.fold(Interval::point(0), |sum, range| sum + range);
        if rest.lower == i64::MIN || rest.upper == i64::MAX {
            continue;
        }
        let common = |bound: i64, divide: fn(i64, i64) -> i64| {
            let (a, b) = (bound.checked_sub(rest.lower)?, bound.checked_sub(rest.upper)?);
            (divide(a, g) == divide(b, g)).then(|| divide(a, g))
        };
        let (lower, upper) = (lower.map(|bound| common(bound, ceil_div)), upper.map(|bound| common(bound, floor_div)));
        if lower != Some(None) && upper != Some(None) {
            return Some(bounded(head, lower.flatten(), upper.flatten(), algebra));
        }
    }
    None
}

/// Writes `Σ k·t` as `g · Σ (k / g)·t + Σ (k mod g)·t`. The split form is useful if a coefficient
/// is slightly above a multiple of `g`.
fn split_coefficients(sum: &Sum, g: i64) -> (Sum, Sum) {
    let of = |part: fn(i64, i64) -> i64| {
        let terms = sum.terms.iter().map(|&(term, k)| (term, part(k, g))).filter(|&(_, k)| k != 0);
        Sum { terms: terms.collect(), constant: 0 }
    };
    (of(floor_div), of(floor_mod))
}

/// Returns those absolute values of coefficients that exceed 1, in descending order.
fn coefficient_sizes(sum: &Sum) -> Vec<i64> {
    let mut sizes: Vec<i64> = sum.terms.iter().filter_map(|(_, k)| k.checked_abs()).filter(|&k| k > 1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    sizes
}

/// Returns, for each n, the greatest common divisor of the n largest coefficients. Leaves out
/// divisors that are 1. Larger divisors come first.
fn coefficient_divisors(sum: &Sum) -> Vec<i64> {
    let mut sizes: Vec<i64> = sum.terms.iter().filter_map(|(_, k)| k.checked_abs()).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut common = 0;
    for size in &mut sizes {
        common = gcd(common, size.unsigned_abs());
        *size = common as i64;
    }
    sizes.dedup();
    sizes.retain(|&g| g > 1);
    sizes
}

/// Combines `x mod m = r` and `x mod n = q` by the Chinese remainder theorem. Returns `None` if a
/// constraint does not have this form, if the constraints have different `x`, or if the numbers get
/// too large.
pub(super) fn merge_congruences(a: &Constraint, b: &Constraint) -> Option<Outcome> {
    let ((x, m), (y, n)) = (a.expr.as_remainder()?, b.expr.as_remainder()?);
    let (r, q) = (single(a.bounds)?, single(b.bounds)?);
    if x != y {
        return None;
    }
    let common = gcd(m.unsigned_abs(), n.unsigned_abs()) as i64;
    if floor_mod(r, common) != floor_mod(q, common) {
        return Some(Outcome::Never);
    }
    let lcm = m.checked_mul(n / common)?;
    // There are few candidates, so the code tries r, r + m, r + 2m, … until the other congruence
    // holds.
    let solution = (0..(n / common).min(4096)).map(|i| r + i * m).find(|&s| floor_mod(s, n) == q)?;
    let expr = Expr::new(ExprKind::Mod(x.clone(), Expr::constant(lcm)));
    Some(Outcome::When(Constraint { expr, bounds: Interval::point(solution) }))
}

/// Narrows the bounds of an expression with a known remainder to values that have this remainder.
/// For example, if `x mod 3 = 1`, then `x + 1 in [0, 12]` becomes `x + 1 in [2, 11]`.
pub(super) fn tighten(constraints: &mut [Constraint], simplifier: &mut Simplifier) {
    for at in 0..constraints.len() {
        let Some(((x, m), r)) = constraints[at].expr.as_remainder().zip(single(constraints[at].bounds)) else {
            continue;
        };
        let x = simplifier.read(x);
        for Constraint { expr, bounds } in constraints.iter_mut() {
            let y = simplifier.read(expr);
            let distance = simplifier.algebra.sub(y, x);
            let Some(distance) = simplifier.algebra.as_constant(distance) else { continue };
            let Some(residue) = floor_mod(r, m).checked_add(floor_mod(distance, m)) else { continue };
            *bounds = to_residue(*bounds, residue, m);
        }
    }
}

/// Returns the bounds, narrowed to numbers whose remainder modulo `m` is `residue`.
fn to_residue(bounds: Interval, residue: i64, m: i64) -> Interval {
    let lower = bounds.lower.checked_add(floor_mod(residue - floor_mod(bounds.lower, m), m));
    let upper = bounds.upper.checked_sub(floor_mod(floor_mod(bounds.upper, m) - residue, m));
    Interval::new(lower.unwrap_or(bounds.lower), upper.unwrap_or(bounds.upper))
}

fn single(bounds: Interval) -> Option<i64> {
    (bounds.lower == bounds.upper).then_some(bounds.lower)
}

/// Returns the values of `variable` that a canonical constraint allows, given the ranges of the
/// other terms.
pub(super) fn implied_bounds(constraint: &Constraint, variable: &Expr, simplifier: &mut Simplifier) -> Interval {
    let (own, variable, ix) =
        (simplifier.range(variable), simplifier.read(variable), simplifier.read(&constraint.expr));
    let algebra = &simplifier.algebra;
    if let Some((x, m)) = algebra.as_remainder(ix)
        && x == variable
        && let Some(r) = single(constraint.bounds)
    {
        return to_residue(own, r, m);
    }
    let sum = algebra.as_sum(ix);
    let coefficient = sum.coefficient(variable);
    if coefficient == 0 || coefficient == i64::MIN {
        return own;
    }
    let mut scaled = constraint.bounds + Interval::point(sum.constant.saturating_neg());
    for &(term, k) in sum.terms.iter().filter(|(term, _)| *term != variable) {
        scaled = scaled + -(algebra.range(term) * Interval::point(k));
    }
    if coefficient < 0 {
        scaled = -scaled;
    }
    let size = coefficient.abs();
    let lower = if scaled.lower == i64::MIN { i64::MIN } else { ceil_div(scaled.lower, size) };
    let upper = if scaled.upper == i64::MAX { i64::MAX } else { floor_div(scaled.upper, size) };
    own.intersect(Interval::new(lower, upper))
}
