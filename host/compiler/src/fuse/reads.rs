//! How an instruction reads an operand: how often, and at which index.

use fusebox_core::cost::{first_array, steps};
use fusebox_core::hlo::{ArrayShape, Computation, Instruction, Op, ScatterDims};

/// Updates of one window that a thread, or lanes of a vector, combine with one look at the indices.
const UPDATES_PER_INDEX: i64 = 32;

/// How one evaluation of an instruction reads one of its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Elements of the operand read per element of the instruction.
    pub factor: f64,
    /// `None`: at the instruction's own index. Otherwise, what makes the index: equal texts, equal indices.
    pub index: Option<String>,
}

/// How `instruction` reads its operand number `position`.
pub fn read(computation: &Computation, instruction: &Instruction, position: usize) -> Read {
    let operand = computation.instruction(instruction.operands[position]);
    let (Some(from), Some(to)) = (operand.shape.as_array(), first_array(instruction)) else {
        return elsewhere(instruction, position, 1.0);
    };
    match &instruction.op {
        Op::BitcastConvert => pointwise(from, to),
        op if op.is_elementwise() => pointwise(from, to),
        Op::Broadcast { .. } | Op::Reshape | Op::Transpose { .. } | Op::Reverse { .. } | Op::Slice { .. } => {
            Read { factor: 1.0, index: Some(format!("{:?} {:?} {:?}", instruction.op, from.dims, to.dims)) }
        }
        Op::Pad { .. } if position == 0 => share(instruction, position, from, to),
        Op::Concatenate { .. } => share(instruction, position, from, to),
        Op::DynamicUpdateSlice if position == 0 => Read { factor: 1.0, index: None },
        Op::DynamicUpdateSlice if position == 1 => share(instruction, position, from, to),
        Op::Gather(dims) if position == 1 => elsewhere(instruction, position, dims.start_index_map.len() as f64),
        Op::Scatter { dims, .. } => scattered(dims, instruction, position, from, computation),
        Op::Reduce { .. } | Op::ReduceWindow { .. } if position >= instruction.operands.len() / 2 => {
            elsewhere(instruction, position, 1.0)
        }
        Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot(_) | Op::Convolution(_) => {
            elsewhere(instruction, position, steps(computation, instruction))
        }
        _ => elsewhere(instruction, position, 1.0),
    }
}

fn pointwise(from: &ArrayShape, to: &ArrayShape) -> Read {
    let same = from.dims == to.dims;
    Read { factor: 1.0, index: (!same).then(|| "scalar".into()) }
}

/// Every update is read once. Index vectors are read again for each few updates of a window.
fn scattered(
    dims: &ScatterDims,
    instruction: &Instruction,
    position: usize,
    from: &ArrayShape,
    computation: &Computation,
) -> Read {
    let arrays = instruction.operands.len() / 2;
    let factor = match (first_array(instruction), instruction.operands.last()) {
        (Some(to), Some(&updates)) if position == arrays => {
            let updates = computation.instruction(updates).shape.as_array();
            let window: i64 =
                updates.map_or(1, |u| dims.update_window_dims.iter().map(|&d| u.dims[d as usize]).product());
            ratio(from, to) * (window / UPDATES_PER_INDEX).max(1) as f64
        }
        (Some(to), _) => ratio(from, to),
        (None, _) => 1.0,
    };
    elsewhere(instruction, position, factor)
}

/// Read only where the result comes from this operand.
fn share(instruction: &Instruction, position: usize, from: &ArrayShape, to: &ArrayShape) -> Read {
    elsewhere(instruction, position, ratio(from, to).min(1.0))
}

/// At indices that no other instruction is known to read.
fn elsewhere(instruction: &Instruction, position: usize, factor: f64) -> Read {
    Read { factor, index: Some(format!("{} {position}", instruction.name)) }
}

fn ratio(from: &ArrayShape, to: &ArrayShape) -> f64 {
    from.element_count() as f64 / to.element_count().max(1) as f64
}
