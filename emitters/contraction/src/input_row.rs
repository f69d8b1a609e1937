//! Rows of a convolution's input, with zeros where the window leaves the input. A row holds the
//! elements that output positions along one dimension need. The elements under the window have a
//! constant stride in a row, so that the kernel multiplies them without packing.

use fusebox_core::hlo::{ElementType, InstrId};
use fusebox_core::indexing::{Expr, IndexingMap};

use crate::convolution::{Geometry, out, variable};
use crate::operand::Operand;
use crate::operand_runs::{BoundsCondition, OperandRuns, PositionStep};

/// A builder of input rows. The caller sets the coordinates one after another: first the
/// coordinates of lines, then the coordinates of steps.
pub struct InputRowBuilder<'a> {
    geometry: &'a Geometry,
    /// Window dimension along which a row extends.
    axis: usize,
    /// Expressions of the coordinates that are set so far.
    pub point: Vec<Expr>,
    /// Sizes of the variables: the batch, coordinates of the line, coordinates of the step.
    sizes: Vec<i64>,
    lines: usize,
}

/// A row of the input. `place` is a position in the row, relative to the first element that the
/// row's first output position needs. If `inner` is set, the positions and the elements at each
/// position form one run of steps. If `inner` is `None`, the position and the element at this
/// position are the last two coordinates of a step.
pub struct InputRow {
    /// The first output position.
    pub first: Expr,
    pub place: Expr,
    /// Number of elements at each position, if the row is one run.
    pub inner: Option<i64>,
    /// Whether a row may extend beyond the elements that the output positions need.
    pub may_stick_out: bool,
}

impl<'a> InputRowBuilder<'a> {
    /// Creates a builder for `batches` batches.
    pub fn new(geometry: &'a Geometry, axis: usize, batches: i64) -> Self {
        InputRowBuilder { geometry, axis, point: geometry.constants(), sizes: vec![batches], lines: 0 }
    }

    /// Adds a variable with `size` values.
    pub fn variable(&mut self, size: i64) -> Expr {
        self.sizes.push(size);
        variable(self.sizes.len() - 1)
    }

    /// Sets a coordinate to a new variable.
    pub fn set(&mut self, coordinate: usize) {
        self.point[coordinate] = self.variable(self.geometry.sizes[coordinate]);
    }

    /// Marks the end of the coordinates of lines. All variables that the caller adds after this
    /// call are coordinates of steps.
    pub fn begin_steps(&mut self) {
        self.lines = self.sizes.len() - 1;
    }

    /// Returns the rows as an operand. The variables that the caller added are the coordinates of
    /// the operand's lines and steps.
    pub fn finish(mut self, row: &InputRow, instruction: InstrId, element: ElementType) -> Operand {
        self.point[out(self.axis)] = row.first.clone();
        let of_point = |expr: &Expr| expr.substitute(&self.point, &[], &[]);
        let mut index: Vec<Expr> = self.geometry.input.iter().map(of_point).collect();
        let over = |results: Vec<Expr>| IndexingMap::from_tensor_sizes(results, &self.sizes, &[]).simplify();
        let mut conditions = Vec::new();
        for (number, it) in self.geometry.places.iter().enumerate() {
            let is_axis = number == self.axis;
            let mut position = of_point(&it.at);
            if is_axis {
                position = position + row.place.clone();
                index[it.input] = position.clone().floor_div(it.base_dilation);
            }
            if it.is_always_there && !(is_axis && row.may_stick_out) {
                continue;
            }
            let along = row.inner.filter(|_| is_axis).map(|after| PositionStep { by: 1, after });
            conditions.push(BoundsCondition {
                place: over(vec![position]),
                extent: it.extent,
                dilation: it.base_dilation,
                along,
            });
        }
        let (lines, steps) = self.sizes[1..].split_at(self.lines);
        let runs =
            OperandRuns { lines: lines.to_vec(), steps: steps.to_vec(), are_steps: true, at: over(index), conditions };
        Operand {
            instruction,
            element,
            at: runs.over_lines_and_steps(),
            runs_along_steps: true,
            steps_are_adjacent: false,
            is_in_parts: false,
            rows_of: None,
            runs: Some(runs),
        }
    }
}
