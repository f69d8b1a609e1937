//! Indexing maps and their variables.

use super::{Expr, ExprKind, Interval};

/// A variable of a map, with its possible values and its name for display.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// The values of the variable.
    pub bounds: Interval,
    /// Name (`th`, `bl`, …) that is displayed instead of `d0`, `s0` or `rt0`; empty if there is
    /// none.
    pub name: String,
}

/// A condition on the points of a domain: `expr` is within `bounds`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constraint {
    /// Expression over the map's variables.
    pub expr: Expr,
    /// The values that the expression may have.
    pub bounds: Interval,
}

/// A map `(dims)[ranges]{runtime} -> (results)`. The domain consists of all points that satisfy the
/// bounds of the variables and the constraints.
///
/// A caller that supplies values of dimensions and runtime variables must keep them within their
/// bounds. Evaluation of a map does not check the bounds of dimensions and runtime variables.
/// [`simplify`](IndexingMap::simplify) relies on the bounds of dimensions and runtime variables,
/// and never narrows them. The bounds of a range variable are the range of a loop; simplification
/// may narrow them. Code that uses a map must check its constraints, and skip points that violate a
/// constraint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct IndexingMap {
    /// `d0, d1, …`
    pub dims: Vec<Variable>,
    /// `s0, s1, …`
    pub ranges: Vec<Variable>,
    /// `rt0, rt1, …`
    pub runtime: Vec<Variable>,
    /// One expression per coordinate of the target.
    pub results: Vec<Expr>,
    /// Conditions that all points of the domain satisfy.
    pub constraints: Vec<Constraint>,
}

impl Variable {
    /// Creates a variable with the values `0..size` and without a name.
    pub fn from_size(size: i64) -> Self {
        Variable { bounds: Interval::from_size(size), name: String::new() }
    }

    /// Creates a variable with the values `0..size` and a name.
    pub fn named(name: &str, size: i64) -> Self {
        Variable { bounds: Interval::from_size(size), name: name.into() }
    }
}

impl From<Interval> for Variable {
    fn from(bounds: Interval) -> Self {
        Variable { bounds, name: String::new() }
    }
}

impl Constraint {
    /// Creates the constraint that `expr` is within `bounds`.
    pub fn new(expr: impl Into<Expr>, bounds: Interval) -> Self {
        Constraint { expr: expr.into(), bounds }
    }
}

impl IndexingMap {
    /// Creates a map to `results`. Dimensions and range variables have values that are at least 0
    /// and below the given sizes.
    pub fn from_tensor_sizes(results: Vec<Expr>, dim_sizes: &[i64], range_sizes: &[i64]) -> Self {
        let from_sizes = |sizes: &[i64]| sizes.iter().map(|&size| Variable::from_size(size)).collect();
        IndexingMap { dims: from_sizes(dim_sizes), ranges: from_sizes(range_sizes), results, ..IndexingMap::default() }
    }

    /// Returns the map `(d0, d1, …) -> (d0, d1, …)` over a shape.
    pub fn identity(dim_sizes: &[i64]) -> Self {
        IndexingMap::from_tensor_sizes(dim_exprs(dim_sizes.len()), dim_sizes, &[])
    }

    /// Returns the map of a scalar, which has no variables and no results.
    pub fn scalar() -> Self {
        IndexingMap::default()
    }

    /// Adds a constraint without simplification.
    #[must_use]
    pub fn with_constraint(mut self, expr: impl Into<Expr>, bounds: Interval) -> Self {
        self.constraints.push(Constraint::new(expr, bounds));
        self
    }

    /// Returns the results at a point. The point may be outside of the domain.
    pub fn evaluate(&self, dims: &[i64], ranges: &[i64], runtime: &[i64]) -> Vec<i64> {
        self.results.iter().map(|result| result.eval(dims, ranges, runtime)).collect()
    }

    /// Whether a point belongs to the domain: every variable is within its bounds, and every
    /// constraint holds. `false` for a point with too few or too many coordinates.
    pub fn contains_point(&self, dims: &[i64], ranges: &[i64], runtime: &[i64]) -> bool {
        let within = |variables: &[Variable], values: &[i64]| {
            variables.len() == values.len() && variables.iter().zip(values).all(|(v, &x)| v.bounds.contains(x))
        };
        within(&self.dims, dims)
            && within(&self.ranges, ranges)
            && within(&self.runtime, runtime)
            && self.constraints.iter().all(|c| c.bounds.contains(c.expr.eval(dims, ranges, runtime)))
    }

    /// Number of nodes of all results and constraints, as a measure of the size of the generated
    /// code.
    pub fn node_count(&self) -> usize {
        let constraints = self.constraints.iter().map(|c| &c.expr);
        self.results.iter().chain(constraints).map(|expr| expr.size() as usize).sum()
    }

    /// Whether the map sends every point to itself: result `i` is dimension `i` for all dimensions,
    /// and there are no constraints.
    pub fn is_identity(&self) -> bool {
        self.constraints.is_empty()
            && self.results.len() == self.dims.len()
            && self.results.iter().enumerate().all(|(i, r)| *r.kind() == ExprKind::Dim(i as u32))
    }

    /// Returns the first variable that occurs in an expression although the map does not declare
    /// it. A map that comes from outside of fusebox must pass this check.
    /// [`parse`](IndexingMap::parse) includes the check.
    pub fn undeclared_variable(&self) -> Option<Expr> {
        let mut missing = None;
        let mut check = |leaf: &ExprKind| {
            let known = leaf.pick(&self.dims, &self.ranges, &self.runtime).is_some();
            if !known && !matches!(leaf, ExprKind::Constant(_)) && missing.is_none() {
                missing = Some(Expr::new(leaf.clone()));
            }
        };
        for expr in self.results.iter().chain(self.constraints.iter().map(|c| &c.expr)) {
            expr.visit_leaves(&mut check);
        }
        missing
    }
}

/// Returns the expressions `d0, …, d<count-1>`.
pub fn dim_exprs(count: usize) -> Vec<Expr> {
    (0..count as u32).map(Expr::dim).collect()
}

/// Returns the row-major position of an element. The position is the sum of `index[i]` times the
/// product of all later sizes, for all dimensions `i`.
pub fn linearize(index: &[Expr], sizes: &[i64]) -> Expr {
    index.iter().zip(sizes).fold(Expr::constant(0), |sum, (i, &size)| sum * size + i.clone())
}

/// Returns the index of the element at a row-major position. `delinearize` is the inverse of
/// [`linearize`] for positions within the shape.
pub fn delinearize(position: &Expr, sizes: &[i64]) -> Vec<Expr> {
    let mut stride = 1i64;
    let mut index: Vec<Expr> = Vec::with_capacity(sizes.len());
    for (i, &size) in sizes.iter().enumerate().rev() {
        let quotient = position.clone().floor_div(stride.max(1));
        index.push(match (size, i) {
            (1, _) => Expr::constant(0),
            _ if sizes[..i].iter().all(|&outer| outer == 1) => quotient,
            _ => quotient.modulo(size.max(1)),
        });
        stride = stride.saturating_mul(size);
    }
    index.reverse();
    index
}
