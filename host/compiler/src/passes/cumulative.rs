//! Splits a cumulative reduction (a `reduce-window` whose window reaches to the edge) into blocks,
//! so that the work is linear instead of quadratic. Does not split a reduction that an emitter
//! claims. Uses long blocks if an emitter claims the reduction of such blocks.
//!
//! ```text
//! x[n]  =>  s[m, b] = cumulative reductions within blocks of b elements
//!           e[m]    = combination of all earlier blocks: cumulative over block totals, shifted by one
//!           r[n]    = combiner(e, s)
//! ```
//!
//! Blelloch, "Prefix sums and their applications" (1990). If the combiner's identity is unknown,
//! the initial value is combined more than once. XLA does this too, and HLO does not specify how
//! often the initial value is combined.

use fusebox_core::analysis::{Direction, cumulative};
use fusebox_core::hlo::{
    ArrayShape, Computation, ComputationId, ElementType, InstrId, Instruction, Literal, Module, Op, PaddingDim, Shape,
    SliceDim, Window, WindowDim,
};

use super::identity::identity_of;
use crate::CompileError;
use crate::fuse::Claims;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Elements per block. Each result reads at most this many elements.
const BLOCK: i64 = 16;
/// Elements per block if an emitter computes the cumulative reduction of a block in one pass.
const LONG_BLOCK: i64 = 1024;
/// Windows up to this size are not split.
const SHORT: i64 = 2 * BLOCK;

/// Splits the long cumulative reductions in all computations that thunks execute.
pub fn run(module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
    for sequence in in_role(module, Role::Sequence) {
        let old = module.computation(sequence);
        if !old.instructions.iter().any(|i| matches!(i.op, Op::ReduceWindow { .. })) {
            continue;
        }
        let new = Rebuild::each(old, |rebuild, _, instruction| {
            Ok::<_, CompileError>(rewrite(rebuild, claims, module, old, instruction))
        })?;
        module.computations[sequence.index()] = new;
    }
    Ok(())
}

fn rewrite(
    rebuild: &mut Rebuild,
    claims: &mut Claims,
    module: &Module,
    old: &Computation,
    instruction: &Instruction,
) -> Option<InstrId> {
    let Op::ReduceWindow { window, to_apply } = &instruction.op else { return None };
    let [operand, initial] = instruction.operands[..] else { return None };
    let shape = old.instruction(operand).shape.as_array()?;
    let (dimension, direction) = cumulative(window, &shape.dims)?;
    let shapes = [operand, initial].map(|id| old.instruction(id).shape.clone());
    if shape.dims[dimension] <= SHORT || claims.is_claimed(module, instruction, &shapes) {
        return None;
    }
    let (value, initial) = (rebuild.mapped(operand), rebuild.mapped(initial));
    let identity = identity_of(module.computation(*to_apply));
    let to_apply = *to_apply;
    let mut scan =
        Scan { rebuild, claims, module, origin: instruction, to_apply, dimension, direction, neutral: initial };
    let Some(identity) = identity else { return Some(scan.inclusive(value)) };
    let element = Shape::array(identity.element_type, Vec::new());
    scan.neutral = scan.add(Op::Constant(Literal::Array(identity)), element, Vec::new());
    let scanned = scan.inclusive(value);
    Some(scan.with_initial_value(scanned, initial))
}

/// A split cumulative reduction under construction.
struct Scan<'r, 'o, 'i, 'c> {
    rebuild: &'r mut Rebuild<'o>,
    claims: &'r mut Claims<'c>,
    module: &'i Module,
    origin: &'i Instruction,
    to_apply: ComputationId,
    dimension: usize,
    direction: Direction,
    /// Value of the padding and initial value of the windows.
    neutral: InstrId,
}

impl Scan<'_, '_, '_, '_> {
    /// Computes the inclusive scan: element k combines the elements up to and including k
    /// (backward: from k on).
    fn inclusive(&mut self, value: InstrId) -> InstrId {
        let (element_type, dims) = self.shape_of(value);
        let size = dims[self.dimension];
        if size <= SHORT || self.is_claimed(element_type, &dims, self.dimension) {
            return self.windows(value, self.dimension, size);
        }
        let in_blocks = |block: i64| self.with_dims(&dims, &[(size + block - 1) / block, block]);
        let is_long = size > LONG_BLOCK && {
            let blocked = in_blocks(LONG_BLOCK);
            self.is_claimed(element_type, &blocked, self.dimension + 1)
        };
        let block = if is_long { LONG_BLOCK } else { BLOCK };
        let blocks = (size + block - 1) / block;
        let filled = self.padded(value, 0, blocks * block - size);
        let spread = self.with_dims(&dims, &[blocks, block]);
        let blocked = self.reshape(filled, element_type, spread.clone());
        let within = self.windows(blocked, self.dimension + 1, block);
        let before = self.before_each_block(within, element_type, &dims, [blocks, block]);
        let dimensions = (0..spread.len() as i64).filter(|&d| d != self.dimension as i64 + 1).collect();
        let before = self.add(Op::Broadcast { dimensions }, Shape::array(element_type, spread.clone()), vec![before]);
        let combined = self.combine(before, within, Shape::array(element_type, spread));
        let joined = self.reshape(combined, element_type, self.with_dims(&dims, &[blocks * block]));
        self.first(joined, element_type, &dims)
    }

    /// Combines, for each block, all blocks before it (backward: all blocks after it).
    fn before_each_block(
        &mut self,
        within: InstrId,
        ty: ElementType,
        dims: &[i64],
        [blocks, block]: [i64; 2],
    ) -> InstrId {
        let total = match self.direction {
            Direction::Forward => block - 1,
            Direction::Backward => 0,
        };
        let whole = self.with_dims(dims, &[blocks, block]);
        let mut slices: Vec<SliceDim> = whole.iter().map(|&limit| SliceDim { start: 0, limit, stride: 1 }).collect();
        slices[self.dimension + 1] = SliceDim { start: total, limit: total + 1, stride: 1 };
        let totals = Shape::array(ty, self.with_dims(dims, &[blocks, 1]));
        let totals = self.add(Op::Slice { dims: slices }, totals, vec![within]);
        let totals = self.reshape(totals, ty, self.with_dims(dims, &[blocks]));
        let (low, high) = match self.direction {
            Direction::Forward => (1, -1),
            Direction::Backward => (-1, 1),
        };
        let moved = self.padded(totals, low, high);
        self.inclusive(moved)
    }

    /// Computes the cumulative reduction along a dimension with one window of that size.
    fn windows(&mut self, value: InstrId, dimension: usize, size: i64) -> InstrId {
        let shape = self.rebuild.instruction(value).shape.clone();
        let dims = self.shape_of(value).1;
        self.add(self.window(dims.len(), dimension, size), shape, vec![value, self.neutral])
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

    /// Whether an emitter claims the cumulative reduction of an array along a dimension.
    fn is_claimed(&mut self, element_type: ElementType, dims: &[i64], dimension: usize) -> bool {
        let op = self.window(dims.len(), dimension, dims[dimension]);
        let shapes = [Shape::array(element_type, dims.to_vec()), Shape::array(element_type, Vec::new())];
        let instruction = Instruction::new(self.origin.name.clone(), shapes[0].clone(), op, Vec::new());
        self.claims.is_claimed(self.module, &instruction, &shapes)
    }

    fn combine(&mut self, before: InstrId, value: InstrId, shape: Shape) -> InstrId {
        let rank = shape.as_array().map_or(0, ArrayShape::rank) as i64;
        let operands = match self.direction {
            Direction::Forward => vec![before, value],
            Direction::Backward => vec![value, before],
        };
        self.add(Op::Map { dimensions: (0..rank).collect(), to_apply: self.to_apply }, shape, operands)
    }

    /// Combines the initial value with each result once, unless the initial value is the identity.
    fn with_initial_value(&mut self, scanned: InstrId, initial: InstrId) -> InstrId {
        let is_identity = self.rebuild.instruction(initial).op == self.rebuild.instruction(self.neutral).op;
        if is_identity || self.is_zero_of_a_sum(initial) {
            return scanned;
        }
        let shape = self.rebuild.instruction(scanned).shape.clone();
        let spread = self.add(Op::Broadcast { dimensions: Vec::new() }, shape.clone(), vec![initial]);
        self.combine(spread, scanned, shape)
    }

    /// Whether the initial value is +0 and the identity is the float −0. They differ only in sums
    /// that consist of −0 alone.
    fn is_zero_of_a_sum(&self, initial: InstrId) -> bool {
        let bytes = |id: InstrId| match &self.rebuild.instruction(id).op {
            Op::Constant(literal) => literal.as_array().map(|array| array.data.to_vec()),
            _ => None,
        };
        let (Some(initial), Some(mut neutral)) = (bytes(initial), bytes(self.neutral)) else { return false };
        if let Some(last) = neutral.last_mut() {
            *last &= 0x7f;
        }
        initial.iter().all(|&byte| byte == 0) && neutral.iter().all(|&byte| byte == 0)
    }

    fn padded(&mut self, value: InstrId, low: i64, high: i64) -> InstrId {
        if (low, high) == (0, 0) {
            return value;
        }
        let (element_type, mut dims) = self.shape_of(value);
        let mut padding = vec![PaddingDim { low: 0, high: 0, interior: 0 }; dims.len()];
        padding[self.dimension] = PaddingDim { low, high, interior: 0 };
        dims[self.dimension] += low + high;
        self.add(Op::Pad { dims: padding }, Shape::array(element_type, dims), vec![value, self.neutral])
    }

    fn reshape(&mut self, value: InstrId, element_type: ElementType, dims: Vec<i64>) -> InstrId {
        self.add(Op::Reshape, Shape::array(element_type, dims), vec![value])
    }

    /// Returns a slice with the first `dims[d]` elements of each dimension `d`.
    fn first(&mut self, value: InstrId, element_type: ElementType, dims: &[i64]) -> InstrId {
        if self.shape_of(value).1 == dims {
            return value;
        }
        let slices = dims.iter().map(|&limit| SliceDim { start: 0, limit, stride: 1 }).collect();
        self.add(Op::Slice { dims: slices }, Shape::array(element_type, dims.to_vec()), vec![value])
    }

    /// Replaces the scanned dimension of `dims` by `others`.
    fn with_dims(&self, dims: &[i64], others: &[i64]) -> Vec<i64> {
        [&dims[..self.dimension], others, &dims[self.dimension + 1..]].concat()
    }

    fn shape_of(&self, value: InstrId) -> (ElementType, Vec<i64>) {
        match self.rebuild.instruction(value).shape.as_array() {
            Some(array) => (array.element_type, array.dims.clone()),
            None => (ElementType::F32, Vec::new()),
        }
    }

    fn add(&mut self, op: Op, shape: Shape, operands: Vec<InstrId>) -> InstrId {
        let mut instruction = Instruction::new(format!("{}.scan", self.origin.name), shape, op, operands);
        instruction.span = self.origin.span;
        self.rebuild.push(instruction)
    }
}
