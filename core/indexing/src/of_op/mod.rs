//! Indexing maps of operations. The maps lead from an output element to the operand elements from
//! which the operation computes it, or in the opposite direction.
//!
//! ```text
//! output_to_input   for each operand: output index -> operand index
//! input_to_output   for one operand: operand index -> output index
//! ```
//!
//! Each answer is a set of maps, or *unknown* with a reason. The maps reach every element that is
//! read. The maps reach further elements only if the operation decides at run time which elements
//! it reads (`select`, the operand of `dynamic-update-slice`, `sort` along its dimension).

mod access;
mod contraction;
mod dynamic;
mod reading;
mod shape;
mod to_output;
mod window;

use super::{Expr, IndexingMap};
use fusebox_hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op, Opcode, Shape};

pub use access::{Access, OperandRead, access, combined_elements};
pub use reading::{Indexing, Reading, RuntimeValue};
pub use to_output::input_to_output;

/// The reason why there is no map, in words for the user.
type Reason = String;

/// The readings of one operand, or the reason why they are unknown.
type Found = Result<Vec<Reading>, Reason>;

/// An instruction and its context.
#[derive(Clone, Copy)]
struct Site<'m> {
    computation: &'m Computation,
    /// Id of the computation, if known.
    id: Option<ComputationId>,
    instruction: &'m Instruction,
}

impl<'m> Site<'m> {
    fn new(module: &'m Module, id: ComputationId, instruction: InstrId) -> Self {
        let computation = module.computation(id);
        Site { computation, id: Some(id), instruction: computation.instruction(instruction) }
    }

    fn operand(&self, operand: usize) -> Result<&'m Instruction, Reason> {
        let id = self.instruction.operands.get(operand).ok_or_else(|| format!("there is no operand {operand}"))?;
        Ok(self.computation.instruction(*id))
    }

    /// Returns the sizes of an operand. Fails if the operand is not an array.
    fn operand_dims(&self, operand: usize) -> Result<&'m [i64], Reason> {
        array_dims(&self.operand(operand)?.shape).ok_or_else(|| format!("operand {operand} is not an array"))
    }

    /// Returns the sizes of the result, or of one of its leaves. Fails if this leaf is not an
    /// array.
    fn output_dims(&self, leaf: usize) -> Result<&'m [i64], Reason> {
        let leaves = self.instruction.shape.leaves();
        leaves.get(leaf).and_then(|shape| array_dims(shape)).ok_or_else(|| format!("result {leaf} is not an array"))
    }
}

/// Returns the maps for each operand of an instruction. The maps lead from an element of the result
/// to the operand elements from which this element is computed. `leaf` is the leaf of the result (0
/// for an array). The dimensions of the maps are the index of the element in the result.
pub fn output_to_input(
    module: &Module,
    computation: ComputationId,
    instruction: InstrId,
    leaf: usize,
) -> Vec<Indexing> {
    let site = Site::new(module, computation, instruction);
    let count = site.instruction.operands.len();
    match site.instruction.op {
        Op::Fusion { calls, .. } => return through_call(module, calls, leaf, count),
        Op::Call { to_apply } => return through_call(module, to_apply, leaf, count),
        _ => {}
    }
    (0..count)
        .map(|operand| match of_operand(site, operand, leaf) {
            Ok(readings) => Indexing::Known(readings.into_iter().filter_map(Reading::simplified).collect()),
            Err(reason) => Indexing::Unknown(format!("{}: {reason}", site.instruction.opcode())),
        })
        .collect()
}

fn through_call(module: &Module, callee: ComputationId, leaf: usize, count: usize) -> Vec<Indexing> {
    let mut parameters = super::fusion::maps_of_leaf(module, callee, leaf).parameters;
    parameters.resize(count, Indexing::Known(Vec::new()));
    parameters
}

fn of_operand(site: Site, operand: usize, leaf: usize) -> Found {
    let one = |reading: Result<Reading, Reason>| reading.map(|r| vec![r]);
    match &site.instruction.op {
        Op::Rng { .. } | Op::SetDimensionSize { .. } => one(elementwise(site, operand, leaf)),
        op if op.is_elementwise() => one(elementwise(site, operand, leaf)),
        Op::BitcastConvert => one(shape::bitcast_convert(site)),
        Op::Broadcast { dimensions } => one(shape::broadcast(site, dimensions)),
        Op::Reshape => one(shape::reshape(site)),
        Op::Bitcast => one(shape::bitcast(site)),
        Op::Transpose { permutation } => one(shape::transpose(site, permutation)),
        Op::Reverse { dimensions } => one(shape::reverse(site, dimensions)),
        Op::Slice { dims } => one(shape::slice(site, dims)),
        Op::Pad { dims } => one(shape::pad(site, operand, dims)),
        Op::Concatenate { dimension } => one(shape::concatenate(site, operand, *dimension)),
        Op::DynamicSlice { sizes } => one(dynamic::dynamic_slice(site, operand, sizes)),
        Op::DynamicUpdateSlice => one(dynamic::dynamic_update_slice(site, operand)),
        Op::Gather(dims) => one(dynamic::gather(site, operand, dims)),
        Op::Scatter { .. } => one(dynamic::scatter(site, operand, leaf)),
        Op::Reduce { dimensions, .. } => one(window::reduce(site, operand, dimensions)),
        Op::ReduceWindow { window, .. } => one(window::reduce_window(site, operand, window)),
        Op::SelectAndScatter { window, .. } => one(window::select_and_scatter(site, operand, window)),
        Op::Convolution(attributes) => one(window::convolution(site, operand, attributes)),
        Op::Dot(dims) => one(contraction::dot(site, operand, dims)),
        Op::ScaledDot(dims) => one(contraction::scaled_dot(site, operand, dims)),
        Op::Sort { dimension, .. } => one(window::along(site, operand, *dimension)),
        Op::Topk { .. } => one(window::along(site, operand, site.output_dims(leaf)?.len() as i64 - 1)),
        Op::Tuple => tuple(site, operand, leaf),
        Op::GetTupleElement { index } => one(get_tuple_element(site, *index, leaf)),
        Op::OptBarrier => one(Ok(Reading::whole(site.output_dims(leaf)?).of_leaf(leaf))),
        Op::AddDependency if operand == 0 => one(Ok(Reading::whole(site.output_dims(leaf)?).of_leaf(leaf))),
        Op::AddDependency | Op::AfterAll | Op::GetDimensionSize { .. } => Ok(Vec::new()),
        op => Err(unknown_reason(op.opcode())),
    }
}

fn unknown_reason(opcode: Opcode) -> Reason {
    match opcode {
        Opcode::While | Opcode::Conditional => "the elements read depend on how the called computations run".into(),
        Opcode::CustomCall => "the elements that a custom call reads are unknown".into(),
        _ => "indexing maps of this operation are not supported".into(),
    }
}

/// Returns how an elementwise operation reads an operand. The operation reads an array at the index
/// of the result, and a scalar at its only element.
fn elementwise(site: Site, operand: usize, leaf: usize) -> Result<Reading, Reason> {
    let output = site.output_dims(leaf)?;
    let dims = site.operand_dims(operand)?;
    if dims == output {
        return Ok(Reading::whole(output));
    }
    match dims {
        [] => Ok(Reading::scalar(output)),
        _ => Err(format!("operand {operand} has dimensions {dims:?}, the result {output:?}")),
    }
}

/// Returns how a leaf of a tuple reads an operand. The operand that contains the leaf is read at
/// the same index. Other operands are not read.
fn tuple(site: Site, operand: usize, leaf: usize) -> Found {
    let before: usize = (0..operand).map(|i| site.operand(i).map(|o| o.shape.leaves().len())).sum::<Result<_, _>>()?;
    let own = site.operand(operand)?.shape.leaves().len();
    if leaf < before || leaf >= before + own {
        return Ok(Vec::new());
    }
    Ok(vec![Reading::whole(site.output_dims(leaf)?).of_leaf(leaf - before)])
}

fn get_tuple_element(site: Site, index: i64, leaf: usize) -> Result<Reading, Reason> {
    let operand = site.operand(0)?;
    let elements = operand.shape.as_tuple().ok_or("the operand is not a tuple")?;
    let before = elements.iter().take(usize::try_from(index).unwrap_or(0)).map(|shape| shape.leaves().len());
    Ok(Reading::whole(site.output_dims(leaf)?).of_leaf(before.sum::<usize>() + leaf))
}

fn array_dims(shape: &Shape) -> Option<&[i64]> {
    shape.as_array().map(|array| array.dims.as_slice())
}

/// Returns the reading whose map has the dimensions of the output and the results `results`.
fn over(output: &[i64], results: Vec<Expr>) -> Reading {
    Reading::new(IndexingMap::from_tensor_sizes(results, output, &[]))
}

/// Converts a dimension number from the module to the variable `d<i>`.
fn dim(i: i64, rank: usize) -> Result<Expr, Reason> {
    position(i, rank).map(|i| Expr::dim(i as u32))
}

/// Converts a dimension number from the module to an index.
fn position(i: i64, rank: usize) -> Result<usize, Reason> {
    usize::try_from(i).ok().filter(|&i| i < rank).ok_or_else(|| format!("there is no dimension {i} among {rank}"))
}

/// Checks that a rank has the expected value.
fn expect_rank(what: &str, found: usize, expected: usize) -> Result<(), Reason> {
    if found == expected { Ok(()) } else { Err(format!("{what} has {found} dimensions instead of {expected}")) }
}
