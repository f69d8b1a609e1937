//! `sort` and `topk`.

use fusebox_core::hlo::{ComputationId, ElementType};

use crate::caller::Caller;
use crate::error::{Outcome, ensure, malformed, unsupported};
use crate::function::Function;
use crate::movement::dimension_number;
use crate::number::total_order;
use crate::reduce::one_or_tuple;
use crate::strided::{for_each_index, position, strides};
use crate::value::{Array, Data, Value};

/// Sorts the operands along a dimension by a comparator. All operands are reordered together. The
/// sort is always stable.
pub(crate) fn sort(
    caller: &mut dyn Caller,
    operands: Vec<Value>,
    dimension: i64,
    to_apply: ComputationId,
) -> Outcome<Value> {
    let arrays = operands.iter().map(Value::array).collect::<Outcome<Vec<&Array>>>()?;
    let Some(first) = arrays.first() else {
        return malformed("sort takes at least one operand");
    };
    ensure!(arrays.iter().all(|a| a.dims == first.dims), "the operands of sort have different shapes");
    let d = dimension_number(dimension, first.rank())?;
    let steps = strides(&first.dims);
    let mut line_starts = first.dims.clone();
    line_starts[d] = line_starts[d].min(1);
    let mut results: Vec<Array> = arrays.iter().map(|&a| a.clone()).collect();
    let less = Function::new(caller, to_apply)?;
    let mut arguments = Vec::with_capacity(2 * arrays.len());
    for_each_index(&line_starts, |start| {
        let base = position(start, &steps);
        let line: Vec<usize> = (0..first.dims[d]).map(|i| base + i * steps[d] as usize).collect();
        let sorted = merge_sort(line.clone(), &mut |&a, &b| {
            arguments.clear();
            arguments.extend(arrays.iter().flat_map(|x| [x.data.get(a), x.data.get(b)]));
            less.holds(caller, &arguments)
        })?;
        for (result, array) in results.iter_mut().zip(&arrays) {
            for (&to, &from) in line.iter().zip(&sorted) {
                result.data.set(to, array.data.get(from))?;
            }
        }
        Ok(())
    })?;
    Ok(one_or_tuple(results))
}

/// Sorts by merging. The sort is stable. `before` returns whether one element precedes another. The
/// sort must terminate for any results of `before`, because users write comparators.
fn merge_sort<T: Copy>(items: Vec<T>, before: &mut impl FnMut(&T, &T) -> Outcome<bool>) -> Outcome<Vec<T>> {
    let mut sorted = items;
    let mut width = 1;
    while width < sorted.len() {
        let mut merged = Vec::with_capacity(sorted.len());
        for pair in sorted.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(&l), Some(&r)) = (left.first(), right.first()) {
                // The right element goes first only if it precedes the left one, so equal elements
                // keep their order.
                if before(&r, &l)? {
                    merged.push(r);
                    right = &right[1..];
                } else {
                    merged.push(l);
                    left = &left[1..];
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        sorted = merged;
        width *= 2;
    }
    Ok(sorted)
}

/// Returns the `k` largest (or smallest) elements of every row along the last dimension, in order,
/// and their indices. Floats are compared by total order. Equal elements keep their order.
pub(crate) fn topk(x: &Array, k: i64, largest: bool) -> Outcome<Value> {
    let Some((&length, outer)) = x.dims.split_last() else {
        return malformed("topk of a scalar");
    };
    let k = match usize::try_from(k) {
        Ok(k) if k <= length => k,
        _ => return malformed(format!("topk of {k} among {length} elements")),
    };
    let keys: Vec<i64> = match &x.data {
        Data::Int(v) if x.ty == ElementType::U64 => v.iter().map(|&i| i ^ i64::MIN).collect(),
        Data::Int(v) => v.clone(),
        Data::Float(v) => v.iter().map(|&f| total_order(x.ty, f)).collect(),
        Data::Complex(_) => return unsupported("topk of complex numbers"),
    };
    let lines: usize = outer.iter().product();
    let mut dims = outer.to_vec();
    dims.push(k);
    let mut values = Data::with_capacity(x.ty, lines * k);
    let mut places = Vec::with_capacity(lines * k);
    for line in 0..lines {
        let mut order: Vec<usize> = (0..length).collect();
        let key = |i: usize| keys[line * length + i];
        order.sort_by(|&a, &b| if largest { key(b).cmp(&key(a)) } else { key(a).cmp(&key(b)) });
        for &i in &order[..k] {
            values.push(x.data.get(line * length + i))?;
            places.push(i as i64);
        }
    }
    let values = Array::new(x.ty, dims.clone(), values);
    let places = Array::new(ElementType::S32, dims, Data::Int(places));
    Ok(Value::Tuple(vec![values.into(), places.into()]))
}
