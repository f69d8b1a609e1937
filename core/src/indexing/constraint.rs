//! Simplification of constraints.

use super::affine::Affine;
use super::interval::{ceil_div, floor_div, floor_mod};
use super::simplify::{Simplifier, absorb_quotient, as_remainder, gcd};
use super::{Constraint, Expr, ExprKind, Interval};

/// What is left of a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing: it always holds.
    Always,
    /// It never holds.
    Never,
    /// An equivalent constraint in canonical form.
    When(Constraint),
}

/// Rewrites of one constraint; each makes it smaller, so this is never reached.
const MAX_REWRITES: usize = 64;

/// Brings a constraint into canonical form, given the bounds of the variables.
pub(super) fn simplify_constraint(constraint: &Constraint, simplifier: &mut Simplifier) -> Outcome {
    let mut current = Constraint { expr: simplifier.simplify(&constraint.expr), bounds: constraint.bounds };
    for _ in 0..MAX_REWRITES {
        let range = simplifier.range(&current.expr);
        if current.bounds.intersect(range).is_empty() {
            return Outcome::Never;
        }
        if current.bounds.contains_interval(range) {
            return Outcome::Always;
        }
        match rewrite(&current, range, simplifier) {
            Some(next) => current = next,
            None => {
                current.bounds = current.bounds.intersect(range);
                break;
            }
        }
    }
    Outcome::When(current)
}

/// One step towards the canonical form, if there is one.
fn rewrite(constraint: &Constraint, range: Interval, simplifier: &mut Simplifier) -> Option<Constraint> {
    // A side that the range guarantees anyway puts no demand on a rewrite.
    let lower = (range.lower < constraint.bounds.lower).then_some(constraint.bounds.lower);
    let upper = (range.upper > constraint.bounds.upper).then_some(constraint.bounds.upper);
    let mut sum = constraint.expr.decompose();
    if sum.constant != 0 {
        let shift = |bound: Option<i64>| bound.map(|b| b.checked_sub(sum.constant)).unwrap_or(Some(0));
        let (low, high) = (shift(lower)?, shift(upper)?);
        sum.constant = 0;
        let expr = simplifier.sum(sum);
        let range = simplifier.range(&expr);
        let bounds = Interval::new(lower.map_or(range.lower, |_| low), upper.map_or(range.upper, |_| high));
        return Some(Constraint { expr, bounds });
    }
    let content = sum.terms.iter().fold(0, |g, (_, k)| gcd(g, *k));
    let negative = sum.terms.first().is_some_and(|(_, k)| *k < 0);
    if content > 1 || negative {
        return divide(&sum, if negative { content.checked_neg()? } else { content }, lower, upper, simplifier);
    }
    // s + y / a in [l, u] is a·s + y in [a·l, a·u + a - 1]
    if let Some((numerator, divisor)) = absorb_quotient(&sum, 1) {
        let expr = simplifier.sum(numerator);
        let range = simplifier.range(&expr);
        let lower = lower.map_or(Some(range.lower), |l| l.checked_mul(divisor))?;
        let upper = upper.map_or(Some(range.upper), |u| u.checked_mul(divisor)?.checked_add(divisor - 1))?;
        return Some(Constraint { expr, bounds: Interval::new(lower, upper) });
    }
    drop_small_rest(&sum, lower, upper, simplifier)
}

/// `factor · x in [l, u]` is `x in [ceil(l / factor), floor(u / factor)]`, ends swapped for a negative one.
fn divide(
    sum: &Affine,
    factor: i64,
    lower: Option<i64>,
    upper: Option<i64>,
    simplifier: &mut Simplifier,
) -> Option<Constraint> {
    let terms =
        sum.terms.iter().map(|(term, k)| Some((term.clone(), k.checked_div(factor)?))).collect::<Option<_>>()?;
    let expr = simplifier.sum(Affine { constant: 0, terms });
    let range = simplifier.range(&expr);
    let size = factor.checked_abs()?;
    let (lower, upper) = match factor < 0 {
        true => (invert(upper)?, invert(lower)?),
        false => (lower, upper),
    };
    let lower = lower.map_or(range.lower, |l| ceil_div(l, size));
    let upper = upper.map_or(range.upper, |u| floor_div(u, size));
    Some(Constraint { expr, bounds: Interval::new(lower, upper) })
}

/// The negated bound, if there is one. The outer `None` stands for overflow.
fn invert(bound: Option<i64>) -> Option<Option<i64>> {
    match bound {
        Some(bound) => bound.checked_neg().map(Some),
        None => Some(None),
    }
}

/// `g·p + r in [l, u]` is a constraint on `p` alone if `r` is too small to matter at either bound. This is
/// what makes the bounds check of a vector independent of the lane.
fn drop_small_rest(
    sum: &Affine,
    lower: Option<i64>,
    upper: Option<i64>,
    simplifier: &mut Simplifier,
) -> Option<Constraint> {
    for g in coefficient_divisors(sum) {
        let mut head = Affine::default();
        let mut rest = Interval::point(0);
        for (term, k) in &sum.terms {
            match k % g {
                0 => head.terms.push((term.clone(), k / g)),
                _ => rest = rest + simplifier.range(term) * Interval::point(*k),
            }
        }
        if rest.lower == i64::MIN || rest.upper == i64::MAX {
            continue;
        }
        let least = |bound: i64| {
            let (a, b) = (bound.checked_sub(rest.lower)?, bound.checked_sub(rest.upper)?);
            (ceil_div(a, g) == ceil_div(b, g)).then(|| ceil_div(a, g))
        };
        let most = |bound: i64| {
            let (a, b) = (bound.checked_sub(rest.lower)?, bound.checked_sub(rest.upper)?);
            (floor_div(a, g) == floor_div(b, g)).then(|| floor_div(a, g))
        };
        let (new_lower, new_upper) = (lower.map(least), upper.map(most));
        if new_lower == Some(None) || new_upper == Some(None) {
            continue;
        }
        let expr = simplifier.sum(head);
        let range = simplifier.range(&expr);
        let lower = new_lower.flatten().unwrap_or(range.lower);
        let upper = new_upper.flatten().unwrap_or(range.upper);
        return Some(Constraint { expr, bounds: Interval::new(lower, upper) });
    }
    None
}

/// Common divisors, above 1, of some but not all coefficients; larger first.
fn coefficient_divisors(sum: &Affine) -> Vec<i64> {
    let mut sizes: Vec<i64> = sum.terms.iter().filter_map(|(_, k)| k.checked_abs()).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut common = 0;
    for size in &mut sizes {
        common = gcd(common, *size);
        *size = common;
    }
    sizes.dedup();
    sizes.retain(|&g| g > 1);
    sizes
}

/// `x mod m = r` and `x mod n = q` together, by the Chinese remainder theorem. `None` if they are not of this
/// form, have different `x`, or the numbers get too large.
pub(super) fn merge_congruences(a: &Constraint, b: &Constraint) -> Option<Outcome> {
    let ((x, m), (y, n)) = (as_remainder(&a.expr)?, as_remainder(&b.expr)?);
    let (r, q) = (single(a.bounds)?, single(b.bounds)?);
    if x != y {
        return None;
    }
    let common = gcd(m, n);
    if floor_mod(r, common) != floor_mod(q, common) {
        return Some(Outcome::Never);
    }
    let lcm = m.checked_mul(n / common)?;
    // Few enough to try: r, r + m, r + 2m, … until the other congruence holds.
    let solution = (0..(n / common).min(4096)).map(|i| r + i * m).find(|&s| floor_mod(s, n) == q)?;
    let expr = Expr::new(ExprKind::Mod(x.clone(), Expr::constant(lcm)));
    Some(Outcome::When(Constraint { expr, bounds: Interval::point(solution) }))
}

fn single(bounds: Interval) -> Option<i64> {
    (bounds.lower == bounds.upper).then_some(bounds.lower)
}

/// The values of `variable` that a canonical constraint leaves possible, given the ranges of the other terms.
pub(super) fn implied_bounds(constraint: &Constraint, variable: &Expr, simplifier: &mut Simplifier) -> Interval {
    let own = simplifier.range(variable);
    if let Some((x, m)) = as_remainder(&constraint.expr)
        && x == variable
        && let Some(r) = single(constraint.bounds)
    {
        let lower = own.lower.checked_add(floor_mod(r - floor_mod(own.lower, m), m));
        let upper = own.upper.checked_sub(floor_mod(floor_mod(own.upper, m) - r, m));
        return Interval::new(lower.unwrap_or(own.lower), upper.unwrap_or(own.upper));
    }
    let sum = constraint.expr.decompose();
    let coefficient = sum.coefficient(variable);
    if coefficient == 0 || coefficient == i64::MIN {
        return own;
    }
    let mut scaled = constraint.bounds + Interval::point(sum.constant.saturating_neg());
    for (term, k) in sum.terms.iter().filter(|(term, _)| term != variable) {
        scaled = scaled + -(simplifier.range(term) * Interval::point(*k));
    }
    if coefficient < 0 {
        scaled = -scaled;
    }
    let size = coefficient.abs();
    let lower = if scaled.lower == i64::MIN { i64::MIN } else { ceil_div(scaled.lower, size) };
    let upper = if scaled.upper == i64::MAX { i64::MAX } else { floor_div(scaled.upper, size) };
    own.intersect(Interval::new(lower, upper))
}
