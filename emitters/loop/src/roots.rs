//! The results of a fusion, grouped by dimensions and by common operands. One loop body computes a
//! group.

use std::collections::HashSet;

use fusebox_core::emitter::{Analysis, Decline, Fusion};
use fusebox_core::hlo::{ArrayShape, InstrId, Op, Shape};
use fusebox_core::launch::worth_sharing;

use crate::accept::check;

/// The results of a supported fusion.
pub struct LoopResults {
    /// Groups of results, in the order in which their dimensions first occur.
    pub groups: Vec<RootGroup>,
}

impl Analysis for LoopResults {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        check(fusion)?;
        Ok(LoopResults { groups: groups(fusion) })
    }
}

/// A group of roots that have equal dimensions and common operands.
#[derive(Clone)]
pub struct RootGroup {
    /// Dimensions of the roots.
    pub dims: Vec<i64>,
    /// Instructions that the kernel should compute or read only once for all roots: all
    /// instructions that the roots need, except scalars, constants, iotas and broadcasts.
    pub needs: HashSet<InstrId>,
    /// The roots, without duplicates.
    pub instructions: Vec<InstrId>,
    /// Pairs `(output, result)`. `output` is the number of an output of the kernel, and `result` is
    /// the position of the output's value in the list of all leaves of `instructions`. A root that
    /// occurs twice has two outputs and one value.
    pub outputs: Vec<(usize, usize)>,
}

impl RootGroup {
    /// Returns the number of points.
    pub fn element_count(&self) -> i64 {
        self.dims.iter().fold(1i64, |n, &d| n.saturating_mul(d))
    }

    /// Whether the group's loop should also compute results that need the instructions `needs`. A
    /// group and results belong in one loop if they need a common instruction, or if one of the two
    /// sets of needed instructions is empty. For unrelated results, separate loops are better than
    /// one loop, because each loop reads fewer arrays.
    pub fn goes_with(&self, needs: &HashSet<InstrId>) -> bool {
        self.needs.is_empty() || needs.is_empty() || !self.needs.is_disjoint(needs)
    }
}

fn groups(fusion: &Fusion) -> Vec<RootGroup> {
    let computation = fusion.computation();
    let mut groups: Vec<RootGroup> = Vec::new();
    let mut output = 0;
    for &root in &fusion.roots {
        let leaves = leaf_arrays(&computation.instruction(root).shape);
        let Some(dims) = leaves.first().map(|leaf| leaf.dims.clone()) else { continue };
        let needs = worth_sharing(computation, root);
        let number =
            groups.iter().position(|group| group.dims == dims && group.goes_with(&needs)).unwrap_or(groups.len());
        if number == groups.len() {
            groups.push(RootGroup { dims, needs: HashSet::new(), instructions: Vec::new(), outputs: Vec::new() });
        }
        let group = &mut groups[number];
        group.needs.extend(needs);
        let known = group.instructions.iter().position(|&known| known == root);
        let before = &group.instructions[..known.unwrap_or(group.instructions.len())];
        let first_result: usize = before.iter().map(|&id| leaf_arrays(&computation.instruction(id).shape).len()).sum();
        for leaf in 0..leaves.len() {
            group.outputs.push((output, first_result + leaf));
            output += 1;
        }
        if known.is_none() {
            group.instructions.push(root);
        }
    }
    groups
}

/// Whether every instruction of a group is elementwise, so that all values have the same index and
/// the dimensions may be merged.
pub fn is_elementwise(fusion: &Fusion, group: &RootGroup) -> bool {
    let computation = fusion.computation();
    let dims = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| &array.dims);
    let Some(root_dims) = group.instructions.first().and_then(|&id| dims(id)) else { return false };
    let (mut needed, mut pending) = (HashSet::new(), group.instructions.clone());
    while let Some(id) = pending.pop() {
        if needed.insert(id) {
            pending.extend(&computation.instruction(id).operands);
        }
    }
    needed.into_iter().all(|id| {
        let instruction = computation.instruction(id);
        let scalar = dims(id).is_some_and(|dims| dims.is_empty());
        let same = dims(id) == Some(root_dims);
        match &instruction.op {
            Op::Parameter { .. } | Op::Constant(_) => scalar || same,
            Op::Broadcast { dimensions } => dimensions.is_empty() && same,
            op if op.is_elementwise() => scalar || same,
            Op::BitcastConvert => {
                (scalar || same) && instruction.operands.iter().all(|&operand| dims(operand) == dims(id))
            }
            Op::Tuple => id == computation.root,
            _ => false,
        }
    })
}

fn leaf_arrays(shape: &Shape) -> Vec<&ArrayShape> {
    shape.leaves().into_iter().filter_map(Shape::as_array).collect()
}
