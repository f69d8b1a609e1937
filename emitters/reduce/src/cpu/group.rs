//! A group while its part of the kernel is written.

use fusebox_core::analysis::ReductionProblem;
use fusebox_core::builder::{FunctionBuilder, Value};

use super::accumulate::Accumulators;
use super::tiling::{Share, Tiling};
use crate::body::{Body, Starts, write};

/// What every point needs.
pub struct Group<'b, 'g> {
    pub problem: ReductionProblem,
    pub body: &'b Body<'g>,
    pub accumulators: Accumulators<'b, 'g>,
    pub starts: Starts,
    /// Accumulators that nothing was combined with.
    pub start: Vec<Value>,
}

impl<'b, 'g> Group<'b, 'g> {
    fn new(b: &mut FunctionBuilder, body: &'b Body<'g>) -> Self {
        let accumulators = Accumulators::new(body);
        let starts = body.starts(b);
        let start = accumulators.start(b, &starts);
        Group { problem: body.group().problem, body, accumulators, starts, start }
    }

    /// Writes what one block does.
    pub fn block(
        b: &mut FunctionBuilder,
        body: &'b Body<'g>,
        tiling: &Tiling,
        block: Value,
        outputs: &[Value],
    ) -> Vec<Value> {
        let group = Group::new(b, body);
        match &tiling.share {
            Share::Rows(share) => group.rows(b, block, *share, outputs),
            Share::Columns(columns) => group.columns(b, block, columns, outputs),
        }
    }

    /// Accumulators and outputs after the element at a point.
    pub fn absorb(
        &self,
        b: &mut FunctionBuilder,
        point: &[Value],
        held: &[Value],
        outputs: &[Value],
    ) -> (Vec<Value>, Vec<Value>) {
        let visited = self.body.visit(b, point);
        let held = self.accumulators.absorb(b, held, &visited.elements);
        (held, write(b, &visited.sides, outputs))
    }
}
