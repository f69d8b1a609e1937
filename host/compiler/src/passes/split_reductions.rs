//! Divides reductions into two steps. A kernel with few results may not keep the device busy, so
//! the first step reduces several parts of each result. The emitter that claims a reduction states
//! the parts that it wants. The pass divides a reduction if the saved time exceeds the time of a
//! second kernel.
//!
//! ```text
//! r = reduce(x[n], init)    =>    p = reduce(reshape x[parts, n / parts], identity) over the minor dimension
//!                                 r = reduce(p[parts], init)
//! ```
//!
//! An emitter can also leave whole dimensions to the second step, for example short rows.
//!
//! ```text
//! r = reduce(x[a, b, c], init) over a, c    =>    p = reduce(x, identity) over a
//!                                                 r = reduce(p[b, c], init) over c
//! ```
//!
//! The parts and their order depend on shapes and device alone, so the result is the same in every
//! run. If the combiner's identity is unknown, both steps use the initial value, as in XLA. HLO
//! does not specify how often the initial value is combined.

use std::collections::BTreeSet;

use fusebox_core::cost::{arithmetic_bytes, first_array, is_heavy, steps};
use fusebox_core::emitter::Parts;
use fusebox_core::hlo::{
    ArrayLiteral, ArrayShape, Combiner, Computation, ComputationId, InstrId, Instruction, Module, Op,
};
use fusebox_edit::{Builder, Rewrite, rewrite};

use crate::CompileError;
use crate::fuse::Claims;
use crate::roles::{Role, in_role};

/// If the kernel only reads the elements, each part must have at least this many elements for the
/// split to pay off. Each part bears a fraction of the time of a second launch.
const LEAST_PART: i64 = 1 << 14;
/// Least number of elements of a reduction that is split. One thread reads this many elements in
/// about the time of two launches.
const LEAST_SPLIT: i64 = 1 << 16;
/// Largest number of elements that a reduction or a product may combine in order to be fused into
/// another reduction. The arithmetic of the fused operation then counts as arithmetic per element
/// of the reduction into which it is fused. Longer reductions and products are separate kernels.
const MOST_STEPS: f64 = 8.0;
/// The cost estimate of a reduction includes at most this many of the instructions before the
/// reduction.
const MOST_IN_FRONT: usize = 256;

/// Splits the reductions in all computations that thunks execute.
pub fn run(module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
    for sequence in in_role(module, Role::Sequence) {
        let old = module.computation(sequence);
        if old.instructions.iter().any(|i| matches!(i.op, Op::Reduce { .. })) {
            let users = old.users();
            rewrite(module, sequence, |edit, id, instruction| {
                Ok::<_, CompileError>(split(edit, &users, claims, id, instruction))
            })?;
        }
    }
    Ok(())
}

/// Returns the two steps that replace a reduction, if it is to be split.
fn split(
    edit: &mut Rewrite,
    users: &[Vec<InstrId>],
    claims: &mut Claims,
    id: InstrId,
    instruction: &Instruction,
) -> Option<InstrId> {
    let Op::Reduce { dimensions, to_apply } = &instruction.op else { return None };
    let old = edit.old();
    let wanted = claims.parts(edit.module(), old, id)?;
    let shape = old.instruction(instruction.operands[0]).shape.as_array()?;
    let identity = identity(edit.module(), *to_apply, instruction.operands.len() / 2);
    let work = work_per_element(old, users, instruction, shape, wanted.arithmetic);
    let parts = parts(shape, dimensions, work, &wanted);
    let split = parts.and_then(|parts| ReductionSplit::of(shape, dimensions, parts, identity.is_some()));
    let split = ReductionSplit::with_second(split, dimensions, &wanted.second)?;
    let operands = edit.operands(instruction);
    Some(split.write(edit, &operands, *to_apply, identity))
}

/// Returns the combiner's identity, if it is known. The identity is never known for a reduction of
/// several operands.
fn identity(module: &Module, combiner: ComputationId, operands: usize) -> Option<ArrayLiteral> {
    if operands == 1 { Combiner::of(module.computation(combiner))?.identity() } else { None }
}

/// Returns the time to compute and reduce one element, as a multiple of the time to read an
/// element. While a kernel reads one element, it can do the amount `hidden` of arithmetic, as
/// `arithmetic_bytes` counts it. The time includes only operations that the reduction's loop would
/// compute, because only the reduction uses their results.
fn work_per_element(
    computation: &Computation,
    users: &[Vec<InstrId>],
    reduction: &Instruction,
    shape: &ArrayShape,
    hidden: f64,
) -> f64 {
    let mut inside: BTreeSet<usize> = BTreeSet::new();
    let mut open: BTreeSet<usize> = reduction.operands.iter().map(|id| id.index()).collect();
    let mut bytes = 0.0;
    // Visits instructions in reverse order, so that all users of an instruction are decided first.
    while let Some(at) = open.pop_last().filter(|_| inside.len() < MOST_IN_FRONT) {
        let instruction = &computation.instructions[at];
        let is_ours =
            |user: &InstrId| inside.contains(&user.index()) || std::ptr::eq(computation.instruction(*user), reduction);
        let is_long = is_heavy(&instruction.op) && steps(computation, instruction) > MOST_STEPS;
        if !instruction.op.is_elemental() || is_long || !users[at].iter().all(is_ours) {
            continue;
        }
        inside.insert(at);
        let elements = first_array(instruction).map_or(0, ArrayShape::element_count);
        bytes += elements as f64 * arithmetic_bytes(computation, instruction) as f64;
        open.extend(instruction.operands.iter().map(|id| id.index()));
    }
    (bytes / (hidden * shape.element_count().max(1) as f64)).max(1.0)
}

/// Returns the number of parts into which to split the elements of each result. `None` if splitting
/// does not pay off. Processing an element takes `work` times as long as reading it.
fn parts(shape: &ArrayShape, reduced: &[i64], work: f64, wanted: &Parts) -> Option<i64> {
    let per_result = reduced.iter().map(|&d| shape.dims[d as usize]).fold(1, i64::saturating_mul);
    let least = ((LEAST_PART as f64 / work) as i64 / wanted.together).max(1);
    if shape.element_count() < (LEAST_SPLIT as f64 / work) as i64 {
        return None;
    }
    let parts = wanted.count.min(per_result / least);
    (parts > 1).then_some(parts)
}

/// How the pass divides the dimensions of a reduction between the two steps.
#[derive(Clone)]
struct ReductionSplit {
    /// Reduced dimensions that the first step keeps whole, so that only the second step reduces
    /// them.
    whole: Vec<i64>,
    /// The dimension that is cut into `parts` of `length`, if any. The last part is padded.
    cut: Option<DimensionSplit>,
    reduced: Vec<i64>,
}

#[derive(Clone, Copy)]
struct DimensionSplit {
    dimension: i64,
    parts: i64,
    length: i64,
    padding: i64,
}

impl ReductionSplit {
    /// Keeps whole dimensions for the second step, beginning with the most major one, while the
    /// product of their sizes is at most the wanted number of parts. Then cuts the next dimension
    /// into parts.
    fn of(shape: &ArrayShape, reduced: &[i64], wanted: i64, may_pad: bool) -> Option<ReductionSplit> {
        let mut reduced = reduced.to_vec();
        reduced.sort_unstable();
        let mut whole = Vec::new();
        let mut left = wanted;
        for &dimension in &reduced {
            let size = shape.dims[dimension as usize];
            if size > left {
                let cut = DimensionSplit::of(dimension, size, left, may_pad);
                let is_split = cut.is_some() || !whole.is_empty();
                return is_split.then_some(ReductionSplit { whole, cut, reduced });
            }
            left /= size.max(1);
            whole.push(dimension);
        }
        None
    }

    /// Leaves the dimensions in `second` to the second step, unless the first step would then have
    /// nothing to reduce. The first step has nothing to reduce if it keeps all dimensions that are
    /// not in `second`, or if it cuts a dimension in `second`.
    fn with_second(split: Option<ReductionSplit>, reduced: &[i64], second: &[i64]) -> Option<ReductionSplit> {
        let mut divided = split.clone().unwrap_or_else(|| ReductionSplit::of_nothing(reduced));
        let is_of_others = |d: i64| !second.contains(&d) && !divided.whole.contains(&d);
        let has_others = reduced.iter().any(|&d| is_of_others(d));
        if second.is_empty() || !has_others || divided.cut.is_some_and(|cut| !is_of_others(cut.dimension)) {
            return split;
        }
        divided.whole.extend(second);
        Some(divided)
    }

    /// Returns a split whose first step reduces all dimensions.
    fn of_nothing(reduced: &[i64]) -> ReductionSplit {
        let mut reduced = reduced.to_vec();
        reduced.sort_unstable();
        ReductionSplit { whole: Vec::new(), cut: None, reduced }
    }

    /// Adds the two reductions. The operands are arrays, followed by their initial values.
    fn write(
        &self,
        edit: &mut Builder,
        operands: &[InstrId],
        combiner: ComputationId,
        identity: Option<ArrayLiteral>,
    ) -> InstrId {
        let (arrays, initial) = operands.split_at(operands.len() / 2);
        let neutral = match identity {
            Some(literal) => vec![edit.constant(literal)],
            None => initial.to_vec(),
        };
        let arrays = arrays.iter().zip(&neutral);
        let arrays: Vec<InstrId> = arrays.map(|(&array, &neutral)| self.in_parts(edit, array, neutral)).collect();
        let dimensions: Vec<i64> = self.reduced.iter().filter_map(|&d| self.first_step_dimension(d)).collect();
        let partial = edit.reduce(&arrays, &neutral, &dimensions, combiner);
        let partials = edit.elements(partial);
        let dimensions = self.partial_dimensions(edit.dims(partials[0]).len());
        edit.reduce(&partials, initial, &dimensions, combiner)
    }

    /// Returns the array with the cut dimension split in two.
    fn in_parts(&self, edit: &mut Builder, array: InstrId, neutral: InstrId) -> InstrId {
        let Some(cut) = self.cut else { return array };
        let at = cut.dimension as usize;
        let padded = edit.pad_along(array, neutral, at, 0, cut.padding);
        let mut dims = edit.dims(padded);
        dims.splice(at..=at, [cut.parts, cut.length]);
        edit.reshape(padded, &dims)
    }

    /// Returns the number that a dimension has after the cut dimension is split in two. `None` if
    /// the first step does not reduce the dimension.
    fn first_step_dimension(&self, dimension: i64) -> Option<i64> {
        match self.cut {
            _ if self.whole.contains(&dimension) => None,
            Some(cut) => Some(dimension + i64::from(dimension >= cut.dimension)),
            None => Some(dimension),
        }
    }

    /// Returns the dimensions that the second step reduces, among the `rank` dimensions of the
    /// first step's result.
    fn partial_dimensions(&self, rank: usize) -> Vec<i64> {
        let is_left = |d: &i64| self.whole.contains(d) || self.cut.is_some_and(|cut| cut.dimension == *d);
        let gone_before = |d: i64| self.reduced.iter().filter(|r| **r < d && !is_left(r)).count() as i64;
        let left = self.reduced.iter().filter(|d| is_left(d)).map(|&d| d - gone_before(d));
        left.filter(|&d| d < rank as i64).collect()
    }
}

impl DimensionSplit {
    /// Cuts a dimension into a number of parts that divides its size and is close to `wanted`. If
    /// no number of parts close to `wanted` divides the size, and `may_pad` holds, pads the
    /// dimension.
    fn of(dimension: i64, size: i64, wanted: i64, may_pad: bool) -> Option<DimensionSplit> {
        if wanted < 2 {
            return None;
        }
        let fewer_first = ((wanted / 2).max(2)..=wanted).rev().chain(wanted..=4 * wanted);
        if let Some(parts) = fewer_first.into_iter().find(|parts| size % parts == 0) {
            return Some(DimensionSplit { dimension, parts, length: size / parts, padding: 0 });
        }
        let length = (size + wanted - 1) / wanted;
        may_pad.then(|| DimensionSplit { dimension, parts: wanted, length, padding: wanted * length - size })
    }
}
