//! `scatter`.

use fusebox_core::hlo::{ComputationId, GatherDims, ScatterDims};

use crate::caller::Caller;
use crate::error::{Outcome, ensure};
use crate::function::Function;
use crate::gather::Windows;
use crate::reduce::one_or_tuple;
use crate::strided::{for_each_index, position};
use crate::value::{Array, Scalar, Value};
use crate::window::Combiner;

/// Combines windows of the updates into the operands. Skips windows that are not completely in
/// bounds.
pub(crate) fn scatter(
    caller: &mut dyn Caller,
    mut operands: Vec<Value>,
    numbers: &ScatterDims,
    to_apply: ComputationId,
) -> Outcome<Value> {
    let n = operands.len() / 2;
    ensure!(n > 0 && operands.len() == 2 * n + 1, "scatter takes n arrays, the indices and n updates");
    let updates = operands.split_off(n + 1);
    let indices = operands.remove(n);
    let mut results = operands.into_iter().map(Value::into_array).collect::<Outcome<Vec<Array>>>()?;
    let updates = updates.iter().map(Value::array).collect::<Outcome<Vec<&Array>>>()?;
    let fits = results.iter().all(|r| r.dims == results[0].dims) && updates.iter().all(|u| u.dims == updates[0].dims);
    ensure!(fits, "the arrays of a scatter have different shapes");
    let numbers = GatherDims {
        offset_dims: numbers.update_window_dims.clone(),
        collapsed_slice_dims: numbers.inserted_window_dims.clone(),
        start_index_map: numbers.scatter_dims_to_operand_dims.clone(),
        operand_batching_dims: numbers.input_batching_dims.clone(),
        start_indices_batching_dims: numbers.scatter_indices_batching_dims.clone(),
        index_vector_dim: numbers.index_vector_dim,
        ..GatherDims::default()
    };
    let windows = Windows::new(&results[0].dims, &updates[0].dims, indices.array()?, &numbers)?;
    let function = Function::new(caller, to_apply)?;
    match (results.as_mut_slice(), updates.as_slice()) {
        ([result], [update]) => one(caller, &function, &windows, result, update)?,
        _ => several(caller, &function, &windows, &mut results, &updates)?,
    }
    Ok(one_or_tuple(results))
}

fn one(
    caller: &mut dyn Caller,
    function: &Function,
    windows: &Windows,
    result: &mut Array,
    update: &Array,
) -> Outcome<()> {
    let combiner = Combiner::new(function, result.ty);
    for_each_element(windows, |at, from| {
        let value = combiner.combine(caller, result.data.get(at), update.data.get(from))?;
        result.data.set(at, value)
    })?;
    combiner.finish(result);
    Ok(())
}

fn several(
    caller: &mut dyn Caller,
    function: &Function,
    windows: &Windows,
    results: &mut [Array],
    updates: &[&Array],
) -> Outcome<()> {
    for_each_element(windows, |at, from| {
        let mut arguments: Vec<Scalar> = results.iter().map(|r| r.data.get(at)).collect();
        arguments.extend(updates.iter().map(|u| u.data.get(from)));
        let combined = function.call(caller, &arguments)?;
        let fits = combined.len() == results.len();
        ensure!(fits, "the combiner gives another number of values than there are arrays");
        results.iter_mut().zip(&combined).try_for_each(|(r, &value)| r.data.set(at, value))
    })
}

/// For each element of each window, calls `visit` with the element's positions in the operand and
/// in the updates. Visits the windows in the order of the updates.
fn for_each_element(windows: &Windows, mut visit: impl FnMut(usize, usize) -> Outcome<()>) -> Outcome<()> {
    // A u64 above the range of i64 reads as negative, which is out of bounds as well.
    let start = |index, last| usize::try_from(index).ok().filter(|&start| start <= last);
    windows.for_each(start, |to, from| {
        for_each_index(&windows.slice, |index| {
            visit(to + position(index, &windows.array_steps), from + position(index, &windows.slices_steps))
        })
    })
}
