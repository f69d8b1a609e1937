//! Writes the computations that operations such as reduce, scatter and map apply to elements. The
//! parameters and results of these computations are scalars.

use fusebox_core::builder::{FastMath, FunctionBuilder, Type, Value};
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{BinaryOp, Computation, ComputationId, ElementType, InstrId, Instruction, Module, Op, Shape};

use super::{control, scalar};
use crate::EmissionError;
use crate::error::Result;

/// Writes a separate function for the computation that an instruction applies.
pub fn combiner_function(fusion: &Fusion, symbol: &str, id: InstrId) -> Result<fusebox_core::ir::Function> {
    let instruction = fusion.computation().instruction(id);
    let applied = instruction.op.applied();
    let applied = applied.ok_or_else(|| EmissionError::at(&fusion.module, instruction, "applies no computation"))?;
    let computation = fusion.module.computation(applied);
    let mut b = FunctionBuilder::new(symbol);
    b.set_private();
    let parameters = computation.parameters().into_iter().map(|id| computation.instruction(id));
    let mut arguments = Vec::new();
    for parameter in parameters {
        arguments.push(b.argument(Type::of_element(scalar_type(&fusion.module, parameter)?)));
    }
    // A scatter's emitter decides the order of updates, so LLVM must not change this order.
    let regrouping =
        if matches!(instruction.op, Op::Scatter { .. }) { Regrouping::Forbidden } else { Regrouping::Allowed };
    let results = write(&mut b, &fusion.module, applied, &arguments, regrouping)?;
    b.ret(&results);
    Ok(b.finish()?)
}

/// Whether LLVM may regroup sums, products, maxima and minima.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Regrouping {
    /// LLVM must compute sums, products, maxima and minima in the order in which they are written.
    Forbidden,
    /// LLVM may regroup sums, products, maxima and minima, because HLO does not specify the order
    /// in which elements are combined.
    Allowed,
}

/// Writes a computation on scalars inline. Returns the leaves of the computation's result.
pub fn write(
    b: &mut FunctionBuilder,
    module: &Module,
    id: ComputationId,
    arguments: &[Value],
    regrouping: Regrouping,
) -> Result<Vec<Value>> {
    let computation = module.computation(id);
    let mut values: Vec<Vec<Value>> = Vec::with_capacity(computation.instructions.len());
    for instruction in &computation.instructions {
        let value = instruction_values(b, module, (computation, instruction), &values, arguments, regrouping)
            .map_err(|message| EmissionError::at(module, instruction, message))?;
        values.push(value);
    }
    Ok(values[computation.root.index()].clone())
}

fn instruction_values(
    b: &mut FunctionBuilder,
    module: &Module,
    (computation, instruction): (&Computation, &Instruction),
    values: &[Vec<Value>],
    arguments: &[Value],
    regrouping: Regrouping,
) -> Result<Vec<Value>, String> {
    let operands: Vec<Value> = instruction.operands.iter().flat_map(|id| &values[id.index()]).copied().collect();
    let shapes = instruction.operands.iter().map(|&id| computation.instruction(id).shape.as_array());
    let types: Vec<ElementType> = shapes.flatten().map(|array| array.element_type).collect();
    if instruction.shape.leaves().iter().any(|leaf| leaf.as_array().is_none_or(|array| array.element_count() != 1)) {
        return Err("inside an applied computation only scalars are supported".into());
    }
    match &instruction.op {
        Op::Parameter { number } => {
            let parameters = computation.parameters().into_iter().map(|id| &computation.instruction(id).shape);
            part(parameters, *number, arguments).ok_or_else(|| "there is no such parameter".into())
        }
        Op::Tuple => Ok(operands),
        Op::GetTupleElement { index } => {
            let elements = computation.instruction(instruction.operands[0]).shape.as_tuple().unwrap_or_default();
            part(elements.iter(), *index, &operands).ok_or_else(|| "the tuple has no such element".into())
        }
        Op::Copy | Op::OptBarrier => Ok(operands),
        op if op.is_movement() => Ok(operands.into_iter().take(1).collect()),
        Op::Map { to_apply, .. } | Op::Call { to_apply } => {
            write(b, module, *to_apply, &operands, regrouping).map_err(in_words)
        }
        Op::While { condition, body } => {
            let computation =
                |id| move |b: &mut FunctionBuilder, state: &[Value]| write(b, module, id, state, Regrouping::Forbidden);
            control::repeat(b, &operands, &computation(*condition), &computation(*body)).map_err(in_words)
        }
        Op::Conditional { branches } => {
            let leaves = instruction.shape.leaves().into_iter().filter_map(Shape::as_array);
            let results: Vec<Type> = leaves.map(|array| Type::of_element(array.element_type)).collect();
            let branch = |b: &mut FunctionBuilder, number: usize| {
                let argument = &values[instruction.operands[number + 1].index()];
                write(b, module, branches[number], argument, Regrouping::Forbidden)
            };
            control::choose(b, operands[0], &results, 0..branches.len(), &branch).map_err(in_words)
        }
        Op::Binary(op) if regrouping == Regrouping::Allowed && is_regroupable(*op) => {
            b.set_fastmath(FastMath::REASSOC);
            let value = scalar::operation(b, instruction, &types, &operands);
            b.set_fastmath(FastMath::NONE);
            value.map(|v| vec![v])
        }
        _ => scalar::operation(b, instruction, &types, &operands).map(|v| vec![v]),
    }
}

fn in_words(error: EmissionError) -> String {
    error.to_string()
}

/// Returns the leaves of value `number`. `leaves` contains, in order, the leaves of all values.
/// `shapes` are the shapes of the values.
fn part<'a>(mut shapes: impl Iterator<Item = &'a Shape>, number: i64, leaves: &[Value]) -> Option<Vec<Value>> {
    let number = usize::try_from(number).ok()?;
    let start = shapes.by_ref().take(number).map(|shape| shape.leaves().len()).sum::<usize>();
    let length = shapes.next()?.leaves().len();
    Some(leaves.get(start..start + length)?.to_vec())
}

fn is_regroupable(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Multiply | BinaryOp::Maximum | BinaryOp::Minimum)
}

/// Returns the operation if the computation is only a sum, product, maximum or minimum of its two
/// parameters.
pub fn single_operation(module: &Module, id: ComputationId) -> Option<BinaryOp> {
    let computation = module.computation(id);
    let root = computation.root_instruction();
    let is_parameter = |&id: &InstrId| matches!(computation.instruction(id).op, Op::Parameter { .. });
    match root.op {
        Op::Binary(op)
            if is_regroupable(op) && root.operands.iter().all(is_parameter) && root.operands[0] != root.operands[1] =>
        {
            Some(op)
        }
        _ => None,
    }
}

fn scalar_type(module: &Module, instruction: &Instruction) -> Result<ElementType> {
    let array = instruction.shape.as_array().filter(|array| array.element_count() == 1);
    array
        .map(|array| array.element_type)
        .ok_or_else(|| EmissionError::at(module, instruction, "a parameter of an applied computation must be a scalar"))
}
