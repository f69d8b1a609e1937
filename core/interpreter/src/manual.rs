//! Manual computations on several devices: division of arrays into parts, joining of parts, and
//! collective operations.

use std::collections::BTreeMap;

use fusebox_core::hlo::{
    BinaryOp, Collective, CollectiveKind, CustomCallAttrs, ElementType, Instruction, ManualComputation, Meshes, Tiling,
};

use crate::caller::Caller;
use crate::devices::Device;
use crate::elementwise;
use crate::error::{Outcome, ensure, malformed, unsupported};
use crate::movement::{concatenate, dynamic_slice, dynamic_update_slice};
use crate::operands::Operands;
use crate::value::{Array, Scalar, Value};

/// Evaluates a custom call that divides operands among devices, joins the devices' results, or
/// executes a whole manual computation. Returns `None` if the custom call belongs to no manual
/// computation, or the program has only one device.
pub(crate) fn custom_call(
    caller: &mut dyn Caller,
    instruction: &Instruction,
    attrs: &CustomCallAttrs,
    operands: &Operands,
) -> Option<Outcome<Value>> {
    let device = caller.device()?;
    match attrs.target.as_str() {
        ManualComputation::DIVIDE => {
            Some(read(caller, instruction).and_then(|manual| divided(&manual, device, operands)))
        }
        ManualComputation::JOIN => {
            Some(read(caller, instruction).and_then(|manual| joined(&manual, device, instruction, operands)))
        }
        ManualComputation::TARGET => Some(whole(caller, instruction, attrs, operands)),
        _ => None,
    }
}

fn whole(
    caller: &mut dyn Caller,
    instruction: &Instruction,
    attrs: &CustomCallAttrs,
    operands: &Operands,
) -> Outcome<Value> {
    let manual = read(caller, instruction)?;
    let parts = match caller.device() {
        Some(device) => divided(&manual, device, operands)?,
        None => return malformed("a manual computation needs devices"),
    };
    let arguments = match parts {
        Value::Tuple(elements) => elements,
        single => vec![single],
    };
    let [body] = attrs.called[..] else { return malformed("a manual computation calls one computation") };
    let results = match caller.call_on_device(body, arguments)? {
        Value::Tuple(elements) => elements,
        single => vec![single],
    };
    match caller.device() {
        Some(device) => joined(&manual, device, instruction, &Operands(results)),
        None => malformed("a manual computation needs devices"),
    }
}

fn read(caller: &dyn Caller, instruction: &Instruction) -> Outcome<ManualComputation> {
    let attributes = instruction.extra.as_ref().map_or_else(BTreeMap::new, |extra| extra.frontend_attributes.clone());
    let manual = Meshes::of(caller.module()).and_then(|meshes| ManualComputation::read(&attributes, &meshes));
    manual.or_else(unsupported)
}

/// Divides the operands, and returns the parts that belong to `device`.
fn divided(manual: &ManualComputation, device: &Device, operands: &Operands) -> Outcome<Value> {
    let mut parts = Vec::new();
    for (number, operand) in operands.0.iter().enumerate() {
        parts.push(match operand {
            Value::Array(array) => part(array, &tiling(manual.input(number))?, device.number)?.into(),
            other => other.clone(),
        });
    }
    Ok(Value::one_or_tuple(parts))
}

fn tiling(tiling: Result<Tiling, String>) -> Outcome<Tiling> {
    tiling.or_else(malformed)
}

/// Returns the start indices and the dimensions of a device's part of an array.
fn place(dims: &[usize], tiling: &Tiling, device: i64) -> Outcome<(Vec<Array>, Vec<usize>)> {
    let whole: Vec<i64> = dims.iter().map(|&size| size as i64).collect();
    ensure!(tiling.tile_dims(&whole).is_some(), "an array {dims:?} is not divided evenly");
    let ranges = tiling.part(device as usize, &whole);
    let sizes = ranges.iter().map(|range| (range.end - range.start) as usize).collect();
    let starts = ranges.iter().map(|range| Array::scalar(ElementType::S64, Scalar::Int(range.start))).collect();
    Ok((starts, sizes))
}

fn part(array: &Array, tiling: &Tiling, device: i64) -> Outcome<Array> {
    if tiling.term(device as usize) > 0 {
        let (_, sizes) = place(&array.dims, tiling, device)?;
        return Array::zeros(array.ty, sizes);
    }
    let (starts, sizes) = place(&array.dims, tiling, device)?;
    dynamic_slice(array, &starts.iter().collect::<Vec<_>>(), &sizes)
}

/// Joins the parts that the devices hold, and returns the whole arrays.
fn joined(
    manual: &ManualComputation,
    device: &Device,
    instruction: &Instruction,
    operands: &Operands,
) -> Outcome<Value> {
    let shapes = instruction.shape.as_tuple().unwrap_or(std::slice::from_ref(&instruction.shape));
    ensure!(shapes.len() == operands.0.len(), "{} results for {} parts", shapes.len(), operands.0.len());
    let group: Vec<i64> = manual.together_with(device.number).into_iter().collect();
    let own: Vec<Array> = operands.0.iter().filter_map(|value| value.array().ok().cloned()).collect();
    let all = device.meet(&group, own)?;
    let mut arrays = 0..;
    let mut results = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        let Value::Array(whole) = Value::zeros(shape)? else {
            results.push(operands.0[number].clone());
            continue;
        };
        let (tiling, index) = (tiling(manual.output(number))?, arrays.next().unwrap_or(0));
        let zeros = std::rc::Rc::unwrap_or_clone(whole);
        let mut terms = vec![zeros; tiling.terms() as usize];
        for (member, sent) in group.iter().zip(all.iter()) {
            let term = &mut terms[tiling.term(*member as usize) as usize];
            let (starts, sizes) = place(&term.dims, &tiling, *member)?;
            ensure!(sent[index].dims == sizes, "a part {:?} is declared as {sizes:?}", sent[index].dims);
            let starts: Vec<&Array> = starts.iter().collect();
            *term = dynamic_update_slice(term.clone(), &sent[index], &starts)?;
        }
        results.push(combined(BinaryOp::Add, &terms.iter().collect::<Vec<_>>())?.into());
    }
    Ok(Value::one_or_tuple(results))
}

/// Evaluates a collective operation in a manual computation.
pub(crate) fn collective(
    caller: &dyn Caller,
    device: &Device,
    instruction: &Instruction,
    operands: &Operands,
) -> Outcome<Value> {
    let collective = Collective::of(caller.module(), instruction).or_else(unsupported)?;
    let devices: Vec<i64> = (0..device.count).collect();
    let Some(group) = collective.group_of(device.number, &devices) else {
        return unsupported(format!("device {} is in no group", device.number));
    };
    let rank = group.iter().position(|&it| it == device.number).unwrap_or_default();
    let sent = operands.rest(0)?.into_iter().cloned().collect();
    let all = device.meet(&group, sent)?;
    let count = operands.0.len();
    let of_operand = |number: usize| all.iter().map(|sent| &sent[number]).collect::<Vec<&Array>>();
    let received = |number: usize| -> Outcome<Array> {
        let arrays = of_operand(number);
        let size = arrays.len();
        match &collective.kind {
            CollectiveKind::AllReduce(op) => combined(*op, &arrays),
            CollectiveKind::Broadcast => Ok(arrays[0].clone()),
            CollectiveKind::AllGather(d) => together(&arrays, *d),
            CollectiveKind::ReduceScatter(op, d) => piece(&combined(*op, &arrays)?, *d, rank, size),
            CollectiveKind::AllToAll(Some(d)) => {
                let pieces = arrays.iter().map(|array| piece(array, *d, rank, size)).collect::<Outcome<Vec<_>>>()?;
                together(&pieces.iter().collect::<Vec<_>>(), *d)
            }
            CollectiveKind::AllToAll(None) => {
                ensure!(count == size, "{count} operands for {size} devices");
                Ok(all[number][rank].clone())
            }
            CollectiveKind::Permute(pairs) => {
                let source = pairs.iter().find(|(_, target)| *target == device.number).map(|(source, _)| source);
                match source.and_then(|source| group.iter().position(|it| it == source)) {
                    Some(source) => Ok(arrays[source].clone()),
                    None => Array::zeros(arrays[0].ty, arrays[0].dims.clone()),
                }
            }
        }
    };
    let results = (0..count).map(|number| received(number).map(Value::from)).collect::<Outcome<Vec<_>>>()?;
    let is_tuple = instruction.shape.as_tuple().is_some();
    Ok(if is_tuple { Value::Tuple(results) } else { Value::one_or_tuple(results) })
}

fn combined(op: BinaryOp, arrays: &[&Array]) -> Outcome<Array> {
    let mut sum = arrays[0].clone();
    for array in &arrays[1..] {
        sum = elementwise::binary(op, &sum, array, sum.ty)?;
    }
    Ok(sum)
}

fn together(arrays: &[&Array], dimension: usize) -> Outcome<Array> {
    let mut dims = arrays[0].dims.clone();
    ensure!(dimension < dims.len(), "there is no dimension {dimension}");
    dims[dimension] *= arrays.len();
    concatenate(arrays, dimension as i64, arrays[0].ty, dims)
}

/// Divides an array into `count` equal pieces along a dimension, and returns piece `number`.
fn piece(array: &Array, dimension: usize, number: usize, count: usize) -> Outcome<Array> {
    let mut sizes = array.dims.clone();
    ensure!(dimension < sizes.len() && sizes[dimension].is_multiple_of(count), "{sizes:?} has no {count} equal pieces");
    sizes[dimension] /= count;
    let start = |d: usize| if d == dimension { (number * sizes[d]) as i64 } else { 0 };
    let starts = (0..sizes.len()).map(|d| Array::scalar(ElementType::S64, Scalar::Int(start(d))));
    let starts: Vec<Array> = starts.collect();
    dynamic_slice(array, &starts.iter().collect::<Vec<_>>(), &sizes)
}
