//! Inlines subgraph functions that are called once, that are small, or whose copies are small in
//! total.
//!
//! The pass visits callees before their callers, so it visits each function once. When the pass
//! visits a caller, it knows the final size of each callee. LLVM's own inliner does not inline the
//! remaining functions, because lowering marks them `noinline`.

use std::collections::{HashMap, HashSet};

use fusebox_core::ir::{Function, OpKind, Operation, Region, Value, callees_first};
use rustc_hash::FxHashMap;

/// Functions of at most this many operations are inlined into every caller.
pub(crate) const SMALL: usize = 40;
/// Functions are also inlined if their extra copies together have at most this many operations. A
/// call prevents vectorisation. LLVM eliminates common subexpressions between the elements of a
/// short row only in inlined code.
const SMALL_COPIES: usize = 10 * SMALL;
/// Like `SMALL`, for GPUs. On a GPU, a call saves registers to memory, and the operations of caller
/// and callee cannot overlap.
pub(crate) const SMALL_ON_GPU: usize = 400;
/// Maximum number of operations that a function may have after small functions are inlined into it.
const LARGEST: usize = 4000;
/// Approximate number of operations into which a math operation expands.
const MATH_WEIGHT: usize = 20;

/// Call graph of a kernel's functions. A function is identified by its number.
struct Graph {
    by_name: HashMap<String, usize>,
    sizes: Vec<usize>,
    /// Number of remaining calls of each function.
    uses: Vec<usize>,
    small: usize,
}

/// Inlines all calls that [`Graph::takes`] accepts. Does not remove functions that are no longer
/// called.
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
        let mut replaced = FxHashMap::default();
        Inlining { graph: &mut graph, functions, caller, types: &mut types, replaced: &mut replaced }.region(&mut body);
        (functions[caller].body, functions[caller].types) = (body, types);
    }
}

/// Removes functions that the first function calls neither directly nor indirectly. Keeps the first
/// function.
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

    /// Whether to inline a call. If so, updates the caller's size and the callee's number of calls.
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
    /// Replacements for results of inlined calls: the values that the callee returned.
    replaced: &'g mut FxHashMap<Value, Value>,
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

    /// Replaces the call by the callee's body.
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

/// Copies an operation without its regions.
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
