//! Indexing maps and their variables.

use super::{Expr, ExprKind, Interval};

/// A variable of a map: its values, and its name for display.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// The values of the variable.
    pub bounds: Interval,
    /// Displayed instead of `d0`, `s0`, `rt0` if not empty (`th`, `bl`, …).
    pub name: String,
}

/// A condition on the points of a domain: `expr` is within `bounds`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constraint {
    /// Expression over the map's variables.
    pub expr: Expr,
    /// The values allowed.
    pub bounds: Interval,
}

/// A map `(dims)[ranges]{runtime} -> (results)`, on the domain given by bounds and constraints.
///
/// The caller that supplies the values of dimensions and runtime variables promises that they are
/// within their bounds. Nothing checks these bounds; [`simplify`](IndexingMap::simplify) relies on
/// them and never narrows them. The bounds of a range variable are the range of a loop;
/// simplification may narrow them. Constraints must be checked: points that violate one are
/// skipped.
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
    /// A variable with values `0..size`, without a name.
    pub fn from_size(size: i64) -> Self {
        Variable { bounds: Interval::from_size(size), name: String::new() }
    }

    /// A variable with values `0..size` and a name.
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
    /// The constraint that `expr` is within `bounds`.
    pub fn new(expr: impl Into<Expr>, bounds: Interval) -> Self {
        Constraint { expr: expr.into(), bounds }
    }
}

impl IndexingMap {
    /// A map to `results`, with dimensions and range variables that run from 0 to the given sizes.
    pub fn from_tensor_sizes(results: Vec<Expr>, dim_sizes: &[i64], range_sizes: &[i64]) -> Self {
        let from_sizes = |sizes: &[i64]| sizes.iter().map(|&size| Variable::from_size(size)).collect();
        IndexingMap { dims: from_sizes(dim_sizes), ranges: from_sizes(range_sizes), results, ..IndexingMap::default() }
    }

    /// The map `(d0, d1, …) -> (d0, d1, …)` over a shape.
    pub fn identity(dim_sizes: &[i64]) -> Self {
        IndexingMap::from_tensor_sizes(dim_exprs(dim_sizes.len()), dim_sizes, &[])
    }

    /// The map of a scalar: no variables, no results.
    pub fn scalar() -> Self {
        IndexingMap::default()
    }

    /// Adds a constraint without simplification.
    #[must_use]
    pub fn with_constraint(mut self, expr: impl Into<Expr>, bounds: Interval) -> Self {
        self.constraints.push(Constraint::new(expr, bounds));
        self
    }

    /// Returns the results at a point, even outside of the domain.
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

    /// Number of nodes of all results and constraints, as a measure of the resulting code.
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

    /// The first variable in an expression that the map does not declare. Every map from outside
    /// must pass this check ([`parse`](IndexingMap::parse) includes it).
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

/// `d0, …, d<count-1>`.
pub fn dim_exprs(count: usize) -> Vec<Expr> {
    (0..count as u32).map(Expr::dim).collect()
}

/// Row-major position of an element: `Σ index[i] · (size of the later dimensions)`.
pub fn linearize(index: &[Expr], sizes: &[i64]) -> Expr {
    index.iter().zip(sizes).fold(Expr::constant(0), |sum, (i, &size)| sum * size + i.clone())
}

/// The index of the element at a row-major position: the inverse of [`linearize`] for positions
/// within the shape.
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
