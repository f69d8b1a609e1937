//! `scan`: a loop along one dimension. Each iteration applies a computation, which also updates the
//! loop-carried values.

use fusebox_core::hlo::{Instruction, Op, Shape};

use crate::caller::Caller;
use crate::error::{Outcome, ensure, malformed};
use crate::movement::{dimension_number, view};
use crate::strided::{self, strides};
use crate::value::{Array, Value, both_kinds, dims_of};

/// Evaluates `scan`. The operands are the arrays, then the initial carries (loop-carried values).
/// The computation maps (slices, carries) to (output slices, carries). The results are the outputs,
/// then the last carries.
pub(crate) fn scan(caller: &mut dyn Caller, instruction: &Instruction, operands: Vec<Value>) -> Outcome<Value> {
    let (&Op::Scan { dimension, num_carries, is_reverse, to_apply, .. }, Some(shapes)) =
        (&instruction.op, instruction.shape.as_tuple())
    else {
        return malformed("scan gives a tuple");
    };
    let Some(results) = shapes.iter().map(Shape::as_array).collect::<Option<Vec<_>>>() else {
        return malformed("scan gives a tuple of arrays");
    };
    let carried = usize::try_from(num_carries).unwrap_or(usize::MAX);
    let (Some(inputs), Some(outputs)) = (operands.len().checked_sub(carried), results.len().checked_sub(carried))
    else {
        return malformed("scan has fewer operands or results than carries");
    };
    let arrays = operands[..inputs].iter().map(Value::array).collect::<Outcome<Vec<&Array>>>()?;
    let mut carries: Vec<Value> = operands[inputs..].to_vec();
    let along = |rank: usize| dimension_number(dimension, rank);
    let length = match (arrays.first(), results[..outputs].first()) {
        (Some(input), _) => input.dims[along(input.rank())?],
        (None, Some(output)) => dims_of(output)?[along(output.rank())?],
        (None, None) => return malformed("scan has neither inputs nor outputs, so it has no length"),
    };
    let mut written = Vec::new();
    for shape in &results[..outputs] {
        let (d, mut dims) = (along(shape.rank())?, dims_of(shape)?);
        if shape.is_dynamic(d) {
            dims[d] = length;
        }
        written.push(Array::zeros(shape.element_type, dims)?);
    }
    for step in 0..length {
        let at = if is_reverse { length - 1 - step } else { step };
        let mut arguments = Vec::with_capacity(operands.len());
        for array in &arrays {
            arguments.push(Value::from(slice_at(array, dimension, at)?));
        }
        arguments.append(&mut carries);
        let Value::Tuple(mut values) = caller.call(to_apply, arguments)? else {
            return malformed("the computation of a scan gives a tuple of outputs and carries");
        };
        let fits = values.len() == outputs + carried;
        ensure!(fits, "the computation of a scan gives another number of values than the scan");
        carries = values.split_off(outputs);
        for (array, value) in written.iter_mut().zip(&values) {
            write_at(array, dimension, at, value.array()?)?;
        }
    }
    let mut elements: Vec<Value> = written.into_iter().map(Value::from).collect();
    elements.append(&mut carries);
    Ok(Value::Tuple(elements))
}

/// Returns the elements at one index of a dimension, without that dimension.
fn slice_at(array: &Array, dimension: i64, at: usize) -> Outcome<Array> {
    let (d, mut steps, mut dims) =
        (dimension_number(dimension, array.rank())?, strides(&array.dims), array.dims.clone());
    ensure!(at < dims[d], "the inputs of a scan differ in length");
    let offset = at as isize * steps[d];
    dims.remove(d);
    steps.remove(d);
    view(array, offset, dims, &steps)
}

fn write_at(array: &mut Array, dimension: i64, at: usize, value: &Array) -> Outcome<()> {
    let (d, mut steps, mut dims) =
        (dimension_number(dimension, array.rank())?, strides(&array.dims), array.dims.clone());
    let offset = at as isize * steps[d];
    let length = dims.remove(d);
    steps.remove(d);
    ensure!(at < length && value.dims == dims, "an output of the computation does not fit the result of the scan");
    both_kinds!(&mut array.data, &value.data, t, s => strided::write(t, offset, &dims, &steps, s),
        else return malformed("an output of the computation has another type than the result of the scan"));
    Ok(())
}
