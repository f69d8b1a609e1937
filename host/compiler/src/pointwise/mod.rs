//! Finds kernels that may write an output in-place into a parameter.
//!
//! Writing in-place requires that each read of an element of the parameter precedes the write of
//! the output's element at the same index. The write may follow the read in the same iteration, or
//! in a later loop with the same iterations. For example, one loop reads a row, and a later loop
//! writes the row. The check inspects the kernel's operations, so it works for all emitters. The
//! compiler then rewrites the kernel to read the output instead of the parameter. The output's
//! initial value is the parameter's value (see
//! [`OutputPlan::initial`](fusebox_core::emitter::OutputPlan)).

mod definitions;
mod read_order;
mod tensor_tracer;

#[cfg(test)]
mod tests;

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use fusebox_core::emitter::WriteMode;
use fusebox_core::ir::{Function, OpKind, Region, Value};

use crate::select::Selected;
use definitions::ValueDefinitions;
use read_order::ReadOrderCheck;

/// A parameter, and an output that may be written into the parameter's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InPlacePair {
    /// Number of the parameter.
    pub parameter: usize,
    /// Index of the output.
    pub output: usize,
}

/// Returns all pairs of a kernel's parameters and outputs that allow in-place writes.
pub fn pairs(kernel: &Selected) -> Vec<InPlacePair> {
    let Some(entry) = entry(&kernel.functions, &kernel.unit.fusion.name) else { return Vec::new() };
    let outputs = kernel.plan.outputs.len();
    let parameters = entry.body.arguments.len().saturating_sub(outputs);
    let (inputs, results) = entry.body.arguments.split_at(parameters);
    // Computed once for all outputs, and only if an output has the type of a parameter.
    let definitions = LazyCell::new(|| ValueDefinitions::of(entry));
    let mut pairs = Vec::new();
    for (output, &result) in results.iter().enumerate() {
        let fits = |&parameter: &usize| entry.type_of(inputs[parameter]) == entry.type_of(result);
        let mut parameters = (0..parameters).filter(fits).peekable();
        if kernel.plan.outputs[output].mode == WriteMode::Unique && parameters.peek().is_some() {
            let reads = ReadOrderCheck::new(&kernel.functions, entry, output_aliases(entry, result), &definitions);
            let in_place = parameters.filter(|&parameter| reads.precede_writes(inputs[parameter]));
            pairs.extend(in_place.map(|parameter| InPlacePair { parameter, output }));
        }
    }
    pairs
}

/// Rewrites a kernel so that it reads the output instead of the parameter.
pub fn write_in_place(kernel: &mut Selected, InPlacePair { parameter, output }: InPlacePair) {
    let name = &kernel.unit.fusion.name;
    let outputs = kernel.plan.outputs.len();
    let Some(entry) = kernel.functions.iter_mut().find(|function| &function.name == name) else { return };
    let place = entry.body.arguments.len() - outputs + output;
    let (old, new) = (entry.body.arguments[parameter], entry.body.arguments[place]);
    replace(&mut entry.body, old, new);
    let plan = &mut kernel.plan.outputs[output];
    (plan.mode, plan.initial) = (WriteMode::InPlace, Some(parameter as u32));
}

/// Whether a kernel uses a parameter. A kernel does not use a parameter that an output replaces
/// in-place, because the kernel reads the output instead.
pub fn uses_parameter(kernel: &Selected, parameter: usize) -> bool {
    let entry = entry(&kernel.functions, &kernel.unit.fusion.name);
    entry.is_none_or(|it| it.body.arguments.get(parameter).is_none_or(|&argument| uses(&it.body, argument) > 0))
}

pub fn entry<'f>(functions: &'f [Function], name: &str) -> Option<&'f Function> {
    functions.iter().find(|function| function.name == name)
}

/// Returns all SSA values that represent an output: the kernel's argument, the result of each
/// insertion, and the values that loops and branches carry.
fn output_aliases(entry: &Function, output: Value) -> HashSet<Value> {
    let mut links: HashMap<Value, Vec<Value>> = HashMap::new();
    let mut link = |same: &[Value]| {
        for pair in same.windows(2).filter(|pair| entry.type_of(pair[0]) == entry.type_of(output)) {
            links.entry(pair[0]).or_default().push(pair[1]);
            links.entry(pair[1]).or_default().push(pair[0]);
        }
    };
    entry.body.walk(&mut |op| match (op.kind, &op.regions[..]) {
        (OpKind::Insert | OpKind::TransferWrite | OpKind::PredicatedInsert, _) => {
            op.operands.get(1).zip(op.results.first()).into_iter().for_each(|(before, after)| link(&[*before, *after]));
        }
        (OpKind::SyncThreads, _) => op.operands.iter().zip(&op.results).for_each(|(it, after)| link(&[*it, *after])),
        // The last operands of a loop are its initial loop-carried values. The last arguments of
        // its body correspond to them.
        (OpKind::For | OpKind::Loop, [body]) => {
            let (starts, arguments) = (op.operands.iter().rev(), body.arguments.iter().rev());
            let (next, results) = (body.yielded().iter().rev(), op.results.iter().rev());
            let carried = starts.zip(arguments).zip(next).zip(results);
            carried.for_each(|(((start, argument), next), result)| link(&[*start, *argument, *next, *result]));
        }
        (OpKind::If | OpKind::IndexSwitch, branches) => {
            let of_branch =
                |branch: &Region| branch.yielded().iter().copied().zip(op.results.iter().copied()).collect();
            let all: Vec<(Value, Value)> = branches.iter().flat_map::<Vec<(Value, Value)>, _>(of_branch).collect();
            all.into_iter().for_each(|(value, result)| link(&[value, result]));
        }
        _ => {}
    });
    let mut found = HashSet::from([output]);
    let mut pending = vec![output];
    while let Some(value) = pending.pop() {
        let next = links.get(&value).into_iter().flatten();
        pending.extend(next.filter(|next| found.insert(**next)));
    }
    found
}

/// Counts the uses of a value as an operand, including nested regions.
fn uses(region: &Region, value: Value) -> usize {
    let mut count = 0;
    region.walk(&mut |op| count += op.operands.iter().filter(|&&operand| operand == value).count());
    count
}

fn replace(region: &mut Region, old: Value, new: Value) {
    for op in &mut region.operations {
        op.operands.iter_mut().filter(|operand| **operand == old).for_each(|operand| *operand = new);
        op.regions.iter_mut().for_each(|region| replace(region, old, new));
    }
}
