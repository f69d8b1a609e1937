//! Inlining of subgraph functions: those called once, small ones, and those of which all copies together are small.
//!
//! Works from callees to callers, so each function is looked at once, and its size is known when its callers are.
//! What stays a function is called once per use; LLVM's own inliner may still take it.

use std::collections::{HashMap, HashSet};

use fusebox_core::ir::{Function, OpKind, Operation, Region, Value, callees_first};

/// Functions of at most so many operations are copied into every caller.
pub(crate) const SMALL: usize = 40;
/// Functions whose further copies together have at most so many are copied too: a loop with a call is not made of vectors, and what
/// the elements of a short row have in common is computed once only where LLVM sees it.
const SMALL_COPIES: usize = 10 * SMALL;
/// The same as `SMALL` for GPUs, where a call saves registers to memory and hides what could be computed meanwhile.
pub(crate) const SMALL_ON_GPU: usize = 400;
/// No function grows beyond so many operations by copying.
const LARGEST: usize = 4000;
/// Math operations expand to about so many.
const MATH_WEIGHT: usize = 20;

/// What is known about the functions of a kernel, by number.
struct Graph {
    by_name: HashMap<String, usize>,
    sizes: Vec<usize>,
    /// Calls of each function that are left.
    uses: Vec<usize>,
    small: usize,
}

/// Inlines all calls that should be. Functions without callers stay.
pub(crate) fn inline_calls(functions: &mut [Function], small: usize) {
    let by_name = functions.iter().enumerate().map(|(at, function)| (function.name.clone(), at)).collect();
    let mut graph = Graph { by_name, sizes: vec![0; functions.len()], uses: vec![0; functions.len()], small };
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
    for (caller, function) in functions.iter().enumerate() {
        function.body.walk(&mut |op| {
            graph.sizes[caller] += if op.kind.name().starts_with("math.") { MATH_WEIGHT } else { 1 };
            if let Some(callee) = graph.callee(op) {
                graph.uses[callee] += 1;
                callees[caller].push(callee);
            }
        });
    }
    for caller in callees_first(&callees) {
        if callees[caller].is_empty() {
            continue;
        }
        let mut body = std::mem::take(&mut functions[caller].body);
        let mut types = std::mem::take(&mut functions[caller].types);
        let mut replaced = HashMap::new();
        Inlining { graph: &mut graph, functions, caller, types: &mut types, replaced: &mut replaced }.region(&mut body);
        (functions[caller].body, functions[caller].types) = (body, types);
    }
}

/// Keeps the first function and those it calls, directly or not.
pub(crate) fn drop_uncalled(functions: &mut Vec<Function>) {
    let mut called: HashSet<String> = HashSet::new();
    let mut open: Vec<usize> = vec![0];
    while let Some(caller) = open.pop() {
        functions[caller].body.walk(&mut |op| {
            let Some(callee) = op.callee() else { return };
            if called.insert(callee.to_owned()) {
                open.extend(functions.iter().position(|function| function.name == callee));
            }
        });
    }
    let mut is_entry = true;
    functions.retain(|function| std::mem::take(&mut is_entry) || called.contains(&function.name));
}

impl Graph {
    fn callee(&self, op: &Operation) -> Option<usize> {
        let calls = matches!(op.kind, OpKind::Call | OpKind::PureCall);
        op.callee().filter(|_| calls).and_then(|callee| self.by_name.get(callee)).copied()
    }

    /// Whether a call is replaced by the callee's body, which is counted then.
    fn takes(&mut self, caller: usize, callee: usize) -> bool {
        let (size, once) = (self.sizes[callee], self.uses[callee] == 1);
        let copies = size * self.uses[callee].saturating_sub(1);
        let is_small = (size <= self.small || copies <= SMALL_COPIES) && self.sizes[caller] + size <= LARGEST;
        if !once && !is_small {
            return false;
        }
        self.sizes[caller] += size;
        self.uses[callee] -= 1;
        true
    }
}

struct Inlining<'g> {
    graph: &'g mut Graph,
    functions: &'g [Function],
    caller: usize,
    types: &'g mut Vec<fusebox_core::ir::Type>,
    /// Results of calls that went, by what the callee returned.
    replaced: &'g mut HashMap<Value, Value>,
}

impl Inlining<'_> {
    fn region(&mut self, region: &mut Region) {
        let operations = std::mem::take(&mut region.operations);
        for mut op in operations {
            for operand in &mut op.operands {
                *operand = self.replaced.get(operand).copied().unwrap_or(*operand);
            }
            op.regions.iter_mut().for_each(|inner| self.region(inner));
            match self.graph.callee(&op).filter(|&callee| self.graph.takes(self.caller, callee)) {
                Some(callee) => self.inline(&op, callee, &mut region.operations),
                None => region.operations.push(op),
            }
        }
    }

    /// The callee's body in place of the call.
    fn inline(&mut self, call: &Operation, callee: usize, into: &mut Vec<Operation>) {
        let function = &self.functions[callee];
        let mut copies: Vec<Option<Value>> = vec![None; function.types.len()];
        let arguments = function.body.arguments.iter().zip(&call.operands);
        arguments.for_each(|(argument, &value)| copies[argument.number()] = Some(value));
        for op in &function.body.operations {
            if op.kind == OpKind::Return {
                let returned = op.operands.iter().map(|value| copies[value.number()].unwrap_or(*value));
                self.replaced.extend(call.results.iter().copied().zip(returned));
                continue;
            }
            into.push(self.copy(op, function, &mut copies));
        }
    }

    fn copy(&mut self, op: &Operation, function: &Function, copies: &mut Vec<Option<Value>>) -> Operation {
        let mut copy = Operation { regions: Vec::with_capacity(op.regions.len()), ..shallow(op) };
        for operand in &mut copy.operands {
            *operand = copies[operand.number()].unwrap_or(*operand);
        }
        for region in &op.regions {
            let arguments = region.arguments.iter().map(|&value| self.fresh(value, function, copies)).collect();
            let operations = region.operations.iter().map(|op| self.copy(op, function, copies)).collect();
            copy.regions.push(Region { arguments, operations });
        }
        for result in &mut copy.results {
            *result = self.fresh(*result, function, copies);
        }
        copy
    }

    fn fresh(&mut self, value: Value, function: &Function, copies: &mut [Option<Value>]) -> Value {
        let copy = Function::add_value(self.types, function.type_of(value).clone());
        copies[value.number()] = Some(copy);
        copy
    }
}

/// The operation without its regions.
fn shallow(op: &Operation) -> Operation {
    Operation {
        kind: op.kind,
        operands: op.operands.clone(),
        results: op.results.clone(),
        attributes: op.attributes.clone(),
        regions: Vec::new(),
        place: op.place.clone(),
    }
}
