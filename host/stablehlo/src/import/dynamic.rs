//! Operations whose result sizes depend on the values of operands, as in JAX's exports with
//! symbolic dimensions. If the shapes of the program's arguments are known, the importer computes
//! the values that determine sizes, and adds operations with fixed sizes.

use fusebox_core::hlo::{
    ArrayShape, ElementType, InstrId, Op, PaddingDim, RandomAlgorithm, Shape, SliceDim, Window, WindowDim,
};

use super::Imported;
use super::body::Body;
use super::call::Call;
use super::importer::Importer;
use super::known::Known;
use super::types::check_sizes;
use super::{contraction, movement};
use crate::program::{Attribute, Operation, Type};

/// Attribute of a custom call: the numbers of the operands that contain the sizes of the call's
/// results.
const SHAPE_OPERANDS: &str = "indices_of_shape_operands";

/// Adds the operation if it is a dynamic one, such as `dynamic_reshape`. Returns `None` for all
/// other operations.
pub(super) fn dynamic(call: &mut Call) -> Imported<Option<InstrId>> {
    let operation = call.operation;
    let target = match &*operation.name {
        "custom_call" => operation.text("call_target_name")?,
        name => name,
    };
    Ok(Some(match target {
        "dynamic_reshape" => {
            let sizes = call.known(1)?;
            call.operands.truncate(1);
            sized(call, Op::Reshape, sizes)?
        }
        "dynamic_broadcast_in_dim" => {
            let sizes = call.known(1)?;
            call.operands.truncate(1);
            movement::broadcast_to(call, &sizes)?
        }
        "dynamic_iota" => {
            let sizes = call.known(0)?;
            call.operands.clear();
            let dimension = operation.integer("iota_dimension")?;
            sized(call, Op::Iota { dimension }, sizes)?
        }
        "dynamic_pad" => {
            let (low, high, interior) = (call.known(2)?, call.known(3)?, call.known(4)?);
            call.operands.truncate(2);
            let each = low.into_iter().zip(high).zip(interior);
            let dims = each.map(|((low, high), interior)| PaddingDim { low, high, interior }).collect();
            call.push(Op::Pad { dims })?
        }
        "dynamic_gather" => {
            let sizes = call.known(2)?;
            call.operands.truncate(2);
            call.push(Op::Gather(movement::gather_dims(operation, sizes)?))?
        }
        "dynamic_conv" => {
            let padding = call.known(2)?;
            call.operands.truncate(2);
            contraction::convolution(call, Some(&padding))?
        }
        "real_dynamic_slice" => slice(call)?,
        "stablehlo.dynamic_reduce_window" => reduce_window(call)?,
        "stablehlo.dynamic_top_k" => match call.known(1)?[..] {
            [k] => {
                call.operands.truncate(1);
                call.push(Op::Topk { k, largest: true, is_stable: true })?
            }
            _ => return call.unsupported("the number of elements must be a scalar"),
        },
        "stablehlo.dynamic_rng_bit_generator" => random_bits(call)?,
        _ => return Ok(None),
    }))
}

/// Checks an assertion about sizes. An assertion adds no instruction to the HLO module. Returns
/// whether the operation is an assertion.
pub(super) fn assertion(importer: &Importer, body: &Body, operation: &Operation) -> Imported<bool> {
    if &*operation.name != "custom_call" || operation.text("call_target_name") != Ok("shape_assertion") {
        return Ok(false);
    }
    let known: Vec<Option<Known>> = operation.operands.iter().map(|&value| importer.known(body, value)).collect();
    let refused = |message: String| Err(super::location::unsupported(operation, message));
    match known.first() {
        Some(Some(holds)) if holds.numbers == [1] => Ok(true),
        Some(Some(_)) => {
            let mut message =
                operation.text("error_message").unwrap_or("the shapes of the arguments do not fit").to_owned();
            for (number, value) in known[1..].iter().enumerate() {
                let value = value.as_ref().and_then(|value| value.numbers.first());
                let value = value.map_or_else(|| "?".to_owned(), i64::to_string);
                message = message.replace(&format!("{{{number}}}"), &value);
            }
            refused(message)
        }
        _ => refused("an assertion about values that are known only when the program runs".to_owned()),
    }
}

/// Returns the shape of a custom call's results if some of the call's operands state the sizes, and
/// removes these operands. Returns `None` if no operands state the sizes.
pub(super) fn shape_of_call(call: &mut Call) -> Imported<Option<Shape>> {
    let operation = call.operation;
    let Some(positions) = operation.attribute(SHAPE_OPERANDS).and_then(Attribute::integers) else { return Ok(None) };
    if positions.len() != operation.results.len() {
        return call.unsupported(format!("{SHAPE_OPERANDS} must have a number for each result"));
    }
    let mut shapes = Vec::new();
    for (&position, &result) in positions.iter().zip(&operation.results) {
        let Type::Array { element, .. } = call.importer.program.value(result) else {
            return call.unsupported("a result is not an array");
        };
        let sizes = call.known(usize::try_from(position).unwrap_or(usize::MAX))?;
        shapes.push(Shape::Array(array(call, *element, sizes)?));
    }
    let mut at = 0..;
    call.operands.retain(|_| at.next().is_none_or(|at| !positions.contains(&at)));
    Ok(Some(match shapes.pop() {
        Some(single) if shapes.is_empty() => single,
        last => Shape::Tuple(shapes.into_iter().chain(last).collect()),
    }))
}

/// Adds an operation with one result, whose sizes are `sizes`.
fn sized(call: &mut Call, op: Op, sizes: Vec<i64>) -> Imported<InstrId> {
    let [result] = call.operation.results[..] else { return call.unsupported("one result is needed") };
    let Type::Array { element, .. } = call.importer.program.value(result) else {
        return call.unsupported("the result must be an array");
    };
    let shape = array(call, *element, sizes)?;
    let operands = std::mem::take(&mut call.operands);
    Ok(call.edit.add_shaped(op, Shape::Array(shape), operands))
}

fn array(call: &Call, element: ElementType, sizes: Vec<i64>) -> Imported<ArrayShape> {
    match check_sizes(&sizes) {
        Err(message) => call.unsupported(message),
        Ok(()) => Ok(ArrayShape::new(element, sizes)),
    }
}

/// Adds a slice. The start of the slice may be unknown at compile time if the program computes the
/// limit as the start plus known sizes.
fn slice(call: &mut Call) -> Imported<InstrId> {
    let strides = call.known(3)?;
    let [operand, starts, ..] = call.operands[..] else { return call.unsupported("four operands are needed") };
    if let (Ok(starts), Ok(limits)) = (call.known(1), call.known(2)) {
        call.operands.truncate(1);
        let each = starts.into_iter().zip(limits).zip(strides);
        let dims = each.map(|((start, limit), stride)| SliceDim { start, limit, stride }).collect();
        return call.push(Op::Slice { dims });
    }
    let sizes = match sizes_of_slice(call) {
        Some(sizes) if strides.iter().all(|stride| *stride == 1) => sizes,
        _ => {
            return call
                .unsupported("the size of the slice depends on values that are known only when the program runs");
        }
    };
    let mut operands = vec![operand];
    for at in 0..sizes.len() as i64 {
        let start = call.edit.slice(starts, vec![SliceDim { start: at, limit: at + 1, stride: 1 }]);
        operands.push(call.edit.reshape(start, &[]));
    }
    call.operands = operands;
    call.push(Op::DynamicSlice { sizes })
}

/// Returns the sizes that the program adds to a slice's start to compute the slice's limit.
fn sizes_of_slice(call: &Call) -> Option<Vec<i64>> {
    let [_, start, limit, _] = call.operation.operands[..] else { return None };
    let sum = *call.importer.definitions.get(&limit)?;
    let [left, right] = sum.operands[..] else { return None };
    let sizes = match &*sum.name {
        "add" if left == start => right,
        "add" if right == start => left,
        _ => return None,
    };
    Some(call.importer.known(call.body, sizes)?.numbers)
}

/// Adds a reduction over windows. The operands are n arrays, n initial values, and the five
/// attributes of the windows.
fn reduce_window(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let count = 2 * operation.results.len();
    let of = |call: &Call, number: usize| call.known(count + number);
    let (sizes, strides, base, dilations) = (of(call, 0)?, of(call, 1)?, of(call, 2)?, of(call, 3)?);
    let padding = of(call, 4)?;
    let rank = sizes.len();
    if [strides.len(), base.len(), dilations.len()] != [rank; 3] || padding.len() != 2 * rank {
        return call.unsupported("the attributes of the windows have different numbers of dimensions");
    }
    let dim = |at: usize| WindowDim {
        size: sizes[at],
        stride: strides[at],
        padding_low: padding[2 * at],
        padding_high: padding[2 * at + 1],
        window_dilation: dilations[at],
        base_dilation: base[at],
        reversal: false,
    };
    let window = Window { dims: (0..rank).map(dim).collect() };
    let reducer = match operation.attribute("called_computations") {
        Some(Attribute::List(names)) => names.first().and_then(Attribute::as_text),
        _ => None,
    };
    let Some(reducer) = reducer else { return call.unsupported("the reducer is missing") };
    let to_apply = call.importer.function(reducer, operation)?;
    call.operands.truncate(count);
    call.push(Op::ReduceWindow { window, to_apply })
}

fn random_bits(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let sizes = call.known(1)?;
    let [_, bits] = operation.results[..] else { return call.unsupported("two results are needed") };
    let (Type::Array { element, .. }, Some(&operand)) = (call.importer.program.value(bits), call.operands.first())
    else {
        return call.unsupported("the bits must be an array");
    };
    let shape = Shape::Tuple(vec![call.edit.shape(operand).clone(), Shape::Array(array(call, *element, sizes)?)]);
    let algorithm = match operation.attribute("rng_algorithm").and_then(Attribute::as_text) {
        Some("THREE_FRY") => RandomAlgorithm::ThreeFry,
        Some("PHILOX") => RandomAlgorithm::Philox,
        _ => RandomAlgorithm::Default,
    };
    Ok(call.edit.add_shaped(Op::RngBitGenerator { algorithm }, shape, [operand]))
}
