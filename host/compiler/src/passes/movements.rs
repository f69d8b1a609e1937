//! Merges reshapes, broadcasts and transposes in a row.
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

use fusebox_core::hlo::{InstrId, Instruction, Module, Op, Shape};

use crate::CompileError;
use crate::rebuild::Rebuild;

/// Applies these rules in all computations, to operands before their users.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for computation in &mut module.computations {
        *computation = Rebuild::each(computation, |rebuild, _, instruction| {
            Ok::<_, CompileError>(match &instruction.op {
                Op::Reshape => reshape(rebuild, instruction),
                Op::Broadcast { dimensions } => broadcast(rebuild, instruction, dimensions),
                Op::Transpose { permutation } => transpose(rebuild, instruction, permutation),
                Op::Reduce { dimensions, .. } => reduce(rebuild, instruction, dimensions),
                _ => None,
            })
        })?;
    }
    Ok(())
}

fn reshape(rebuild: &mut Rebuild, instruction: &Instruction) -> Option<InstrId> {
    let operand = rebuild.mapped(instruction.operands[0]);
    let before = rebuild.instruction(operand);
    let source = match &before.op {
        Op::Reshape => before.operands[0],
        Op::Broadcast { dimensions } if dimensions.is_empty() => {
            let scalar = before.operands[0];
            let op = Op::Broadcast { dimensions: Vec::new() };
            return Some(rebuild.add(instruction, op, instruction.shape.clone(), vec![scalar]));
        }
        _ => return None,
    };
    if rebuild.instruction(source).shape == instruction.shape {
        return Some(source);
    }
    Some(rebuild.add(instruction, Op::Reshape, instruction.shape.clone(), vec![source]))
}

fn broadcast(rebuild: &mut Rebuild, instruction: &Instruction, dimensions: &[i64]) -> Option<InstrId> {
    let operand = rebuild.instruction(rebuild.mapped(instruction.operands[0]));
    let source = operand.operands.first().copied();
    let dimensions: Vec<i64> = match &operand.op {
        Op::Broadcast { dimensions: inner } => inner.iter().map(|&d| dimensions[d as usize]).collect(),
        Op::Reshape => {
            let (from, to) = (rebuild.instruction(source?).shape.as_array()?, operand.shape.as_array()?);
            let real = (0..to.rank()).filter(|&d| to.dims[d] != 1);
            let is_insertion = from.dims.iter().copied().eq(real.clone().map(|d| to.dims[d]));
            if is_insertion { real.map(|d| dimensions[d]).collect() } else { return None }
        }
        _ => return None,
    };
    Some(rebuild.add(instruction, Op::Broadcast { dimensions }, instruction.shape.clone(), vec![source?]))
}

fn transpose(rebuild: &mut Rebuild, instruction: &Instruction, permutation: &[i64]) -> Option<InstrId> {
    let mut source = rebuild.mapped(instruction.operands[0]);
    let mut permutation = permutation.to_vec();
    let operand = rebuild.instruction(source);
    let is_chain = matches!(operand.op, Op::Transpose { .. });
    if let Op::Transpose { permutation: inner } = &operand.op {
        permutation.iter_mut().for_each(|d| *d = inner[*d as usize]);
        source = operand.operands[0];
    }
    let from = rebuild.instruction(source).shape.as_array()?;
    if permutation.is_sorted() {
        return Some(source);
    }
    let real: Vec<i64> = permutation.iter().copied().filter(|&d| from.dims[d as usize] != 1).collect();
    let op = match () {
        () if real.is_sorted() => Op::Reshape,
        () if is_chain => Op::Transpose { permutation },
        () => return None,
    };
    Some(rebuild.add(instruction, op, instruction.shape.clone(), vec![source]))
}

/// Reduces before the transpose, so that the transposed array is smaller.
fn reduce(rebuild: &mut Rebuild, instruction: &Instruction, dimensions: &[i64]) -> Option<InstrId> {
    let Op::Reduce { to_apply, .. } = instruction.op else { return None };
    let count = instruction.operands.len() / 2;
    let mut operands = rebuild.operands(instruction);
    let Op::Transpose { permutation } = rebuild.instruction(operands[0]).op.clone() else { return None };
    for operand in &mut operands[..count] {
        let transpose = rebuild.instruction(*operand);
        if !matches!(&transpose.op, Op::Transpose { permutation: other } if *other == permutation) {
            return None;
        }
        *operand = transpose.operands[0];
    }
    let mut reduced: Vec<i64> = dimensions.iter().map(|&d| permutation[d as usize]).collect();
    reduced.sort_unstable();
    let wanted: Vec<i64> = permutation.iter().copied().filter(|d| !reduced.contains(d)).collect();
    let mut order = wanted.clone();
    order.sort_unstable();
    let is_in_order = wanted == order;
    if !is_in_order && count > 1 {
        return None;
    }
    let op = Op::Reduce { dimensions: reduced, to_apply };
    if is_in_order {
        return Some(rebuild.add(instruction, op, instruction.shape.clone(), operands));
    }
    let result = instruction.shape.as_array()?;
    let place = |d: &i64| wanted.iter().position(|other| other == d);
    let dims: Vec<i64> = order.iter().filter_map(place).map(|position| result.dims[position]).collect();
    let permutation: Vec<i64> =
        wanted.iter().filter_map(|d| order.iter().position(|other| other == d)).map(|p| p as i64).collect();
    let shape = Shape::array(result.element_type, dims);
    let sum = rebuild.add(instruction, op, shape, operands);
    Some(rebuild.add(instruction, Op::Transpose { permutation }, instruction.shape.clone(), vec![sum]))
}
