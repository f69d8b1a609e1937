//! Inlining of subgraph functions: those called once, and small ones.
//!
//! Works from callees to callers, so each function is looked at once, and its size is known when its callers are.
//! What stays a function is called once per use; LLVM's own inliner may still take it.

use std::collections::HashMap;

use crate::Target;
use crate::mlir::{Block, Operation, Type, Value, ValueKey, source::Source};

/// Functions of at most so many operations are copied into every caller.
const SMALL: usize = 40;
/// The same for GPUs, where a call saves registers to memory and hides what could be computed meanwhile.
const SMALL_ON_GPU: usize = 400;
/// No function grows beyond so many operations by copying.
const LARGEST: usize = 4000;
/// Math operations expand to about so many.
const MATH_WEIGHT: usize = 20;

/// The functions of a module, in order, and what is known about them.
struct Graph {
    functions: Vec<Operation>,
    by_name: HashMap<&'static str, usize>,
    /// Calls in each function, with the number of the callee.
    calls: Vec<Vec<(Operation, usize)>>,
    sizes: Vec<usize>,
    /// Calls of each function that are left.
    uses: Vec<usize>,
}

/// Inlines all calls that should be.
pub(crate) fn inline_calls(source: &Source, target: &Target) {
    let small = if matches!(target, Target::Nvptx { .. } | Target::Amdgpu { .. }) { SMALL_ON_GPU } else { SMALL };
    let mut graph = Graph::of(source);
    for caller in graph.callees_first() {
        let calls = std::mem::take(&mut graph.calls[caller]);
        for (call, callee) in calls {
            graph.consider(caller, call, callee, small);
        }
    }
}

impl Graph {
    fn of(source: &Source) -> Graph {
        let functions: Vec<Operation> = source.functions().collect();
        let name = |function: &Operation| function.attribute("sym_name").and_then(|name| name.string());
        let by_name: HashMap<&'static str, usize> =
            functions.iter().enumerate().filter_map(|(at, function)| Some((name(function)?, at))).collect();
        let mut graph = Graph {
            calls: vec![Vec::new(); functions.len()],
            sizes: vec![0; functions.len()],
            uses: vec![0; functions.len()],
            functions,
            by_name,
        };
        for caller in 0..graph.functions.len() {
            graph.functions[caller].walk(&mut |op| graph.count(caller, op));
        }
        graph
    }

    fn count(&mut self, caller: usize, op: Operation) {
        let name = op.name();
        self.sizes[caller] += if name.starts_with("math.") { MATH_WEIGHT } else { 1 };
        if matches!(name, "func.call" | "xla_gpu.pure_call")
            && let Some(callee) = op.attribute("callee").and_then(|it| it.symbol()).and_then(|it| self.by_name.get(it))
        {
            self.calls[caller].push((op, *callee));
            self.uses[*callee] += 1;
        }
    }

    /// Every function after those it calls. Functions that call each other in a circle are left out.
    fn callees_first(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.functions.len());
        let mut open_calls: Vec<usize> = self.calls.iter().map(Vec::len).collect();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); self.functions.len()];
        for (caller, calls) in self.calls.iter().enumerate() {
            calls.iter().for_each(|&(_, callee)| callers[callee].push(caller));
        }
        let mut ready: Vec<usize> = (0..open_calls.len()).filter(|&function| open_calls[function] == 0).collect();
        while let Some(function) = ready.pop() {
            order.push(function);
            for &caller in &callers[function] {
                open_calls[caller] -= 1;
                if open_calls[caller] == 0 {
                    ready.push(caller);
                }
            }
        }
        order
    }

    fn consider(&mut self, caller: usize, call: Operation, callee: usize, small: usize) {
        let Some(body) = self.functions[callee].block(0) else { return };
        let fits = call.operands().map(|value| value.ty()).eq(body.arguments().map(|value| value.ty()))
            && returned(body).eq(&call.results().map(|value| value.ty()).collect::<Vec<_>>());
        let size = self.sizes[callee];
        let once = self.uses[callee] == 1;
        if !fits || !(once || size <= small) || self.sizes[caller] + size > LARGEST && !once {
            return;
        }
        inline(call, self.functions[callee]);
        self.sizes[caller] += size;
        self.uses[callee] -= 1;
    }
}

/// Types of what a function returns.
fn returned(body: Block) -> Vec<Type> {
    let end = body.terminator().filter(|end| end.name() == "func.return");
    end.map(|end| end.operands().map(|value| value.ty()).collect()).unwrap_or_default()
}

/// Copies the callee's body to before the call, which goes away.
fn inline(call: Operation, callee: Operation) {
    let Some(body) = callee.block(0) else { return };
    let mut copies: HashMap<ValueKey, Value> =
        body.arguments().map(|argument| argument.key()).zip(call.operands()).collect();
    for op in body.operations() {
        if op.name() == "func.return" {
            for (result, value) in call.results().zip(op.operands()) {
                result.replace_uses(copies.get(&value.key()).copied().unwrap_or(value));
            }
            continue;
        }
        let copy = op.duplicate();
        copy.walk(&mut |nested| {
            for (position, operand) in nested.operands().enumerate() {
                if let Some(&value) = copies.get(&operand.key()) {
                    nested.set_operand(position, value);
                }
            }
        });
        call.insert_before(copy);
        copies.extend(op.results().map(|result| result.key()).zip(copy.results()));
    }
    call.erase();
}
