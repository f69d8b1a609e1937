//! Operations with regions: loops, branches, and computations that are applied to elements.

use std::collections::{HashMap, HashSet};

use fusebox_core::hlo::{ComputationId, InstrId, Op, ScatterDims, Shape, Window, WindowDim};

use super::Imported;
use super::body::Body;
use super::call::Call;
use super::importer::{body, one_or_tuple};
use super::location::unsupported;
use super::manual;
use super::types::shape;
use crate::program::{Block, Operation, Region, ValueId};

/// Adds a loop, branches, or a region that is executed once.
pub(super) fn control(call: &mut Call) -> Imported<InstrId> {
    match &*call.operation.name {
        "while" => while_loop(call),
        "if" | "case" => branches(call),
        "sdy.manual_computation" if call.importer.devices > 1 => manual::manual_computation(call),
        _ => inline(call),
    }
}

/// Adds an operation that applies its region to elements.
pub(super) fn applying(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let op = match &*operation.name {
        "map" => {
            let dimensions = operation.integers("dimensions")?;
            Op::Map { dimensions, to_apply: applied(call, 0)? }
        }
        "reduce" => {
            let dimensions = operation.integers("dimensions")?;
            Op::Reduce { dimensions, to_apply: applied(call, 0)? }
        }
        "reduce_window" => Op::ReduceWindow { window: window(call)?, to_apply: applied(call, 0)? },
        "scatter" => Op::Scatter { dims: scatter_dims(operation)?, to_apply: applied(call, 0)? },
        "select_and_scatter" => {
            Op::SelectAndScatter { window: window(call)?, select: applied(call, 0)?, scatter: applied(call, 1)? }
        }
        _ => Op::Sort {
            dimension: sorted_dimension(call)?,
            is_stable: operation.flag("is_stable")?,
            to_apply: applied(call, 0)?,
        },
    };
    call.push(op)
}

/// Adds a computation that is applied to elements. The only values from outside that the
/// computation can use are constants.
pub(super) fn applied(call: &mut Call, at: usize) -> Imported<ComputationId> {
    let block = block(call.operation, at)?;
    let operation = call.operation;
    let importer = &mut *call.importer;
    call.edit.try_computation(&format!("{}_region", operation.name), |edit| {
        let mut scope = Body::default();
        for &argument in &block.arguments {
            let shape = shape(importer.program.value(argument)).map_err(|message| unsupported(operation, message))?;
            scope.set(argument, edit.parameter(shape));
        }
        let results = importer.block(edit, &mut scope, block)?;
        Ok(one_or_tuple(edit, results))
    })
}

/// Adds a loop. The state of the loop is a tuple of the loop's own values and of the values from
/// outside that its regions read.
fn while_loop(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let captured = captured(&call.importer.constants, &operation.regions);
    let mut state = std::mem::take(&mut call.operands);
    for &value in &captured {
        state.push(call.importer.value(call.edit, call.body, value, operation)?);
    }
    let own = operation.results.len();
    let state = call.edit.tuple(state);
    let shape = call.edit.shape(state).clone();
    let (condition, body) = (block(operation, 0)?, block(operation, 1)?);
    let condition = with_tuple(call, "condition", &shape, condition, &captured, false)?;
    let body = with_tuple(call, "body", &shape, body, &captured, true)?;
    let last = call.edit.while_loop(condition, body, state);
    // Captured values follow the results.
    Ok(if own == 1 { call.edit.element(last, 0) } else { last })
}

/// Adds branches. Each branch has one parameter: a tuple of the values from outside that it reads.
fn branches(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let [selector] = call.exactly()?;
    let (mut branches, mut operands) = (Vec::new(), vec![selector]);
    for region in &operation.regions {
        let captured = captured(&call.importer.constants, std::slice::from_ref(region));
        let mut values = Vec::new();
        for &value in &captured {
            values.push(call.importer.value(call.edit, call.body, value, operation)?);
        }
        let argument = call.edit.tuple(values);
        let shape = call.edit.shape(argument).clone();
        let block = region.block().ok_or_else(|| unsupported(operation, "a region must have one block"))?;
        branches.push(with_tuple(call, "branch", &shape, block, &captured, false)?);
        operands.push(argument);
    }
    call.operands = operands;
    call.push(Op::Conditional { branches })
}

/// Adds a computation whose parameter is a tuple: first the block's arguments, then the captured
/// values. If `passes_on` is true, the computation returns the captured values after its results.
fn with_tuple<'p>(
    call: &mut Call<'_, 'p, '_, '_>,
    name: &str,
    shape: &Shape,
    block: &'p Block,
    captured: &[ValueId],
    passes_on: bool,
) -> Imported<ComputationId> {
    let importer = &mut *call.importer;
    let outside = &*call.body;
    call.edit.try_computation(name, |edit| {
        let tuple = edit.parameter(shape.clone());
        let mut scope = Body::default();
        for &value in captured {
            if let Some(known) = outside.known(value) {
                scope.set_known(value, known.clone());
            }
        }
        for (index, &value) in block.arguments.iter().chain(captured).enumerate() {
            let element = edit.element(tuple, index);
            scope.set(value, element);
        }
        let mut results = importer.block(edit, &mut scope, block)?;
        if passes_on {
            results.extend(captured.iter().filter_map(|&value| scope.get(value)));
            return Ok(edit.tuple(results));
        }
        Ok(one_or_tuple(edit, results))
    })
}

/// Adds the operations of a region that is executed once. The region reads parts of arrays. On one
/// device, each of these parts is a whole array.
fn inline(call: &mut Call) -> Imported<InstrId> {
    let block = body(call.operation)?;
    let program = call.importer.program;
    let is_whole = |(&part, &whole): (&ValueId, &ValueId)| program.value(part) == program.value(whole);
    if !block.arguments.iter().zip(&call.operation.operands).all(is_whole) {
        return call.unsupported("parts of arrays on several devices are not supported");
    }
    for (&argument, &operand) in block.arguments.iter().zip(&call.operands) {
        call.body.set(argument, operand);
    }
    let results = call.importer.block(call.edit, call.body, block)?;
    Ok(one_or_tuple(call.edit, results))
}

fn block(operation: &Operation, at: usize) -> Imported<&Block> {
    let region = operation.regions.get(at).and_then(Region::block);
    region.ok_or_else(|| unsupported(operation, "a region must have one block"))
}

/// Returns the values from outside that regions read, in the order of their first use. Constants
/// are omitted, because each computation gets copies of its constants.
fn captured(constants: &HashMap<ValueId, &Operation>, regions: &[Region]) -> Vec<ValueId> {
    let (mut used, mut defined): (Vec<ValueId>, HashSet<ValueId>) = (Vec::new(), HashSet::new());
    let mut open: Vec<&Region> = regions.iter().rev().collect();
    while let Some(region) = open.pop() {
        for block in &region.blocks {
            defined.extend(&block.arguments);
            for operation in &block.operations {
                used.extend(&operation.operands);
                defined.extend(&operation.results);
                open.extend(operation.regions.iter().rev());
            }
        }
    }
    let mut seen = HashSet::new();
    used.retain(|value| !defined.contains(value) && !constants.contains_key(value) && seen.insert(*value));
    used
}

fn window(call: &Call) -> Imported<Window> {
    let operation = call.operation;
    let sizes = operation.integers("window_dimensions")?;
    let rank = sizes.len();
    let strides = operation.per_dimension("window_strides", rank, 1)?;
    let padding = operation.pairs("padding", rank)?;
    let base_dilation = operation.per_dimension("base_dilations", rank, 1)?;
    let window_dilation = operation.per_dimension("window_dilations", rank, 1)?;
    let dim = |at: usize| WindowDim {
        size: sizes[at],
        stride: strides[at],
        padding_low: padding[at][0],
        padding_high: padding[at][1],
        window_dilation: window_dilation[at],
        base_dilation: base_dilation[at],
        reversal: false,
    };
    Ok(Window { dims: (0..rank).map(dim).collect() })
}

fn scatter_dims(operation: &Operation) -> Imported<ScatterDims> {
    Ok(ScatterDims {
        update_window_dims: operation.integers("update_window_dims")?,
        inserted_window_dims: operation.integers("inserted_window_dims")?,
        scatter_dims_to_operand_dims: operation.integers("scatter_dims_to_operand_dims")?,
        input_batching_dims: operation.integers("input_batching_dims")?,
        scatter_indices_batching_dims: operation.integers("scatter_indices_batching_dims")?,
        index_vector_dim: operation.integer_or_zero("index_vector_dim")?,
        indices_are_sorted: operation.flag("indices_are_sorted")?,
        unique_indices: operation.flag("unique_indices")?,
    })
}

/// Returns the dimension along which a sort sorts. In StableHLO, a negative dimension number counts
/// from the last dimension.
fn sorted_dimension(call: &Call) -> Imported<i64> {
    let dimension = call.operation.integer("dimension")?;
    Ok(if dimension < 0 { dimension + call.rank(0) as i64 } else { dimension })
}
