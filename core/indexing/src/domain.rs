//! Enumerates the points of a domain.

use std::ops::ControlFlow;

use super::{IndexingMap, Program, Variable};

/// A point of a domain and its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point<'a> {
    /// Values of the dimensions.
    pub dims: &'a [i64],
    /// Values of the range variables.
    pub ranges: &'a [i64],
    /// Values of the runtime variables.
    pub runtime: &'a [i64],
    /// The results at this point.
    pub results: &'a [i64],
}

impl IndexingMap {
    /// Number of points within the bounds of the variables, at most `u64::MAX`. Ignores
    /// constraints.
    pub fn box_size(&self) -> u64 {
        self.variables().fold(1u64, |count, v| count.saturating_mul(v.bounds.size()))
    }

    /// Number of points that one launch visits within the bounds of the variables, at most
    /// `u64::MAX`. In a launch, each runtime variable has a single value.
    pub fn box_size_of_launch(&self) -> u64 {
        self.dims.iter().chain(&self.ranges).fold(1u64, |count, v| count.saturating_mul(v.bounds.size()))
    }

    /// Number of points of the domain. If the map has constraints, the function enumerates the
    /// points. Returns `None` if the enumeration would take more than `limit` steps.
    pub fn point_count(&self, limit: u64) -> Option<u64> {
        if self.is_known_empty() {
            return Some(0);
        }
        if self.constraints.is_empty() {
            return Some(self.box_size());
        }
        if self.box_size() > limit {
            return None;
        }
        let mut count = 0;
        let _ = self.for_each_point(|_| {
            count += 1;
            ControlFlow::Continue(())
        });
        Some(count)
    }

    /// Visits the points of the domain in order until `visit` breaks. The last variable changes
    /// fastest. Runtime variables come after range variables. Takes time proportional to
    /// [`box_size`](IndexingMap::box_size).
    pub fn for_each_point(&self, mut visit: impl FnMut(Point<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        if self.is_known_empty() {
            return ControlFlow::Continue(());
        }
        let mut evaluator = Evaluator::new(self);
        let bounds: Vec<_> = self.variables().map(|v| v.bounds).collect();
        let mut values: Vec<i64> = bounds.iter().map(|b| b.lower).collect();
        loop {
            if let Some(point) = evaluator.at(&values) {
                visit(point)?;
            }
            let Some(i) = (0..values.len()).rev().find(|&i| values[i] < bounds[i].upper) else {
                return ControlFlow::Continue(());
            };
            values[i] += 1;
            for (value, bound) in values.iter_mut().zip(&bounds).skip(i + 1) {
                *value = bound.lower;
            }
        }
    }

    /// Returns all variables: dimensions, range variables, runtime variables.
    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.dims.iter().chain(&self.ranges).chain(&self.runtime)
    }
}

/// A map compiled for evaluation at many points.
pub(super) struct Evaluator<'m> {
    map: &'m IndexingMap,
    program: Program,
    values: Vec<i64>,
}

impl<'m> Evaluator<'m> {
    pub(super) fn new(map: &'m IndexingMap) -> Self {
        let constraints = map.constraints.iter().map(|c| &c.expr);
        let exprs: Vec<_> = map.results.iter().chain(constraints).cloned().collect();
        Evaluator { map, program: Program::new(&exprs), values: vec![0; exprs.len()] }
    }

    /// Returns the point with these values of all variables, if the constraints hold. Does not
    /// check bounds.
    pub(super) fn at<'v>(&'v mut self, variables: &'v [i64]) -> Option<Point<'v>> {
        let (dims, rest) = variables.split_at(self.map.dims.len());
        let (ranges, runtime) = rest.split_at(self.map.ranges.len());
        self.program.run(dims, ranges, runtime, &mut self.values);
        let (results, constraints) = self.values.split_at(self.map.results.len());
        let holds = self.map.constraints.iter().zip(constraints).all(|(c, &value)| c.bounds.contains(value));
        holds.then_some(Point { dims, ranges, runtime, results })
    }
}
