//! `ragged-dot`: rows along the ragged dimension belong to groups, and each group has its own
//! matrix.
//!
//! If the ragged dimension is free, the expansion multiplies all rows with the matrices of all
//! groups, and keeps for each row the product with the matrix of the row's group. If the ragged
//! dimension is contracted, the expansion repeats the operands for each group, with zeros for the
//! elements of other groups.

use fusebox_core::hlo::{BinaryOp, Comparison, DotDims, ElementType, InstrId, Instruction, Op};
use fusebox_edit::Builder;

use super::product;
use crate::CompileError;

/// Element type of the starts and ends of the groups' row ranges.
const BOUND: ElementType = ElementType::S64;

/// A `ragged-dot` under expansion.
struct RaggedDot<'a> {
    dims: &'a DotDims,
    lhs: InstrId,
    rhs: InstrId,
    /// Sizes of the groups (`[groups]` or `[batch…, groups]`).
    sizes: InstrId,
    /// Element type of the result.
    ty: ElementType,
}

/// Adds the expansion. The operands are the left side, the right side, and the sizes of the groups
/// (`[groups]` or `[batch…, groups]`). The result has the element type `ty`.
pub fn expand(
    edit: &mut Builder,
    instruction: &Instruction,
    [lhs, rhs, sizes]: [InstrId; 3],
    ty: ElementType,
) -> Result<InstrId, CompileError> {
    let module = edit.module();
    let refused = |why: &str| CompileError::at(module, instruction, why);
    let (dims, ragged, group) = match &instruction.op {
        Op::RaggedDot { dims, lhs_ragged_dims, rhs_group_dims } if lhs_ragged_dims.len() == 1 => {
            (dims, lhs_ragged_dims[0], rhs_group_dims.first().copied())
        }
        _ => return Err(refused("ragged-dot has one ragged dimension")),
    };
    let it = RaggedDot { dims, lhs, rhs, sizes, ty };
    let rank = edit.dims(sizes).len();
    if let Some(at) = dims.lhs_contracting.iter().position(|&dim| dim == ragged) {
        if !dims.lhs_batch.is_empty() || dims.lhs_contracting.len() != 1 || rank != 1 {
            return Err(refused("ragged-dot with a ragged contracting dimension and further ones is not supported"));
        }
        return Ok(it.contracted(edit, ragged, at));
    }
    // If the ragged dimension is a batch dimension, the batches already separate the groups.
    let Some(group) = group else { return Ok(product(edit, dims, ty, [lhs, rhs])) };
    let Some((row, group)) = it.places(edit, ragged, group) else {
        return Err(refused("the ragged dimension of ragged-dot is no free one"));
    };
    if rank != 1 && rank != dims.lhs_batch.len() + 1 {
        return Err(refused("the group sizes of ragged-dot have neither one dimension nor the batch's"));
    }
    Ok(it.rows(edit, ragged, row, group))
}

impl RaggedDot<'_> {
    /// Returns two dimensions of the product of all rows with all matrices. The first returned
    /// dimension corresponds to the ragged dimension of the left operand, the second to the group
    /// dimension of the right operand.
    fn places(&self, edit: &Builder, ragged: i64, group: i64) -> Option<(usize, usize)> {
        let free = |operand: InstrId, batch: &[i64], contracting: &[i64]| -> Vec<i64> {
            let all = 0..edit.dims(operand).len() as i64;
            all.filter(|dim| !batch.contains(dim) && !contracting.contains(dim)).collect()
        };
        let left = free(self.lhs, &self.dims.lhs_batch, &self.dims.lhs_contracting);
        let right = free(self.rhs, &self.dims.rhs_batch, &self.dims.rhs_contracting);
        let place = |list: &[i64], dim: i64| list.iter().position(|&it| it == dim);
        let batch = self.dims.lhs_batch.len();
        Some((batch + place(&left, ragged)?, batch + left.len() + place(&right, group)?))
    }

    /// Multiplies all rows with the matrices of all groups, and keeps for each row the product with
    /// the matrix of the row's group. `row` and `group` are dimensions of the product of all rows
    /// with all matrices.
    fn rows(&self, edit: &mut Builder, ragged: i64, row: usize, group: usize) -> InstrId {
        let products = product(edit, self.dims, self.ty, [self.lhs, self.rhs]);
        let (all, rank) = (edit.dims(products), edit.dims(self.sizes).len() as i64);
        let of_sizes: Vec<i64> = (0..rank - 1).chain([group as i64]).collect();
        let bounds = self.bounds(edit, ragged);
        let is_in = is_in(edit, bounds, &all, row, &of_sizes);
        let nothing = edit.identity_of_sums(self.ty);
        let nothings = edit.spread(nothing, &all);
        let of_group = edit.select(is_in, products, nothings);
        let sum = edit.combiner(BinaryOp::Add, self.ty);
        let total = edit.reduce(&[of_group], &[nothing], &[group as i64], sum);
        let no = edit.scalar(ElementType::Pred, 0.0);
        let any = edit.combiner(BinaryOp::Or, ElementType::Pred);
        let has_group = edit.reduce(&[is_in], &[no], &[group as i64], any);
        let zeros = edit.filled_like(total, 0.0);
        edit.select(has_group, total, zeros)
    }

    /// Repeats the operands for each group. `at` is the position of the ragged dimension among the
    /// contracting dimensions.
    fn contracted(&self, edit: &mut Builder, ragged: i64, at: usize) -> InstrId {
        let groups = edit.dims(self.sizes);
        let bounds = self.bounds(edit, ragged);
        let mut of_groups = |operand: InstrId, contracting: &[i64]| {
            let dims = edit.dims(operand);
            let repeated = [&groups[..], &dims].concat();
            let is_in = is_in(edit, bounds, &repeated, 1 + contracting[at] as usize, &[0]);
            let own: Vec<i64> = (1..=dims.len() as i64).collect();
            let all = edit.broadcast(operand, &repeated, &own);
            let zeros = edit.filled_like(all, 0.0);
            edit.select(is_in, all, zeros)
        };
        let lhs = of_groups(self.lhs, &self.dims.lhs_contracting);
        let rhs = of_groups(self.rhs, &self.dims.rhs_contracting);
        let moved = |list: &[i64]| list.iter().map(|dim| dim + 1).collect();
        let dims = DotDims {
            lhs_batch: vec![0],
            rhs_batch: vec![0],
            lhs_contracting: moved(&self.dims.lhs_contracting),
            rhs_contracting: moved(&self.dims.rhs_contracting),
            ..self.dims.clone()
        };
        product(edit, &dims, self.ty, [lhs, rhs])
    }

    /// Adds instructions that compute the start and the end of each group's range of rows.
    fn bounds(&self, edit: &mut Builder, ragged: i64) -> [InstrId; 2] {
        let length = usize::try_from(ragged).ok().and_then(|at| edit.dims(self.lhs).get(at).copied()).unwrap_or(0);
        let dims = edit.dims(self.sizes);
        let last = dims.len().saturating_sub(1);
        let pairs = [&dims[..], &dims[last..]].concat();
        let zero = edit.integer(BOUND, 0);
        let length = edit.integer(BOUND, length);
        let (zeros, lengths) = (edit.spread(zero, &dims), edit.spread(length, &dims));
        let wide = edit.convert(self.sizes, BOUND);
        let positive = edit.binary(BinaryOp::Maximum, wide, zeros);
        let size = edit.binary(BinaryOp::Minimum, positive, lengths);
        let own: Vec<i64> = (0..dims.len() as i64).collect();
        let sizes = edit.broadcast(size, &pairs, &own);
        let (other, own) = (edit.iota(BOUND, &pairs, last), edit.iota(BOUND, &pairs, last + 1));
        let is_counted = edit.compare(Comparison::Le, other, own);
        let none = edit.spread(zero, &pairs);
        let before = edit.select(is_counted, sizes, none);
        let sum = edit.combiner(BinaryOp::Add, BOUND);
        let end = edit.reduce(&[before], &[zero], &[last as i64], sum);
        let start = edit.binary(BinaryOp::Subtract, end, size);
        [start, end]
    }
}

/// Adds a mask for an array with these sizes. The mask states, for each element, whether the
/// element's index along dimension `row` is in the row range of the element's group. Entry n of
/// `dims` is the dimension of the array that corresponds to dimension n of `bounds`.
fn is_in(edit: &mut Builder, bounds: [InstrId; 2], sizes: &[i64], row: usize, dims: &[i64]) -> InstrId {
    let [starts, ends] = bounds.map(|bound| edit.broadcast(bound, sizes, dims));
    let row = edit.iota(BOUND, sizes, row);
    let is_after = edit.compare(Comparison::Ge, row, starts);
    let is_before = edit.compare(Comparison::Lt, row, ends);
    edit.binary(BinaryOp::And, is_after, is_before)
}
