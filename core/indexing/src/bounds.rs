//! Bounds of the variables of maps.

use super::expr::ExprKind;
use super::{Constraint, IndexingMap, Interval};

/// Bounds of variables: an interval for each variable, and facts about expressions.
///
/// A variable without an entry can have any value.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Bounds of `d0, d1, …`.
    pub dims: Vec<Interval>,
    /// Bounds of `s0, s1, …`.
    pub ranges: Vec<Interval>,
    /// Bounds of `rt0, rt1, …`.
    pub runtime: Vec<Interval>,
    /// Constraints that are known to hold.
    pub facts: Vec<Constraint>,
}

impl Bounds {
    /// Returns bounds of dimensions only.
    pub fn of_dims(dims: impl IntoIterator<Item = Interval>) -> Self {
        Bounds { dims: dims.into_iter().collect(), ..Bounds::default() }
    }

    /// Returns the bounds of a map's variables, and ignores the map's constraints.
    pub fn of_variables(map: &IndexingMap) -> Self {
        let bounds = |variables: &[super::Variable]| variables.iter().map(|v| v.bounds).collect();
        let (dims, ranges, runtime) = (bounds(&map.dims), bounds(&map.ranges), bounds(&map.runtime));
        Bounds { dims, ranges, runtime, facts: Vec::new() }
    }

    /// Returns the bounds of a map's variables, with the map's constraints as facts. The returned
    /// bounds hold at all points of the map's domain.
    pub fn of_domain(map: &IndexingMap) -> Self {
        let mut bounds = Bounds::of_variables(map);
        for constraint in &map.constraints {
            bounds.assume(constraint.clone());
        }
        bounds
    }

    /// Adds a fact. A fact about a single variable narrows the bounds of this variable.
    pub fn assume(&mut self, fact: Constraint) {
        let (list, index) = match fact.expr.kind() {
            ExprKind::Dim(i) => (&mut self.dims, *i as usize),
            ExprKind::Range(i) => (&mut self.ranges, *i as usize),
            ExprKind::Runtime(i) => (&mut self.runtime, *i as usize),
            _ => return self.facts.push(fact),
        };
        match list.get_mut(index) {
            Some(bounds) => *bounds = bounds.intersect(fact.bounds),
            None => self.facts.push(fact),
        }
    }

    /// Returns the bounds of a leaf expression.
    pub(super) fn leaf(&self, leaf: &ExprKind) -> Interval {
        match leaf {
            ExprKind::Constant(value) => Interval::point(*value),
            leaf => leaf.pick(&self.dims, &self.ranges, &self.runtime).copied().unwrap_or(Interval::ALL),
        }
    }
}
