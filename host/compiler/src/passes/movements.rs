//! Merges consecutive reshapes, broadcasts and transposes.
//!
//! ```text
//! reshape(reshape x)            reshape x
//! reshape(broadcast scalar)     broadcast scalar
//! broadcast(broadcast x)        broadcast x
//! broadcast(reshape x)          broadcast x             if the reshape only inserts dimensions of one element
//! transpose(transpose x)        transpose x
//! transpose x                   reshape x               if only dimensions of one element move
//! reduce(transpose x)           transpose(reduce x)     the new transpose is smaller, or vanishes
//! ```

use fusebox_core::hlo::{InstrId, Instruction, Module, Op};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;

/// Applies the merging rules in all computations, to operands before their users.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in module.ids() {
        rewrite(module, id, |edit, _, instruction| {
            Ok::<_, CompileError>(match &instruction.op {
                Op::Reshape => reshape(edit, instruction),
                Op::Broadcast { dimensions } => broadcast(edit, instruction, dimensions),
                Op::Transpose { permutation } => transpose(edit, instruction, permutation),
                Op::Reduce { dimensions, .. } => reduce(edit, instruction, dimensions),
                _ => None,
            })
        })?;
    }
    Ok(())
}

fn reshape(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let before = edit.instruction(edit.mapped(instruction.operands[0]));
    let source = *before.operands.first()?;
    let dims = &instruction.shape.as_array()?.dims;
    match &before.op {
        Op::Reshape => Some(edit.reshape(source, dims)),
        Op::Broadcast { dimensions } if dimensions.is_empty() => Some(edit.spread(source, dims)),
        _ => None,
    }
}

fn broadcast(edit: &mut Rewrite, instruction: &Instruction, dimensions: &[i64]) -> Option<InstrId> {
    let operand = edit.instruction(edit.mapped(instruction.operands[0]));
    let source = *operand.operands.first()?;
    let dimensions: Vec<i64> = match &operand.op {
        Op::Broadcast { dimensions: inner } => inner.iter().map(|&d| dimensions[d as usize]).collect(),
        Op::Reshape => {
            let (from, to) = (edit.array(source)?, operand.shape.as_array()?);
            let real = (0..to.rank()).filter(|&d| to.dims[d] != 1);
            let is_insertion = from.dims.iter().copied().eq(real.clone().map(|d| to.dims[d]));
            if is_insertion { real.map(|d| dimensions[d]).collect() } else { return None }
        }
        _ => return None,
    };
    Some(edit.broadcast(source, &instruction.shape.as_array()?.dims, &dimensions))
}

fn transpose(edit: &mut Rewrite, instruction: &Instruction, permutation: &[i64]) -> Option<InstrId> {
    let mut source = edit.mapped(instruction.operands[0]);
    let mut permutation = permutation.to_vec();
    let operand = edit.instruction(source);
    let is_chain = matches!(operand.op, Op::Transpose { .. });
    if let Op::Transpose { permutation: inner } = &operand.op {
        permutation.iter_mut().for_each(|d| *d = inner[*d as usize]);
        source = operand.operands[0];
    }
    let from = edit.array(source)?;
    if permutation.is_sorted() {
        return Some(source);
    }
    let real: Vec<i64> = permutation.iter().copied().filter(|&d| from.dims[d as usize] != 1).collect();
    match () {
        () if real.is_sorted() => Some(edit.reshape(source, &instruction.shape.as_array()?.dims)),
        () if is_chain => Some(edit.transpose(source, &permutation)),
        () => None,
    }
}

/// Reduces before the transpose, so that the transposed array is smaller.
fn reduce(edit: &mut Rewrite, instruction: &Instruction, dimensions: &[i64]) -> Option<InstrId> {
    let Op::Reduce { to_apply, .. } = instruction.op else { return None };
    let mut operands = edit.operands(instruction);
    let (arrays, initial) = operands.split_at_mut(instruction.operands.len() / 2);
    let Op::Transpose { permutation } = edit.instruction(arrays[0]).op.clone() else { return None };
    for array in arrays.iter_mut() {
        let transpose = edit.instruction(*array);
        if !matches!(&transpose.op, Op::Transpose { permutation: other } if *other == permutation) {
            return None;
        }
        *array = transpose.operands[0];
    }
    let mut reduced: Vec<i64> = dimensions.iter().map(|&d| permutation[d as usize]).collect();
    reduced.sort_unstable();
    let wanted: Vec<i64> = permutation.iter().copied().filter(|d| !reduced.contains(d)).collect();
    let mut order = wanted.clone();
    order.sort_unstable();
    if wanted != order && arrays.len() > 1 {
        return None;
    }
    let permutation: Vec<i64> =
        wanted.iter().filter_map(|d| order.iter().position(|other| other == d)).map(|p| p as i64).collect();
    let sum = edit.reduce(arrays, initial, &reduced, to_apply);
    Some(edit.transpose(sum, &permutation))
}
