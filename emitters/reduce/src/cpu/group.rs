//! State for building a group's part of the kernel.

use fusebox_core::analysis::ReductionProblem;
use fusebox_core::builder::{FunctionBuilder, Value};

use super::accumulate::Accumulators;
use super::tiling::{BlockWork, Tiling};
use crate::body::{ReductionBody, StartValues, write};

/// A group with its accumulators and start values.
pub struct GroupKernel<'b, 'g> {
    pub problem: ReductionProblem,
    pub body: &'b ReductionBody<'g>,
    pub accumulators: Accumulators<'b, 'g>,
    pub starts: StartValues,
    /// Accumulators before the first element.
    pub start: Vec<Value>,
    /// Initial accumulators of a partial result.
    pub empty: Vec<Value>,
    /// Whether the computation of the elements contains functions such as `exp`.
    pub holds_functions: bool,
}

impl<'b, 'g> GroupKernel<'b, 'g> {
    fn new(b: &mut FunctionBuilder, body: &'b ReductionBody<'g>, holds_functions: bool) -> Self {
        let accumulators = Accumulators::new(body);
        let starts = body.starts(b);
        let start = accumulators.start(b, &starts);
        let empty = accumulators.empty(b, &start);
        GroupKernel { problem: body.group().problem, body, accumulators, starts, start, empty, holds_functions }
    }

    /// Emits the code of one block.
    pub fn block(
        b: &mut FunctionBuilder,
        body: &'b ReductionBody<'g>,
        tiling: &Tiling,
        block: Value,
        outputs: &[Value],
    ) -> Vec<Value> {
        let group = GroupKernel::new(b, body, tiling.holds_functions);
        match &tiling.work {
            BlockWork::Rows(rows_per_block) => group.rows(b, block, *rows_per_block, outputs),
            BlockWork::Columns(columns) => group.columns(b, block, columns, outputs),
        }
    }

    /// Combines accumulators with the element at a point. Returns the new accumulators and the
    /// outputs.
    pub fn absorb(
        &self,
        b: &mut FunctionBuilder,
        point: &[Value],
        held: &[Value],
        outputs: &[Value],
    ) -> (Vec<Value>, Vec<Value>) {
        let (others, outputs) = self.visit(b, point, outputs);
        (self.accumulators.merge(b, held, &others), outputs)
    }

    /// Returns accumulators that hold only the element at a point, and the outputs.
    pub fn visit(&self, b: &mut FunctionBuilder, point: &[Value], outputs: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let visited = self.body.visit(b, point);
        let others = self.accumulators.of_elements(b, &visited.elements);
        (others, write(b, &visited.sides, outputs))
    }
}
