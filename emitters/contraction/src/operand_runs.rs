//! Contiguous runs of an operand whose lines and steps are not in memory order, or include padding.

use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, ceil_div, delinearize};

use crate::divisor::common_divisor;

/// Cost of starting a run, and of starting a piece of a run, in [additions](fusebox_core::cost).
const PER_RUN: f64 = 40.0;
const PER_PIECE: f64 = 8.0;

/// The coordinates into which an operand's lines and steps are split.
#[derive(Debug)]
pub struct OperandRuns {
    /// Sizes of the coordinates of a line, outermost first.
    pub lines: Vec<i64>,
    /// Sizes of the coordinates of a step, outermost first.
    pub steps: Vec<i64>,
    /// Whether the last coordinate of the steps, not of the lines, is contiguous in memory.
    pub are_steps: bool,
    /// Map from `(batch, coordinates of the line, coordinates of the step)` to the operand's index.
    pub at: IndexingMap,
    /// Conditions for an element to be inside the operand. If any condition fails for an element,
    /// the element is 0.
    pub conditions: Vec<BoundsCondition>,
}

/// A condition for a position to be inside the operand: `0 <= place < extent`, and `place` is a
/// multiple of the dilation.
#[derive(Debug)]
pub struct BoundsCondition {
    /// Map from the arguments of [`OperandRuns::at`] to the position.
    pub place: IndexingMap,
    pub extent: i64,
    pub dilation: i64,
    /// Change of `place` along a run, or `None` if `place` is constant.
    pub along: Option<PositionStep>,
}

/// Change of a place along a run: the place grows by `by` after every `after` positions.
#[derive(Clone, Copy, Debug)]
pub struct PositionStep {
    pub by: i64,
    pub after: i64,
}

impl BoundsCondition {
    /// Whether some positions of a run lie between elements of a dilated operand.
    pub fn has_holes_along_run(&self) -> bool {
        self.dilation > 1 && self.along.is_some()
    }
}

impl OperandRuns {
    /// Returns the map from `(batch, line, step)` to the operand's index, constrained to elements
    /// inside the operand.
    pub fn over_lines_and_steps(&self) -> IndexingMap {
        let point =
            [vec![Expr::dim(0)], delinearize(&Expr::dim(1), &self.lines), delinearize(&Expr::dim(2), &self.steps)]
                .concat();
        let of_point = |expr: &Expr| expr.substitute(&point, &[], &[]);
        let count = |sizes: &[i64]| sizes.iter().fold(1, |n: i64, &size| n.saturating_mul(size));
        let batches = self.at.dims.first().map_or(1, |batch| batch.bounds.size() as i64);
        let sizes = [batches, count(&self.lines), count(&self.steps)];
        let mut map = IndexingMap::from_tensor_sizes(self.at.results.iter().map(of_point).collect(), &sizes, &[]);
        for condition in &self.conditions {
            let place = condition.place.results.first().map_or_else(|| Expr::constant(0), of_point);
            map.constraints.push(Constraint::new(place.clone(), Interval::from_size(condition.extent)));
            if condition.dilation > 1 {
                map.constraints.push(Constraint::new(place.modulo(condition.dilation), Interval::point(0)));
            }
        }
        map.simplify()
    }

    /// Returns the number of elements of a run.
    pub fn run_size(&self) -> i64 {
        let sizes = if self.are_steps { &self.steps } else { &self.lines };
        sizes.last().copied().unwrap_or(1)
    }

    /// Returns the overhead of copying `elements` elements run by run, in
    /// [additions](fusebox_core::cost). `together` elements are contiguous in the destination.
    pub fn overhead(&self, elements: f64, together: i64) -> f64 {
        let run = self.run_size();
        let pieces = if self.are_steps { 0.0 } else { elements / common_divisor(together, run) as f64 };
        elements / run as f64 * PER_RUN + pieces * PER_PIECE
    }

    /// Returns the number of steps per chunk, at most `most`. A chunk of the returned size contains
    /// whole runs, or a run consists of whole chunks. If a run has more than `most` steps and would
    /// consist of chunks shorter than a quarter of `most`, returns `most`.
    pub fn even_steps(&self, steps: i64, most: i64) -> i64 {
        let run = if self.are_steps { self.run_size() } else { 1 };
        if run <= most {
            let runs = ceil_div(steps, run);
            return ceil_div(runs, ceil_div(runs, most / run)) * run;
        }
        (1..=most).rev().find(|piece| run % piece == 0).filter(|&piece| piece * 4 >= most).unwrap_or(most)
    }
}
