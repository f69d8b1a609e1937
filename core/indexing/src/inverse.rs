//! Inverts maps. The inverse computes the variables of a map from the map's results.
//!
//! Each result is an equation `Σ k·t = value`. If the coefficients `k` are far enough apart, as in
//! a mixed-radix number, divisions recover the terms `t` from the value. A term is a digit of its
//! *base*, which is a variable or an inner sum like `(d0 * 4 + d1) floordiv 3`. Once all digits of
//! a base are known, the base is known. A known base that is an inner sum gives a further equation.
//! Solving equations and assembling bases inverts permutations, strides, reversals, slices,
//! reshapes and tilings.

use super::constraint::{Outcome, simplify_constraint};
use super::expr::ExprMap;
use super::simplify::Simplifier;
use super::{Bounds, Constraint, Expr, ExprKind, IndexingMap, Variable, simplify_expr};

impl IndexingMap {
    /// Returns the inverse, a map from the results of this map to its dimensions and range
    /// variables, in this order. Returns `None` if the results do not determine every point of the
    /// domain. The domain of the inverse is the image of this map. The inverse has the same runtime
    /// variables as this map.
    pub fn inverse(&self) -> Option<IndexingMap> {
        let map = self.simplify();
        let bounds = Bounds::of_domain(&map);
        let targets: Vec<Variable> =
            map.results.iter().map(|result| Variable::from(super::range_of(result, &bounds))).collect();
        map.inverse_over(targets)
    }

    /// Returns the inverse. The dimensions of the inverse are the variables `targets`, one for each
    /// result of this map. The domain of the inverse is the part of the image that is within the
    /// bounds of `targets`. `self` must be simplified.
    pub(super) fn inverse_over(&self, targets: Vec<Variable>) -> Option<IndexingMap> {
        let unknowns = self.solve()?;
        let (dims, ranges) = unknowns.split_at(self.dims.len());
        Some(self.inverted(targets, dims, ranges).simplify())
    }

    /// Returns the map from `targets` to the values `dims` and `ranges`. A target is in the domain
    /// of the returned map if the values for this target are a point in the domain of `self`, and
    /// if `self` maps this point to the target.
    fn inverted(&self, targets: Vec<Variable>, dims: &[Expr], ranges: &[Expr]) -> IndexingMap {
        let unknowns = [dims, ranges].concat();
        let forward = self.substituted(dims, ranges, &[]);
        let mut constraints = forward.constraints;
        for (variable, value) in self.dims.iter().chain(&self.ranges).zip(&unknowns) {
            constraints.push(Constraint { expr: value.clone(), bounds: variable.bounds });
        }
        for (j, result) in forward.results.iter().enumerate() {
            constraints.push(Constraint::new(result.clone() - Expr::dim(j as u32), super::Interval::point(0)));
        }
        let runtime = self.runtime.clone();
        IndexingMap { dims: targets, ranges: Vec::new(), runtime, results: unknowns, constraints }
    }

    /// Returns the values of all dimensions, followed by the values of all range variables. A value
    /// is an expression in which dimension `d<i>` stands for result `i` of this map. The
    /// expressions are correct for every point of the domain.
    fn solve(&self) -> Option<Vec<Expr>> {
        let bounds = Bounds::of_domain(self);
        let mut solver = Solver::new(self, &bounds);
        while solver.progress()? {}
        let dims = (0..self.dims.len()).map(|i| Expr::dim(i as u32));
        let ranges = (0..self.ranges.len()).map(|i| Expr::range(i as u32));
        dims.chain(ranges).map(|variable| solver.value(&variable)).collect()
    }

    /// Returns the inverse as a relation. The relation maps each target to the dimensions of all
    /// points that the map sends to this target. Variables that the target does not determine
    /// become range variables. The relation always exists, unlike an inverse map.
    pub(super) fn preimage(&self, targets: Vec<Variable>) -> Preimage {
        let map = self.simplify();
        let bounds = Bounds::of_domain(&map);
        let mut solver = Solver::new(&map, &bounds);
        let mut free = Vec::new();
        loop {
            while solver.progress() == Some(true) {}
            let Some((variable, bounds)) = solver.first_unsolved(&map) else { break };
            solver.solved.insert(variable, Expr::range(free.len() as u32));
            free.push(bounds);
        }
        let mut value = |variable: Expr| solver.value(&variable).unwrap_or(variable);
        let dims: Vec<Expr> = (0..map.dims.len()).map(|i| value(Expr::dim(i as u32))).collect();
        let ranges: Vec<Expr> = (0..map.ranges.len()).map(|i| value(Expr::range(i as u32))).collect();
        let mut inverse = map.inverted(targets, &dims, &ranges);
        inverse.ranges = free;
        inverse.results.truncate(dims.len());
        Preimage { map: inverse, dims, ranges }
    }

    /// Whether `expr` is within `bounds` at all points of the domain. Returns true only if the
    /// algebra can prove the bounds from the ranges of the variables and from the constraints.
    pub(super) fn always(&self, expr: &Expr, bounds: super::Interval) -> bool {
        let known = Bounds::of_domain(self);
        let mut simplifier = Simplifier::new(&known);
        simplify_constraint(&Constraint { expr: expr.clone(), bounds }, &mut simplifier) == Outcome::Always
    }
}

/// All points that a map sends to a target.
pub(super) struct Preimage {
    /// Map from targets to dimensions. The range variables of this map stand for those variables of
    /// the original map that the target does not determine.
    pub map: IndexingMap,
    /// The dimensions of the original map, as expressions over the variables of `map`.
    pub dims: Vec<Expr>,
    /// The range variables of the original map, as expressions over the variables of `map`.
    pub ranges: Vec<Expr>,
}

/// `constant + Σ coefficient · term = value`. Terms are expressions over the variables of the map.
/// The value is an expression over the results of the map.
#[derive(Clone)]
struct Equation {
    constant: i64,
    terms: Vec<(Expr, i64)>,
    value: Expr,
}

struct Solver {
    simplifier: Simplifier,
    /// A simplifier that does not know the constraints. The field `simplifier` treats constraints
    /// as facts, so it would fold the equations.
    plain: Simplifier,
    equations: Vec<Equation>,
    /// Quotients and remainders with known values.
    digits: Vec<(Expr, Expr)>,
    solved: ExprMap<Expr>,
}

impl Solver {
    fn new(map: &IndexingMap, bounds: &Bounds) -> Self {
        let results = map.results.iter().enumerate().map(|(j, result)| (result, Expr::dim(j as u32)));
        // A constraint that allows a single value is also an equation. For padded or dilated
        // arrays, such a constraint states that elements are at multiples of a distance.
        let fixed = map.constraints.iter().filter(|c| c.bounds.lower == c.bounds.upper);
        let fixed = fixed.map(|c| (&c.expr, Expr::constant(c.bounds.lower)));
        let (simplifier, plain) = (Simplifier::new(bounds), Simplifier::new(&Bounds::of_variables(map)));
        let (equations, digits, solved) = (Vec::new(), Vec::new(), ExprMap::default());
        let mut solver = Solver { simplifier, plain, equations, digits, solved };
        results.chain(fixed).for_each(|(expr, value)| solver.add_equation(expr, value));
        solver
    }

    fn add_equation(&mut self, expr: &Expr, value: Expr) {
        let ix = self.plain.read(expr);
        let sum = self.plain.algebra.as_sum(ix);
        let terms = sum.terms.iter().map(|&(term, k)| (self.plain.write(term), k)).collect();
        self.equations.push(Equation { constant: sum.constant, terms, value });
    }

    /// Returns the value of a variable, if the variable is solved or has only one possible value.
    fn value(&mut self, variable: &Expr) -> Option<Expr> {
        let only = |solver: &mut Self| solver.simplifier.range(variable).as_point().map(Expr::constant);
        self.solved.get(variable).cloned().or_else(|| only(self))
    }

    /// Returns the first variable without a value, and its bounds. Range variables come before
    /// dimensions.
    fn first_unsolved(&mut self, map: &IndexingMap) -> Option<(Expr, Variable)> {
        let ranges = map.ranges.iter().enumerate().map(|(i, v)| (Expr::range(i as u32), v));
        let dims = map.dims.iter().enumerate().map(|(i, v)| (Expr::dim(i as u32), v));
        let mut unsolved = ranges.chain(dims).filter(|(variable, _)| self.value(variable).is_none());
        unsolved.next().map(|(variable, v)| (variable, v.clone()))
    }

    /// Solves one equation or assembles one base. Returns `None` on overflow, and `false` if the
    /// solver can solve no equation and assemble no base.
    fn progress(&mut self) -> Option<bool> {
        for i in 0..self.equations.len() {
            let equation = self.equations[i].clone();
            if let Some(digits) = self.decode(&equation) {
                self.equations.remove(i);
                for (term, value) in digits {
                    self.record(&term, value);
                }
                return Some(true);
            }
        }
        for i in 0..self.digits.len() {
            let base = base_of(&self.digits[i].0);
            if self.solved.contains_key(&base) {
                continue;
            }
            if let Some(value) = self.assemble(&base) {
                self.add_equation(&base, value.clone());
                self.solved.insert(base, value);
                return Some(true);
            }
        }
        Some(false)
    }

    /// Returns the values of the unknown terms of an equation.
    fn decode(&mut self, equation: &Equation) -> Option<Vec<(Expr, Expr)>> {
        let mut unknown = Vec::new();
        let mut remaining = equation.value.clone() - equation.constant;
        for (term, k) in &equation.terms {
            match self.known(term) {
                Some(value) => remaining = remaining - value * *k,
                None => unknown.push((term.clone(), *k, self.simplifier.range(term))),
            }
        }
        unknown.sort_by_key(|(_, k, _)| k.unsigned_abs());
        // Each coefficient must exceed the range of all smaller terms together.
        let mut reach = 0i64;
        for (_, k, range) in &unknown {
            let k = k.checked_abs()?;
            if reach >= k || range.lower == i64::MIN || range.upper == i64::MAX {
                return None;
            }
            reach = reach.checked_add(k.checked_mul(range.upper.checked_sub(range.lower)?)?)?;
        }
        for (_, k, range) in &unknown {
            let least = if *k > 0 { range.lower } else { range.upper };
            remaining = remaining - k.checked_mul(least)?;
        }
        let mut decoded = Vec::new();
        for (term, k, range) in unknown.into_iter().rev() {
            let digit = remaining.clone().floor_div(k.abs());
            remaining = remaining - digit.clone() * k.abs();
            let value = if k > 0 { digit + range.lower } else { digit * -1 + range.upper };
            // Assumes no bounds of the results, so that the value is correct for all possible
            // results.
            decoded.push((term, simplify_expr(&value, &Bounds::default())));
        }
        Some(decoded)
    }

    /// Returns the value of a term if all its leaves are solved.
    fn known(&self, term: &Expr) -> Option<Expr> {
        if let Some(value) = self.solved.get(term) {
            return Some(value.clone());
        }
        let mut complete = true;
        let value = term.replace_leaves(&mut |leaf| {
            let value = match leaf {
                ExprKind::Constant(_) | ExprKind::Runtime(_) => return None,
                leaf => self.solved.get(&Expr::new(leaf.clone())).cloned(),
            };
            complete &= value.is_some();
            value
        });
        complete.then_some(value)
    }

    fn record(&mut self, term: &Expr, value: Expr) {
        if term.is_variable() {
            self.solved.insert(term.clone(), value);
        } else {
            self.digits.push((term.clone(), value));
        }
    }

    /// Returns the value of `base`, if the known digits represent the base without a gap.
    /// Simplification may have changed a digit so that its base is not recognisable. So this
    /// function computes each needed digit, and searches for it among the known digits.
    fn assemble(&mut self, base: &Expr) -> Option<Expr> {
        let mut place = 1i64;
        let mut value = Expr::constant(0);
        let whole = self.simplifier.read(base);
        'places: loop {
            let rest = self.simplifier.algebra.floor_div(whole, place);
            if let Some(rest) = self.simplifier.algebra.as_constant(rest) {
                return Some(value + place.checked_mul(rest)?);
            }
            for (term, digit) in &self.digits {
                let needed = match term.as_remainder() {
                    Some((_, size)) => self.simplifier.algebra.modulo(rest, size),
                    None => rest,
                };
                if needed != self.simplifier.read(term) {
                    continue;
                }
                value = value + digit.clone() * place;
                match term.as_remainder() {
                    Some((_, size)) => place = place.checked_mul(size)?,
                    None => return Some(value),
                }
                continue 'places;
            }
            return None;
        }
    }
}

/// Returns the base of a quotient or remainder.
fn base_of(digit: &Expr) -> Expr {
    let dividend = digit.as_remainder().map_or(digit, |(dividend, _)| dividend);
    dividend.as_quotient().map_or(dividend, |(base, _)| base).clone()
}
