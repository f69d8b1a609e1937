//! `reduce` and `map`.

use fusebox_core::hlo::{ComputationId, ElementType};

use crate::caller::Caller;
use crate::error::{Outcome, ensure, malformed};
use crate::function::{Accumulator, Function};
use crate::gather::others;
use crate::movement::{dimension_numbers, transpose_by};
use crate::strided::{for_each_index, permuted};
use crate::value::{Array, Data, Scalar, Value, element_count};

/// Reduces arrays over some dimensions. `operands` contains n arrays, then n initial values.
pub(crate) fn reduce(
    caller: &mut dyn Caller,
    operands: &[Value],
    dimensions: &[i64],
    to_apply: ComputationId,
) -> Outcome<Value> {
    let (arrays, initial) = arrays_and_initial(operands)?;
    let rank = arrays[0].rank();
    let kept = others(&dimension_numbers(dimensions, rank)?, rank);
    let reduced = others(&kept, rank);
    let (dims, run) = (permuted(&arrays[0].dims, &kept), permuted(&arrays[0].dims, &reduced).iter().product::<usize>());
    // Make the reduced dimensions innermost, so that every result combines one contiguous run of
    // elements.
    let order = [kept, reduced].concat();
    let runs = arrays.iter().map(|a| transpose_by(a, &order)).collect::<Outcome<Vec<_>>>()?;
    let mut first = 0;
    fold(caller, to_apply, &runs.iter().collect::<Vec<_>>(), &initial, &dims, |_, visit| {
        first += run;
        (first - run..first).try_for_each(visit)
    })
}

/// A callback that receives the position of an element.
pub(crate) type Visit<'v> = &'v mut dyn FnMut(usize) -> Outcome<()>;

/// For each index into `dims`, combines the initial values with the array elements that `visit_all`
/// selects. `visit_all` calls its callback with the position of each selected element.
pub(crate) fn fold(
    caller: &mut dyn Caller,
    to_apply: ComputationId,
    arrays: &[&Array],
    initial: &[Scalar],
    dims: &[usize],
    mut visit_all: impl FnMut(&[usize], Visit) -> Outcome<()>,
) -> Outcome<Value> {
    let count = element_count(dims)?;
    let function = Function::new(caller, to_apply)?;
    let mut results: Vec<Data> = arrays.iter().map(|a| Data::with_capacity(a.ty, count)).collect();
    for_each_index(dims, |index| {
        let mut held = Held::new(&function, arrays, initial);
        visit_all(index, &mut |at| held.take(caller, at))?;
        results.iter_mut().enumerate().try_for_each(|(number, data)| data.push(held.value(number)))
    })?;
    let results = results.into_iter().zip(arrays);
    Ok(one_or_tuple(results.map(|(data, a)| Array::new(a.ty, dims.to_vec(), data)).collect()))
}

/// The state of a reduction: the initial values, combined with the array elements visited so far.
pub(crate) struct Held<'f> {
    function: &'f Function,
    arrays: &'f [&'f Array],
    kept: Kept,
    arguments: Vec<Scalar>,
}

/// The result of combining the elements that the reduction has visited so far.
enum Kept {
    /// The state of a reduction that combines a single array by one binary operation: the
    /// accumulator, and the type in which the operation computes.
    Accumulated(Accumulator, ElementType),
    Values(Vec<Scalar>),
}

impl<'f> Held<'f> {
    pub fn new(function: &'f Function, arrays: &'f [&'f Array], initial: &[Scalar]) -> Self {
        let kept = match (function.binary, initial) {
            (Some((op, ty)), &[initial]) => Kept::Accumulated(Accumulator::new(op, initial), ty),
            _ => Kept::Values(initial.to_vec()),
        };
        Held { function, arrays, kept, arguments: Vec::new() }
    }

    /// Combines the arrays' elements at position `at` with the result so far.
    pub fn take(&mut self, caller: &mut dyn Caller, at: usize) -> Outcome<()> {
        let held = match &mut self.kept {
            Kept::Accumulated(accumulator, ty) => return accumulator.add(*ty, self.arrays[0].data.get(at)),
            Kept::Values(held) => held,
        };
        self.arguments.clear();
        self.arguments.extend_from_slice(held);
        self.arguments.extend(self.arrays.iter().map(|array| array.data.get(at)));
        *held = self.function.call(caller, &self.arguments)?;
        if held.len() != self.arrays.len() {
            return malformed(format!("the combiner gives {} values for {}", held.len(), self.arrays.len()));
        }
        Ok(())
    }

    /// Returns the combined value of one array.
    pub fn value(&self, array: usize) -> Scalar {
        match &self.kept {
            Kept::Accumulated(accumulator, ty) => accumulator.value(*ty),
            Kept::Values(held) => held[array],
        }
    }
}

/// Splits the operands into two halves: arrays of equal dimensions, and scalar initial values.
pub(crate) fn arrays_and_initial(operands: &[Value]) -> Outcome<(Vec<&Array>, Vec<Scalar>)> {
    ensure!(!operands.is_empty() && operands.len().is_multiple_of(2), "expected one initial value per array");
    let (arrays, initial) = operands.split_at(operands.len() / 2);
    let arrays = arrays.iter().map(Value::array).collect::<Outcome<Vec<_>>>()?;
    let initial = initial.iter().map(|v| v.array()?.single()).collect::<Outcome<Vec<_>>>()?;
    ensure!(arrays.iter().all(|a| a.dims == arrays[0].dims), "the arrays have different shapes");
    Ok((arrays, initial))
}

/// Returns a single array unchanged, and several arrays as a tuple.
pub(crate) fn one_or_tuple(results: Vec<Array>) -> Value {
    Value::one_or_tuple(results.into_iter().map(Value::from).collect())
}

/// Applies a computation to corresponding elements of several arrays.
pub(crate) fn map(
    caller: &mut dyn Caller,
    operands: &[Value],
    to_apply: ComputationId,
    ty: ElementType,
) -> Outcome<Array> {
    let arrays = operands.iter().map(Value::array).collect::<Outcome<Vec<_>>>()?;
    let Some(first) = arrays.first() else {
        return malformed("map takes at least one operand");
    };
    ensure!(arrays.iter().all(|a| a.dims == first.dims), "the operands have different shapes");
    let function = Function::new(caller, to_apply)?;
    let mut data = Data::with_capacity(ty, first.len());
    let mut arguments = Vec::with_capacity(arrays.len());
    for i in 0..first.len() {
        arguments.clear();
        arguments.extend(arrays.iter().map(|a| a.data.get(i)));
        data.push(function.call_for_one(caller, &arguments)?)?;
    }
    Ok(Array::new(ty, first.dims.clone(), data))
}
