//! Writes every HLO operation as operations on scalars.
//!
//! `emit` writes the code of one instruction at its site from the values of its operands. Each file
//! of this folder implements one family of operations. Arithmetic on floats narrower than `f32`
//! uses `f32` and rounds once per HLO operation.

mod binary;
mod bits;
mod combiner;
mod compare;
mod complex;
mod complex_functions;
mod complex_inverse;
mod complex_pair;
pub mod constant;
mod contract;
mod control;
mod convert;
mod float_types;
mod reduce;
mod scalar;
mod shape;
pub mod state;
mod unary;
mod window;

use fusebox_core::builder::{Scalar, Value};
use fusebox_core::hlo::{ElementType, InstrId, Op};

use crate::error::Result;
use crate::writer::{FunctionWriter, SiteOperands};

use combiner::Regrouping;

pub use combiner::combiner_function;
pub use constant::MAX_CONSTANT_ELEMENTS;

/// Writes the code of an instruction into the scope in which the instruction is computed. Returns
/// its values.
pub fn emit(writer: &mut FunctionWriter<'_, '_>, reads: &SiteOperands<'_>) -> Result<Vec<Value>> {
    let SiteOperands { id, recipe, operands } = *reads;
    let instruction = writer.partition.instruction(id);
    match &instruction.op {
        Op::Concatenate { .. } => shape::concatenate(writer, reads),
        Op::Pad { .. } => shape::pad(writer, reads),
        Op::DynamicUpdateSlice => shape::dynamic_update_slice(writer, reads),
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => reduce::reduce(writer, reads, *to_apply),
        Op::SelectAndScatter { select, scatter, .. } => window::select_and_scatter(writer, reads, *select, *scatter),
        Op::Dot(_) | Op::Convolution(_) => contract::sum_of_products(writer, reads),
        Op::Map { to_apply, .. } => combiner::write(
            &mut writer.b,
            writer.partition.module,
            *to_apply,
            &operands.concat(),
            Regrouping::Forbidden,
        ),
        Op::BitcastConvert if !recipe.indices.is_empty() || operands.len() > 1 => shape::bitcast_parts(writer, reads),
        Op::GetTupleElement { index } => {
            let values = operands.first().map_or(&[] as &[Value], Vec::as_slice);
            // If the operand is a `tuple` instruction, the read refers directly to the tuple's
            // element. The read then has only one value.
            let variadic = values.len() > 1;
            let value = values.get(if variadic { *index as usize } else { 0 }).copied();
            value.map(|v| vec![v]).ok_or_else(|| writer.error(id, "the operand has no such element"))
        }
        Op::GetDimensionSize { dimension } => dimension_size(writer, id, *dimension),
        _ if moves_only(&instruction.op) => Ok(operands.first().cloned().unwrap_or_default()),
        _ => {
            let types = operand_types(writer, id);
            let value = scalar::operation(&mut writer.b, instruction, &types, &operands.concat());
            value.map(|v| vec![v]).map_err(|message| writer.error(id, message))
        }
    }
}

fn dimension_size(writer: &mut FunctionWriter<'_, '_>, id: InstrId, dimension: i64) -> Result<Vec<Value>> {
    let operand = writer.partition.operand_array(id, 0)?;
    let d = dimension as usize;
    let Some(&size) = operand.dims.get(d).filter(|_| !operand.dynamic.get(d).is_some_and(|dynamic| *dynamic)) else {
        return Err(writer.error(id, "the size is known at run time only, which is not supported"));
    };
    Ok(vec![writer.b.int(size, Scalar::I32)])
}

/// Whether an operation's value is its operand's value at another index.
fn moves_only(op: &Op) -> bool {
    op.is_movement() || matches!(op, Op::Copy | Op::OptBarrier)
}

fn operand_types(writer: &FunctionWriter<'_, '_>, id: InstrId) -> Vec<ElementType> {
    let operands = &writer.partition.instruction(id).operands;
    let shape = |&operand: &InstrId| writer.partition.instruction(operand).shape.as_array();
    operands.iter().filter_map(shape).map(|array| array.element_type).collect()
}
