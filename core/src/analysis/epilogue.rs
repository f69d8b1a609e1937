//! Analyses the operations between a hero and its root.

use crate::hlo::{Computation, InstrId, Instruction, Op};
use crate::indexing::{IndexingMap, delinearize, dim_exprs, linearize};

/// Whether element n of the result depends only on element n of each operand that is not a scalar.
/// Elements are counted in row-major order. An epilogue may contain only operations for which
/// `keeps_positions` returns true.
pub fn keeps_positions(computation: &Computation, instruction: &Instruction) -> bool {
    let Some(result) = instruction.shape.as_array() else {
        return matches!(instruction.op, Op::GetTupleElement { .. });
    };
    let operand_matches = |id: &InstrId| {
        let operand = computation.instruction(*id).shape.as_array();
        operand.is_some_and(|operand| operand.rank() == 0 || operand.dims == result.dims)
    };
    match &instruction.op {
        Op::Copy | Op::GetTupleElement { .. } => true,
        op if op.is_reshape() => true,
        Op::BitcastConvert => instruction.operands.iter().all(operand_matches),
        // A transpose that moves only dimensions of size 1 keeps positions.
        Op::Transpose { .. } => !moves_elements(instruction),
        op => op.is_elementwise() && instruction.operands.iter().all(operand_matches),
    }
}

/// Whether an instruction is a transpose that changes the order of any two dimensions larger than
/// 1.
pub fn moves_elements(instruction: &Instruction) -> bool {
    let (Op::Transpose { permutation }, Some(array)) = (&instruction.op, instruction.shape.as_array()) else {
        return false;
    };
    let real = permutation.iter().zip(&array.dims).filter(|(_, size)| **size > 1);
    !real.map(|(dim, _)| dim).is_sorted()
}

/// Whether [`keeps_positions`] holds for all operations that depend on `hero`. The check includes
/// operations that lead to results other than `root`, because the kernel uses the hero's value in
/// the epilogues of these results too.
pub(in crate::analysis) fn users_stay_elementwise(computation: &Computation, hero: InstrId, root: InstrId) -> bool {
    let users = computation.users();
    let mut reached = vec![false; computation.instructions.len()];
    reached[hero.index()] = true;
    for id in computation.ids().filter(|id| *id > hero) {
        let instruction = computation.instruction(id);
        if !instruction.operands.iter().any(|operand| reached[operand.index()]) {
            continue;
        }
        reached[id.index()] = true;
        if !matches!(instruction.op, Op::Tuple) && !keeps_positions(computation, instruction) {
            return false;
        }
    }
    reached[root.index()] && (hero == root || !users[hero.index()].is_empty())
}

/// Returns the map from an index in `hero` to the index in `root` that has the same position in
/// row-major order. Returns `None` if the element counts differ.
pub fn hero_to_root(hero: &Instruction, root: &Instruction) -> Option<IndexingMap> {
    let dims_of = |instruction: &Instruction| {
        let leaf = instruction.shape.leaves().into_iter().next().and_then(|leaf| leaf.as_array().cloned());
        leaf.map(|array| array.dims)
    };
    let (from, to) = (dims_of(hero)?, dims_of(root)?);
    if from == to {
        return Some(IndexingMap::identity(&from));
    }
    if from.iter().product::<i64>() != to.iter().product::<i64>() {
        return None;
    }
    let position = linearize(&dim_exprs(from.len()), &from);
    Some(IndexingMap::from_tensor_sizes(delinearize(&position, &to), &from, &[]).simplify())
}
