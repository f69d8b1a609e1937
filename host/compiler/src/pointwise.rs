//! Kernels that may leave an output where a parameter stands, element by element.
//!
//! A kernel may if it reads each element of the parameter only where it writes the output's element of the same index soon after: in the
//! same region. This shows in the kernel's own operations, whoever wrote it. It is then written so that it reads the output
//! itself, whose initial value is the parameter's (see [`OutputPlan::initial`](fusebox_core::emitter::OutputPlan)).

use std::collections::{HashMap, HashSet};

use fusebox_core::emitter::WriteMode;
use fusebox_core::ir::{Function, OpKind, Operation, Region, Type, Value};

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
    let mut pairs = Vec::new();
    for (output, &result) in results.iter().enumerate() {
        let fits = |&parameter: &usize| entry.type_of(inputs[parameter]) == entry.type_of(result);
        let mut parameters = (0..parameters).filter(fits).peekable();
        if kernel.plan.outputs[output].mode == WriteMode::Unique && parameters.peek().is_some() {
            let reads = Reads { functions: &kernel.functions, entry, output: handed_on(entry, result) };
            let in_place = parameters.filter(|&parameter| reads.come_first(&entry.body, inputs[parameter]));
            pairs.extend(in_place.map(|parameter| Pair { parameter, output }));
        }
    }
    pairs
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

/// The values that are an output at some point: as it is given to the kernel, after each insertion, and as loops and branches hand it
/// on.
fn handed_on(entry: &Function, output: Value) -> HashSet<Value> {
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
        // Of a loop's operands the last are what it hands on, as the last of its body's arguments are.
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

/// The components of an index, as a function calls them; `None` of one that it does not know.
type Index = Vec<Option<Value>>;

/// What a kernel reads before it writes an output.
struct Reads<'f> {
    functions: &'f [Function],
    entry: &'f Function,
    /// The values that are the output.
    output: HashSet<Value>,
}

impl<'f> Reads<'f> {
    /// Whether everything in a region that reads a parameter is followed, in the same region, by the insertion of the output's element of
    /// that index: as no element is written twice, the element is read before it is written. A call that is given the
    /// parameter and does not go by it may stand anywhere.
    fn come_first(&self, region: &'f Region, parameter: Value) -> bool {
        region.operations.iter().enumerate().all(|(place, op)| {
            let behind = &region.operations[place + 1..];
            let reads = op.operands.contains(&parameter);
            let is_read_first = !reads
                || behind.iter().any(|it| self.is_insertion(it) && self.reads_what_is_inserted(op, parameter, it))
                || self.reads_nothing(op, parameter);
            is_read_first && op.regions.iter().all(|region| self.come_first(region, parameter))
        })
    }

    fn is_insertion(&self, op: &Operation) -> bool {
        matches!(op.kind, OpKind::Insert | OpKind::TransferWrite)
            && op.operands.get(1).is_some_and(|tensor| self.output.contains(tensor))
    }

    /// Whether an operation reads of a tensor at most the elements that an insertion writes.
    fn reads_what_is_inserted(&self, op: &'f Operation, tensor: Value, insertion: &Operation) -> bool {
        let index = insertion.operands.get(2..).unwrap_or_default();
        if op.kind == OpKind::TransferRead {
            let is_as_wide = || match (op.results.first(), insertion.operands.first()) {
                (Some(&read), Some(&written)) => self.entry.type_of(read) == self.entry.type_of(written),
                _ => false,
            };
            return op.operands.get(1..).is_some_and(|at| at.starts_with(index)) && is_as_wide();
        }
        Followed::new(self.functions).is_at(self.entry, op, tensor, &index.iter().copied().map(Some).collect())
    }

    /// Whether an operation is given a tensor of which it reads nothing.
    fn reads_nothing(&self, op: &'f Operation, tensor: Value) -> bool {
        // As nothing has so many dimensions, nothing is read there.
        let rank = op.operands.len() + self.entry.body.arguments.len();
        op.kind == OpKind::PureCall && Followed::new(self.functions).is_at(self.entry, op, tensor, &vec![None; rank])
    }
}

/// Follows a tensor from function to function.
struct Followed<'f> {
    functions: &'f [Function],
    /// Functions that are known to read their argument at an index alone, or that are being asked.
    known: HashSet<(&'f str, Value, Index)>,
}

impl<'f> Followed<'f> {
    fn new(functions: &'f [Function]) -> Self {
        Followed { functions, known: HashSet::new() }
    }

    /// Whether an operation of a function reads a tensor only at an index.
    fn is_at(&mut self, function: &Function, op: &'f Operation, tensor: Value, index: &Index) -> bool {
        match op.kind {
            OpKind::Extract => op.operands[0] == tensor && is_index(function.type_of(tensor), &op.operands[1..], index),
            OpKind::PureCall => {
                let callee = op.callee().and_then(|name| entry(self.functions, name));
                callee.is_some_and(|callee| self.is_at_in_callee(op, callee, tensor, index))
            }
            _ => false,
        }
    }

    fn is_at_in_callee(&mut self, call: &Operation, callee: &'f Function, tensor: Value, index: &Index) -> bool {
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
            readers.into_iter().all(|op| self.is_at(callee, op, argument, &index))
        })
    }
}

/// Whether an element of a tensor is the one at an index. There is only one in a dimension of size 1, however its number is computed.
fn is_index(tensor: &Type, element: &[Value], index: &Index) -> bool {
    let Type::Tensor(dims, _) = tensor else { return false };
    let is_same =
        |((&size, &component), &expected): ((&i64, &Value), &Option<Value>)| size == 1 || Some(component) == expected;
    element.len() == index.len() && dims.iter().zip(element).zip(index).all(is_same)
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
