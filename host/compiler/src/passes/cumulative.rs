//! Splits a cumulative reduction (a `reduce-window` whose window reaches to the edge) into blocks,
//! so that the work is linear instead of quadratic. Does not split a reduction that an emitter
//! claims. The blocks are long if an emitter claims the cumulative reductions within long blocks,
//! and short otherwise.
//!
//! ```text
//! x[n]  =>  s[m, b] = cumulative reductions within blocks of b elements
//!           e[m]    = combination of all earlier blocks: cumulative over block totals, shifted by one
//!           r[n]    = combiner(e, s)
//! ```
//!
//! Blelloch, "Prefix sums and their applications" (1990). If the combiner's identity is unknown,
//! the initial value is combined more than once. XLA combines the initial value more than once,
//! too, and HLO does not specify how often the initial value is combined.

use fusebox_core::analysis::{Direction, cumulative};
use fusebox_core::hlo::{Combiner, ComputationId, InstrId, Instruction, Module, Op, Window, WindowDim};
use fusebox_edit::{Builder, Rewrite, detached_instruction, resized, rewrite};

use crate::CompileError;
use crate::fuse::Claims;
use crate::roles::{Role, in_role};

/// Number of elements of a short block. The pass uses short blocks if no emitter claims the
/// cumulative reductions within long blocks. A kernel that computes the results of a block one by
/// one reads at most this many elements for each result.
const BLOCK: i64 = 16;
/// Number of elements of a long block. The pass uses long blocks if an emitter claims the
/// cumulative reductions within long blocks. The pass asks emitters only about blocks of this size;
/// if no emitter claims such a block, the pass uses short blocks.
const LONG_BLOCK: i64 = 1024;
/// Size of the largest window that is not split.
const SHORT: i64 = 2 * BLOCK;

/// Splits the long cumulative reductions in all computations that thunks execute.
pub fn run(module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
    for sequence in in_role(module, Role::Sequence) {
        if module.computation(sequence).instructions.iter().any(|i| matches!(i.op, Op::ReduceWindow { .. })) {
            rewrite(module, sequence, |edit, _, instruction| {
                Ok::<_, CompileError>(in_blocks(edit, claims, instruction))
            })?;
        }
    }
    Ok(())
}

fn in_blocks(edit: &mut Rewrite, claims: &mut Claims, instruction: &Instruction) -> Option<InstrId> {
    let Op::ReduceWindow { window, to_apply } = &instruction.op else { return None };
    let [operand, initial] = instruction.operands[..] else { return None };
    let (old, to_apply) = (edit.old(), *to_apply);
    let shape = old.instruction(operand).shape.as_array()?;
    let (dimension, direction) = cumulative(window, &shape.dims)?;
    let shapes = [operand, initial].map(|id| old.instruction(id).shape.clone());
    if shape.dims[dimension] <= SHORT || claims.is_claimed(edit.module(), instruction, &shapes) {
        return None;
    }
    let (value, initial) = (edit.mapped(operand), edit.mapped(initial));
    let identity = Combiner::of(edit.module().computation(to_apply)).and_then(Combiner::identity);
    let mut scan = Scan { edit, claims, to_apply, dimension, direction, neutral: initial };
    let Some(identity) = identity else { return Some(scan.inclusive(value)) };
    scan.neutral = scan.edit.constant(identity);
    let scanned = scan.inclusive(value);
    Some(scan.with_initial_value(scanned, initial))
}

/// A split cumulative reduction under construction.
struct Scan<'e, 'm, 'c> {
    edit: &'e mut Builder<'m>,
    claims: &'e mut Claims<'c>,
    to_apply: ComputationId,
    dimension: usize,
    direction: Direction,
    /// Value with which the pass pads the array, and with which each window starts.
    neutral: InstrId,
}

impl Scan<'_, '_, '_> {
    /// Computes the inclusive scan. Element k of the result combines the elements up to and
    /// including k (backward: from k on).
    fn inclusive(&mut self, value: InstrId) -> InstrId {
        let dims = self.edit.dims(value);
        let size = dims[self.dimension];
        if size <= SHORT || self.is_claimed(value, &dims, self.dimension) {
            return self.windows(value, self.dimension, size);
        }
        let in_blocks = |block: i64| self.with_dims(&dims, &[(size + block - 1) / block, block]);
        let is_long = size > LONG_BLOCK && {
            let blocked = in_blocks(LONG_BLOCK);
            self.is_claimed(value, &blocked, self.dimension + 1)
        };
        let block = if is_long { LONG_BLOCK } else { BLOCK };
        let blocks = (size + block - 1) / block;
        let filled = self.edit.pad_along(value, self.neutral, self.dimension, 0, blocks * block - size);
        let spread = self.with_dims(&dims, &[blocks, block]);
        let blocked = self.edit.reshape(filled, &spread);
        let within = self.windows(blocked, self.dimension + 1, block);
        let before = self.before_each_block(within, &dims, [blocks, block]);
        let dimensions: Vec<i64> = (0..spread.len() as i64).filter(|&d| d != self.dimension as i64 + 1).collect();
        let before = self.edit.broadcast(before, &spread, &dimensions);
        let combined = self.combine(before, within);
        let joined = self.edit.reshape(combined, &self.with_dims(&dims, &[blocks * block]));
        self.edit.slice_along(joined, self.dimension, 0, size)
    }

    /// For each block, combines the totals of all blocks before it (in a backward scan: of all
    /// blocks after it).
    fn before_each_block(&mut self, within: InstrId, dims: &[i64], [blocks, block]: [i64; 2]) -> InstrId {
        let (total, low, high) = match self.direction {
            Direction::Forward => (block - 1, 1, -1),
            Direction::Backward => (0, -1, 1),
        };
        let totals = self.edit.slice_along(within, self.dimension + 1, total, total + 1);
        let totals = self.edit.reshape(totals, &self.with_dims(dims, &[blocks]));
        let moved = self.edit.pad_along(totals, self.neutral, self.dimension, low, high);
        self.inclusive(moved)
    }

    /// Computes the cumulative reduction along a dimension with one window of size `size`.
    fn windows(&mut self, value: InstrId, dimension: usize, size: i64) -> InstrId {
        let rank = self.edit.dims(value).len();
        self.edit.add(self.window(rank, dimension, size), [value, self.neutral])
    }

    fn window(&self, rank: usize, dimension: usize, size: i64) -> Op {
        let mut window = Window { dims: vec![WindowDim::default(); rank] };
        let (padding_low, padding_high) = match self.direction {
            Direction::Forward => (size - 1, 0),
            Direction::Backward => (0, size - 1),
        };
        window.dims[dimension] = WindowDim { size, padding_low, padding_high, ..WindowDim::default() };
        Op::ReduceWindow { window, to_apply: self.to_apply }
    }

    /// Whether an emitter claims the cumulative reduction of an array along a dimension. The array
    /// has sizes `dims` and the element type of `value`.
    fn is_claimed(&mut self, value: InstrId, dims: &[i64], dimension: usize) -> bool {
        let op = self.window(dims.len(), dimension, dims[dimension]);
        let shapes = [dims, &[]].map(|dims| resized(self.edit.shape(value), dims));
        let instruction = detached_instruction(op, shapes[0].clone());
        self.claims.is_claimed(self.edit.module(), &instruction, &shapes)
    }

    fn combine(&mut self, before: InstrId, value: InstrId) -> InstrId {
        let operands = match self.direction {
            Direction::Forward => [before, value],
            Direction::Backward => [value, before],
        };
        self.edit.map(self.to_apply, &operands)
    }

    /// Combines the initial value with each result once, unless the initial value is the identity.
    fn with_initial_value(&mut self, scanned: InstrId, initial: InstrId) -> InstrId {
        let is_identity = self.edit.instruction(initial).op == self.edit.instruction(self.neutral).op;
        if is_identity || self.is_zero_of_a_sum(initial) {
            return scanned;
        }
        let dims = self.edit.dims(scanned);
        let spread = self.edit.spread(initial, &dims);
        self.combine(spread, scanned)
    }

    /// Whether the initial value is +0 and the identity is the float −0. As initial values, +0 and
    /// −0 lead to different results only for sums whose terms are all −0.
    fn is_zero_of_a_sum(&self, initial: InstrId) -> bool {
        let bytes = |id: InstrId| match &self.edit.instruction(id).op {
            Op::Constant(literal) => literal.as_array().map(|array| array.data.to_vec()),
            _ => None,
        };
        let (Some(initial), Some(mut neutral)) = (bytes(initial), bytes(self.neutral)) else { return false };
        if let Some(last) = neutral.last_mut() {
            *last &= 0x7f;
        }
        initial.iter().all(|&byte| byte == 0) && neutral.iter().all(|&byte| byte == 0)
    }

    /// Replaces the scanned dimension of `dims` by `others`.
    fn with_dims(&self, dims: &[i64], others: &[i64]) -> Vec<i64> {
        [&dims[..self.dimension], others, &dims[self.dimension + 1..]].concat()
    }
}
