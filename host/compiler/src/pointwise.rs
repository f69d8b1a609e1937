//! Kernels that may leave an output where a parameter stands, element by element.
//!
//! A kernel may if it reads each element of the parameter only in the turn of the loop that writes the output's element of the same
//! index, and before that. This shows in the kernel's own operations, whoever wrote it. It is then written so that it reads the output
//! itself, whose initial value is the parameter's (see [`OutputPlan::initial`](fusebox_core::emitter::OutputPlan)).

use std::collections::HashSet;

use fusebox_core::emitter::WriteMode;
use fusebox_core::ir::{Function, OpKind, Operation, Region, Value};

use crate::select::Selected;

/// A parameter and the output that may take its place, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// Number of the parameter.
    pub parameter: usize,
    /// Number of the output.
    pub output: usize,
}

/// All such pairs of a kernel.
pub fn pairs(kernel: &Selected) -> Vec<Pair> {
    let Some(entry) = entry(&kernel.functions, &kernel.unit.fusion.name) else { return Vec::new() };
    let outputs = kernel.plan.outputs.len();
    let parameters = entry.body.arguments.len().saturating_sub(outputs);
    let (inputs, results) = entry.body.arguments.split_at(parameters);
    let unique = (0..outputs).filter(|&output| kernel.plan.outputs[output].mode == WriteMode::Unique);
    let pairs =
        unique.filter_map(|output| Some((output, written(entry, results[output])?))).flat_map(|(output, writes)| {
            let fits = move |&parameter: &usize| {
                entry.type_of(inputs[parameter]) == entry.type_of(results[output])
                    && reads_first(&kernel.functions, entry, inputs[parameter], &writes)
            };
            (0..parameters).filter(fits).map(move |parameter| Pair { parameter, output })
        });
    pairs.collect()
}

/// Lets a kernel read the output where it read the parameter.
pub fn let_stand_in_place(kernel: &mut Selected, Pair { parameter, output }: Pair) {
    let name = &kernel.unit.fusion.name;
    let outputs = kernel.plan.outputs.len();
    let Some(entry) = kernel.functions.iter_mut().find(|function| &function.name == name) else { return };
    let place = entry.body.arguments.len() - outputs + output;
    let (old, new) = (entry.body.arguments[parameter], entry.body.arguments[place]);
    replace(&mut entry.body, old, new);
    let plan = &mut kernel.plan.outputs[output];
    (plan.mode, plan.initial) = (WriteMode::InPlace, Some(parameter as u32));
}

/// Whether a kernel goes by a parameter of that number at all: one whose place an output has taken is read there.
pub fn uses_parameter(kernel: &Selected, parameter: usize) -> bool {
    let entry = entry(&kernel.functions, &kernel.unit.fusion.name);
    entry.is_none_or(|it| it.body.arguments.get(parameter).is_none_or(|&argument| uses(&it.body, argument) > 0))
}

fn entry<'f>(functions: &'f [Function], name: &str) -> Option<&'f Function> {
    functions.iter().find(|function| function.name == name)
}

/// Where all elements of an output are written.
struct Writes<'f> {
    /// The loop's body.
    body: &'f Region,
    /// Of each insertion in it, in order, its place and the index. No element is written twice.
    insertions: Vec<(usize, &'f [Value])>,
}

/// The only insertions into an output, in a loop that is given the output and hands it on.
fn written(entry: &Function, output: Value) -> Option<Writes<'_>> {
    let mut users = entry.body.operations.iter().filter(|op| op.operands.contains(&output));
    let (Some(outer), None) = (users.next(), users.next()) else { return None };
    let place = outer.operands.iter().position(|&operand| operand == output)?;
    let ([body], true) = (&outer.regions[..], outer.kind == OpKind::Loop) else { return None };
    // Of a loop's operands the last are what it hands on, as the last of its body's arguments are.
    let from_end = outer.operands.len() - place;
    let mut carried = *body.arguments.get(body.arguments.len().checked_sub(from_end)?)?;
    let handed_on = *body.yielded().get(body.yielded().len().checked_sub(from_end)?)?;
    let mut insertions = Vec::new();
    while carried != handed_on {
        let at = body.operations.iter().position(|op| op.operands.contains(&carried))?;
        let insertion = &body.operations[at];
        let is_insertion = insertion.kind == OpKind::Insert && insertion.operands.get(1) == Some(&carried);
        if !is_insertion || uses(body, carried) != 1 {
            return None;
        }
        insertions.push((at, &insertion.operands[2..]));
        carried = *insertion.results.first()?;
    }
    (uses(body, handed_on) == 1 && !insertions.is_empty()).then_some(Writes { body, insertions })
}

/// Whether the entry reads a parameter only at the indices of writes, each in the same turn of the loop as the write and before it. A
/// call that is given the parameter and does not go by it may stand anywhere.
fn reads_first(functions: &[Function], entry: &Function, parameter: Value, writes: &Writes<'_>) -> bool {
    let rank = writes.insertions.first().map_or(0, |(_, index)| index.len());
    // As nothing has so many dimensions, nothing is read there.
    let nowhere: Index = vec![None; rank + 1];
    let are_at = |op, index: &Index| Reads { functions, known: HashSet::new() }.are_at(op, parameter, index);
    let mut users: Vec<&Operation> = Vec::new();
    entry.body.walk(&mut |op| users.extend(op.operands.contains(&parameter).then_some(op)));
    users.into_iter().all(|op| {
        let place = writes.body.operations.iter().position(|it| std::ptr::eq(it, op));
        let is_read_before = place.is_some_and(|place| {
            let mut later = writes.insertions.iter().filter(|(at, _)| place < *at);
            later.any(|(_, index)| are_at(op, &index.iter().copied().map(Some).collect()))
        });
        is_read_before || are_at(op, &nowhere)
    })
}

/// The components of an index, as a function calls them; `None` of one that it does not know.
type Index = Vec<Option<Value>>;

/// Follows a tensor from function to function, for one question.
struct Reads<'f> {
    functions: &'f [Function],
    /// Functions that read their argument at an index alone, or are being asked.
    known: HashSet<(&'f str, Value, Index)>,
}

impl<'f> Reads<'f> {
    /// Whether an operation reads a tensor only at an index.
    fn are_at(&mut self, op: &'f Operation, tensor: Value, index: &Index) -> bool {
        match op.kind {
            OpKind::Extract => {
                op.operands[0] == tensor && op.operands[1..].iter().map(|&it| Some(it)).eq(index.iter().copied())
            }
            OpKind::PureCall => {
                let callee = op.callee().and_then(|name| entry(self.functions, name));
                callee.is_some_and(|callee| self.are_at_in_callee(op, callee, tensor, index))
            }
            _ => false,
        }
    }

    fn are_at_in_callee(&mut self, call: &Operation, callee: &'f Function, tensor: Value, index: &Index) -> bool {
        let arguments = &callee.body.arguments;
        let inside = |value: Value| call.operands.iter().position(|&it| it == value).map(|place| arguments[place]);
        let index: Index = index.iter().map(|value| value.and_then(inside)).collect();
        let of_tensor = call.operands.iter().zip(arguments).filter(|(operand, _)| **operand == tensor);
        of_tensor.map(|(_, &argument)| argument).collect::<Vec<Value>>().into_iter().all(|argument| {
            if !self.known.insert((&callee.name, argument, index.clone())) {
                return true;
            }
            let mut readers: Vec<&'f Operation> = Vec::new();
            callee.body.walk(&mut |op| readers.extend(op.operands.contains(&argument).then_some(op)));
            readers.into_iter().all(|op| self.are_at(op, argument, &index))
        })
    }
}

/// How often a value is an operand, in nested regions too.
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
