//! The part of a scan's computation that does not depend on the order of the loops.
//!
//! ```text
//! before = base = the initial value
//! for chunk of the steps
//!   for step of the chunk
//!     within = the element at the chunk's first step, else within combined with the element
//!     result = before combined with within
//!   group = within in the group's first chunk, else group combined with within
//!   before = base combined with group; at the end of a group: base = before
//! ```

use fusebox_core::analysis::Direction;
use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Subgraph, Value};
use fusebox_core::emitter::{EmitError, Kernel, Task};

use crate::plan::{self, CHUNK};
use crate::problem::Scan;

/// The scan and the functions that the kernel calls.
pub struct ScanBody<'a> {
    pub scan: &'a Scan,
    /// Type of the combined elements.
    pub element_type: Scalar,
    operand: Subgraph,
    initial: Subgraph,
    combiner: Subgraph,
    /// One epilogue function for each group of roots.
    epilogues: Vec<Subgraph>,
}

/// Position of an element: `[outer, step, inner]`.
pub type Point = [Value; 3];

/// The combined values of the elements that precede a chunk in its line.
#[derive(Clone, Copy)]
pub struct PrefixValues {
    /// Combination of the line's elements before the group that contains the chunk.
    pub base: Value,
    /// Combination of the group's elements before the chunk. The value is unspecified if the chunk
    /// is the first of its group.
    pub group: Value,
    /// Combination of `base` and `group`.
    pub before: Value,
}

impl PrefixValues {
    /// Applies `change` to each value.
    pub fn each(self, mut change: impl FnMut(Value) -> Value) -> PrefixValues {
        PrefixValues { base: change(self.base), group: change(self.group), before: change(self.before) }
    }

    /// Applies `change` to each value and its counterpart in `other`.
    pub fn with(self, other: PrefixValues, mut change: impl FnMut(Value, Value) -> Value) -> PrefixValues {
        PrefixValues {
            base: change(self.base, other.base),
            group: change(self.group, other.group),
            before: change(self.before, other.before),
        }
    }
}

/// A range of steps. The kernel combines the steps of a chunk with each other before it combines
/// the chunk with earlier steps.
pub struct StepChunk {
    pub first: Value,
    /// The step after the last step of the chunk.
    pub end: Value,
    starts_group: Value,
    ends_group: Value,
}

impl<'a> ScanBody<'a> {
    /// Builds the kernel. `loops` builds the loops of a block and returns the outputs after the
    /// loops.
    ///
    /// # Errors
    /// If the kernel cannot be built.
    pub fn kernel(
        task: &'a Task<Scan>,
        loops: impl FnOnce(&ScanBody<'a>, &mut FunctionBuilder, Value, &[Value]) -> Vec<Value>,
    ) -> Result<Kernel, EmitError> {
        let scan = task.problem;
        let mut kernel = KernelBuilder::new(task.fusion);
        let body = ScanBody {
            scan,
            element_type: Scalar::of_element(scan.element),
            operand: kernel.values(&[scan.operand]),
            initial: kernel.values(&[scan.initial]),
            combiner: kernel.combiner(scan.hero),
            epilogues: scan.roots.iter().map(|it| kernel.epilogue(&it.instructions, &[scan.hero])).collect(),
        };
        let (block, outputs) = (kernel.block(), kernel.outputs().to_vec());
        let written = loops(&body, &mut kernel, block, &outputs);
        kernel.finish(&written)
    }

    /// Returns the scan's initial value, with which every line begins.
    pub fn initial(&self, b: &mut FunctionBuilder) -> Value {
        b.call_subgraph(&self.initial, &[], &[])[0]
    }

    pub fn element(&self, b: &mut FunctionBuilder, point: Point) -> Value {
        let index = b.apply_indexing(&self.scan.at, &point);
        b.call_subgraph(&self.operand, &index, &[])[0]
    }

    /// Combines an earlier and a later value of the scan. The left operand of the combiner is the
    /// value that is first in memory.
    pub fn combined(&self, b: &mut FunctionBuilder, earlier: Value, later: Value) -> Value {
        let operands = match self.scan.direction {
            Direction::Forward => [earlier, later],
            Direction::Backward => [later, earlier],
        };
        b.call_subgraph(&self.combiner, &[], &operands)[0]
    }

    /// Returns the combination of the chunk's elements up to the element at a point, and the result
    /// at this point.
    pub fn combinations(
        &self,
        b: &mut FunctionBuilder,
        point: Point,
        is_first: Value,
        before: Value,
        within: Value,
    ) -> [Value; 2] {
        let element = self.element(b, point);
        let next = self.combined(b, within, element);
        let within = b.select(is_first, element, next);
        [within, self.combined(b, before, within)]
    }

    /// Returns the combinations of the line's elements up to the end of a chunk. `so_far` are the
    /// combinations before the chunk.
    pub fn behind(
        &self,
        b: &mut FunctionBuilder,
        chunk: &StepChunk,
        within: Value,
        so_far: PrefixValues,
    ) -> PrefixValues {
        let longer = self.combined(b, so_far.group, within);
        let group = b.select(chunk.starts_group, within, longer);
        let before = self.combined(b, so_far.base, group);
        PrefixValues { base: b.select(chunk.ends_group, before, so_far.base), group, before }
    }

    /// Writes the results of the epilogues for the scan's element at a point.
    pub fn write(&self, b: &mut FunctionBuilder, point: Point, value: Value, outputs: &[Value]) -> Vec<Value> {
        let mut outputs = outputs.to_vec();
        for (roots, epilogue) in self.scan.roots.iter().zip(&self.epilogues) {
            let index = b.apply_indexing(&roots.at, &point);
            let results = b.call_subgraph(epilogue, &index, &[value]);
            for (&output, result) in roots.outputs.iter().zip(results) {
                outputs[output] = b.insert(result, outputs[output], &index);
            }
        }
        outputs
    }

    /// Builds the loop over all chunks.
    pub fn chunks(
        &self,
        b: &mut FunctionBuilder,
        state: &[Value],
        body: impl FnOnce(&mut FunctionBuilder, &StepChunk, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let (zero, steps, chunk) = (b.index(0), b.index(self.scan.sizes.steps), b.index(CHUNK));
        let group = b.index(plan::group(self.scan.sizes.steps));
        b.scf_for(zero, steps, chunk, state, |b, first, state| {
            let end = b.addi(first, chunk);
            let end = if self.scan.sizes.steps % CHUNK == 0 { end } else { b.minsi(end, steps) };
            let [starts_group, ends_group] = [first, end].map(|step| {
                let beyond = b.remui(step, group);
                b.cmpi(IntPredicate::Eq, beyond, zero)
            });
            body(b, &StepChunk { first, end, starts_group, ends_group }, state)
        })
    }
}
