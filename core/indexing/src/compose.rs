//! Composition of maps.

use super::{Constraint, Expr, IndexingMap, Variable};

impl IndexingMap {
    /// Returns the map that applies `self`, and then applies `outer` to the results of `self`.
    ///
    /// The composed map has the dimensions of `self`. Its range and runtime variables are those of
    /// `self`, followed by those of `outer`. A point of the domain of `self` is in the domain of
    /// the composed map if `self` maps the point into the domain of `outer`. The function does not
    /// simplify the composed map. Returns `None` if `self` has more or fewer results than `outer`
    /// has dimensions.
    pub fn then(&self, outer: &IndexingMap) -> Option<IndexingMap> {
        if self.results.len() != outer.dims.len() {
            return None;
        }
        let ranges = shifted(&outer.ranges, self.ranges.len(), Expr::range);
        let runtime = shifted(&outer.runtime, self.runtime.len(), Expr::runtime);
        let mapped = outer.substituted(&self.results, &ranges, &runtime);
        let mut constraints = self.constraints.clone();
        for (result, dim) in self.results.iter().zip(&outer.dims) {
            constraints.push(Constraint { expr: result.clone(), bounds: dim.bounds });
        }
        constraints.extend(mapped.constraints);
        Some(IndexingMap {
            dims: self.dims.clone(),
            ranges: self.ranges.iter().chain(&outer.ranges).cloned().collect(),
            runtime: self.runtime.iter().chain(&outer.runtime).cloned().collect(),
            results: mapped.results,
            constraints,
        })
    }
}

/// Returns `outer ∘ inner`, simplified: applies `inner`, then `outer`. See [`IndexingMap::then`].
pub fn compose(outer: &IndexingMap, inner: &IndexingMap) -> Option<IndexingMap> {
    inner.then(outer).map(|map| map.simplify())
}

fn shifted(variables: &[Variable], by: usize, make: fn(u32) -> Expr) -> Vec<Expr> {
    (0..variables.len()).map(|i| make((i + by) as u32)).collect()
}
