//! The canonical form of maps.

use super::constraint::{Outcome, implied_bounds, merge_congruences, simplify_constraint, tighten};
use super::simplify::Simplifier;
use super::{Bounds, Constraint, Expr, ExprKind, IndexingMap, Interval, Variable};

/// Largest number of rounds of simplification. One round may narrow a range variable, which lets
/// the next round simplify a constraint and narrow another range variable.
const MAX_ROUNDS: usize = 8;

impl IndexingMap {
    /// Returns the same map in canonical form. Results are simplified under the bounds and
    /// constraints. Constraints are simplified under the bounds and the other constraints, and then
    /// sorted. Constraints that always hold are dropped. Bounds of range variables are narrowed.
    /// All variables remain, even those that are not used. A map with an empty domain becomes
    /// [`IndexingMap::empty_like`].
    #[must_use]
    pub fn simplify(&self) -> IndexingMap {
        let mut map = self.clone();
        for _ in 0..MAX_ROUNDS {
            if map.is_known_empty() {
                return self.empty_like();
            }
            // A round changes only constraints, and ranges that constraints narrow.
            if map.constraints.is_empty() {
                break;
            }
            match map.round() {
                Some(next) if next == map => break,
                Some(next) => map = next,
                None => return self.empty_like(),
            }
        }
        let bounds = Bounds::of_domain(&map);
        let mut simplifier = Simplifier::new(&bounds);
        map.results = map.results.iter().map(|result| simplifier.simplify(result)).collect();
        map
    }

    /// Returns the canonical map with an empty domain. The returned map has the variables of this
    /// map, and the same number of results. All results are 0.
    #[must_use]
    pub fn empty_like(&self) -> IndexingMap {
        IndexingMap {
            results: vec![Expr::constant(0); self.results.len()],
            constraints: vec![Constraint::new(0, Interval::EMPTY)],
            ..self.clone()
        }
    }

    /// Whether the domain is known to be empty. Recognises more empty domains after
    /// [`simplify`](IndexingMap::simplify).
    pub fn is_known_empty(&self) -> bool {
        let variables = self.dims.iter().chain(&self.ranges).chain(&self.runtime);
        variables.into_iter().any(|v| v.bounds.is_empty()) || self.constraints.iter().any(|c| c.bounds.is_empty())
    }

    /// Simplifies constraints and narrows ranges once. Returns `None` if the domain is empty.
    fn round(&self) -> Option<IndexingMap> {
        let bounds = Bounds::of_variables(self);
        let mut simplifier = Simplifier::new(&bounds);
        let mut constraints: Vec<Constraint> = Vec::new();
        for constraint in &self.constraints {
            match simplify_constraint(constraint, &mut simplifier) {
                Outcome::Always => {}
                Outcome::Never => return None,
                Outcome::When(simple) => insert(simple, &mut constraints)?,
            }
        }
        constraints.sort_by(|a, b| a.expr.cmp(&b.expr));
        let mut constraints = refine(&bounds, constraints)?;
        tighten(&mut constraints, &mut simplifier);
        constraints.sort_by(|a, b| a.expr.cmp(&b.expr));
        let mut map = IndexingMap { constraints, ..self.clone() };
        map.narrow_ranges(&mut simplifier)?;
        Some(map)
    }

    fn narrow_ranges(&mut self, simplifier: &mut Simplifier) -> Option<()> {
        for (i, range) in self.ranges.iter_mut().enumerate() {
            let variable = Expr::range(i as u32);
            for constraint in &self.constraints {
                range.bounds = range.bounds.intersect(implied_bounds(constraint, &variable, simplifier));
            }
            if range.bounds.is_empty() {
                return None;
            }
        }
        // The bounds of a range variable now include its constraints, so these constraints need no
        // check.
        self.constraints.retain(|c| !matches!(c.expr.kind(), ExprKind::Range(_)));
        Some(())
    }

    /// Removes the range variables that occur neither in results nor in constraints. The removal
    /// changes the number of points in the domain, but not the set of results.
    #[must_use]
    pub fn without_unused_ranges(&self) -> IndexingMap {
        let used = self.used_variables(self.ranges.len(), ExprKind::Range);
        let (ranges, renamed) = renumber(&self.ranges, &used, Expr::range);
        let mut map = self.substituted(&[], &renamed, &[]);
        map.ranges = ranges;
        map
    }

    /// Removes the runtime variables that occur neither in results nor in constraints. Returns the
    /// map, and the indices of the remaining runtime variables.
    #[must_use]
    pub fn without_unused_runtime(&self) -> (IndexingMap, Vec<usize>) {
        let used = self.used_variables(self.runtime.len(), ExprKind::Runtime);
        let (runtime, renamed) = renumber(&self.runtime, &used, Expr::runtime);
        let mut map = self.substituted(&[], &[], &renamed);
        map.runtime = runtime;
        (map, (0..used.len()).filter(|&i| used[i]).collect())
    }

    fn used_variables(&self, count: usize, kind: fn(u32) -> ExprKind) -> Vec<bool> {
        let mut used = vec![false; count];
        for expr in self.results.iter().chain(self.constraints.iter().map(|c| &c.expr)) {
            expr.visit_leaves(&mut |leaf| {
                if let ExprKind::Dim(i) | ExprKind::Range(i) | ExprKind::Runtime(i) = leaf
                    && *leaf == kind(*i)
                    && let Some(flag) = used.get_mut(*i as usize)
                {
                    *flag = true;
                }
            });
        }
        used
    }

    /// Replaces the variables in results and constraints by expressions, and keeps the declared
    /// variables.
    pub(super) fn substituted(&self, dims: &[Expr], ranges: &[Expr], runtime: &[Expr]) -> IndexingMap {
        let mut map = self.clone();
        for expr in map.results.iter_mut().chain(map.constraints.iter_mut().map(|c| &mut c.expr)) {
            *expr = expr.substitute(dims, ranges, runtime);
        }
        map
    }
}

/// Adds a constraint. If the list already contains a constraint on the same expression, merges both
/// constraints. Returns `None` if two constraints exclude each other.
fn insert(constraint: Constraint, constraints: &mut Vec<Constraint>) -> Option<()> {
    for (i, known) in constraints.iter_mut().enumerate() {
        if known.expr == constraint.expr {
            known.bounds = known.bounds.intersect(constraint.bounds);
            return if known.bounds.is_empty() { None } else { Some(()) };
        }
        match merge_congruences(known, &constraint) {
            Some(Outcome::When(merged)) => {
                constraints.remove(i);
                return insert(merged, constraints);
            }
            Some(Outcome::Never) => return None,
            _ => {}
        }
    }
    constraints.push(constraint);
    Some(())
}

/// Simplifies each constraint under the other constraints. Drops a constraint that the other
/// constraints imply. Returns `None` if a constraint contradicts the other constraints.
fn refine(bounds: &Bounds, mut constraints: Vec<Constraint>) -> Option<Vec<Constraint>> {
    let mut i = 0;
    while constraints.len() > 1 && i < constraints.len() {
        let candidate = constraints.remove(i);
        let mut others = bounds.clone();
        for other in &constraints {
            others.assume(other.clone());
        }
        match simplify_constraint(&candidate, &mut Simplifier::new(&others)) {
            Outcome::Always => continue,
            Outcome::Never => return None,
            Outcome::When(simple) => constraints.insert(i, simple),
        }
        i += 1;
    }
    Some(constraints)
}

/// Renumbers the used variables, and returns them. For each old variable, also returns the
/// expression that refers to this variable after the renumbering.
pub(super) fn renumber(variables: &[Variable], used: &[bool], make: fn(u32) -> Expr) -> (Vec<Variable>, Vec<Expr>) {
    let mut kept = Vec::new();
    let mut renamed = Vec::new();
    for (variable, used) in variables.iter().zip(used) {
        renamed.push(make(kept.len() as u32));
        if *used {
            kept.push(variable.clone());
        }
    }
    (kept, renamed)
}
