//! `reduce` and `map`.

use fusebox_core::hlo::{BinaryOp, ComputationId, ElementType};

use crate::error::{Outcome, malformed};
use crate::evaluator::Evaluator;
use crate::function::{Accumulator, Function};
use crate::movement::{dimension_numbers, transpose_by};
use crate::strided::permuted;
use crate::value::{Array, Data, Scalar, Value, element_count};

/// Reduces `operands` (n arrays, n initial values) over some dimensions.
pub(crate) fn reduce(
    evaluator: &mut Evaluator,
    operands: &[Value],
    dimensions: &[i64],
    to_apply: ComputationId,
) -> Outcome<Value> {
    let (arrays, initial) = arrays_and_initial(operands)?;
    let rank = arrays[0].rank();
    let reduced = dimension_numbers(dimensions, rank)?;
    let kept: Vec<usize> = (0..rank).filter(|d| !reduced.contains(d)).collect();
    let dims = permuted(&arrays[0].dims, &kept);
    // The reduced dimensions go innermost: every result then combines one run of elements.
    let mut order = kept;
    order.extend((0..rank).filter(|d| reduced.contains(d)));
    let runs = arrays.iter().map(|a| transpose_by(a, &order)).collect::<Outcome<Vec<_>>>()?;
    let run = permuted(&arrays[0].dims, &order[dims.len()..]).iter().product();

    let mut function = Function::new(evaluator, to_apply)?;
    let results = match (function.as_binary(), runs.as_slice()) {
        (Some((op, ty)), [array]) => vec![by_operation(op, ty, array, initial[0], &dims, run)?],
        _ => by_function(evaluator, &mut function, &runs, &initial, &dims, run)?,
    };
    Ok(one_or_tuple(results))
}

/// The two halves of the operands: arrays of equal dimensions, and scalars.
pub(crate) fn arrays_and_initial(operands: &[Value]) -> Outcome<(Vec<&Array>, Vec<Scalar>)> {
    if operands.is_empty() || !operands.len().is_multiple_of(2) {
        return malformed("as many initial values as arrays are wanted");
    }
    let (arrays, initial) = operands.split_at(operands.len() / 2);
    let arrays = arrays.iter().map(Value::array).collect::<Outcome<Vec<_>>>()?;
    let initial = initial.iter().map(|v| v.array()?.single()).collect::<Outcome<Vec<_>>>()?;
    if arrays.iter().any(|a| a.dims != arrays[0].dims) {
        return malformed("the arrays have different shapes");
    }
    Ok((arrays, initial))
}

/// One array by itself, several as a tuple.
pub(crate) fn one_or_tuple(mut results: Vec<Array>) -> Value {
    match results.len() {
        1 => results.remove(0).into(),
        _ => Value::Tuple(results.into_iter().map(Value::from).collect()),
    }
}

fn by_operation(
    op: BinaryOp,
    ty: ElementType,
    array: &Array,
    initial: Scalar,
    dims: &[usize],
    run: usize,
) -> Outcome<Array> {
    let count = element_count(dims)?;
    let mut data = Data::with_capacity(array.ty, count);
    for result in 0..count {
        let mut accumulator = Accumulator::new(op, initial);
        for i in result * run..(result + 1) * run {
            accumulator.add(ty, array.data.get(i))?;
        }
        data.push(accumulator.value(ty))?;
    }
    Ok(Array::new(array.ty, dims.to_vec(), data))
}

fn by_function(
    evaluator: &mut Evaluator,
    function: &mut Function,
    arrays: &[Array],
    initial: &[Scalar],
    dims: &[usize],
    run: usize,
) -> Outcome<Vec<Array>> {
    let count = element_count(dims)?;
    let mut results: Vec<Data> = arrays.iter().map(|a| Data::with_capacity(a.ty, count)).collect();
    let mut arguments = Vec::with_capacity(2 * arrays.len());
    for result in 0..count {
        let mut held = initial.to_vec();
        for i in result * run..(result + 1) * run {
            arguments.clear();
            arguments.extend_from_slice(&held);
            arguments.extend(arrays.iter().map(|a| a.data.get(i)));
            function.call(evaluator, &arguments)?;
            held.clone_from(&function.results);
            if held.len() != arrays.len() {
                return malformed(format!("the combiner gives {} values for {}", held.len(), arrays.len()));
            }
        }
        for (data, &value) in results.iter_mut().zip(&held) {
            data.push(value)?;
        }
    }
    Ok(results.into_iter().zip(arrays).map(|(data, a)| Array::new(a.ty, dims.to_vec(), data)).collect())
}

/// Applies a computation to corresponding elements.
pub(crate) fn map(
    evaluator: &mut Evaluator,
    operands: &[Value],
    to_apply: ComputationId,
    ty: ElementType,
) -> Outcome<Array> {
    let arrays = operands.iter().map(Value::array).collect::<Outcome<Vec<_>>>()?;
    let Some(first) = arrays.first() else {
        return malformed("map takes at least one operand");
    };
    if arrays.iter().any(|a| a.dims != first.dims) {
        return malformed("the operands have different shapes");
    }
    let mut function = Function::new(evaluator, to_apply)?;
    let mut data = Data::with_capacity(ty, first.len());
    let mut arguments = Vec::with_capacity(arrays.len());
    for i in 0..first.len() {
        arguments.clear();
        arguments.extend(arrays.iter().map(|a| a.data.get(i)));
        data.push(function.call_for_one(evaluator, &arguments)?)?;
    }
    Ok(Array::new(ty, first.dims.clone(), data))
}
