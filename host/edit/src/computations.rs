//! Orders, names, adds and removes the computations of a module.

use fusebox_core::hlo::{Computation, ComputationId, Module};

/// Returns all computations, callees before callers. Keeps the module's order where the calls allow
/// it.
pub fn call_order(module: &Module) -> Vec<ComputationId> {
    order_from(module, module.ids())
}

/// Returns the computations `from` and all computations that they call, directly or indirectly.
/// Callees come before callers.
pub(crate) fn order_from(module: &Module, from: impl IntoIterator<Item = ComputationId>) -> Vec<ComputationId> {
    let mut order = Vec::new();
    let mut is_visited = vec![false; module.computations.len()];
    // The computations whose callees are being visited, each with its remaining callees.
    let mut open: Vec<(ComputationId, std::vec::IntoIter<ComputationId>)> = Vec::new();
    for id in from {
        let mut next = Some(id);
        loop {
            if let Some(id) = next.filter(|id| !std::mem::replace(&mut is_visited[id.index()], true)) {
                open.push((id, called_by(module.computation(id)).into_iter()));
            }
            let Some((caller, callees)) = open.last_mut() else { break };
            next = callees.next();
            if next.is_none() {
                order.push(*caller);
                open.pop();
            }
        }
    }
    order
}

/// Returns the computations that the instructions of a computation call.
pub(crate) fn called_by(computation: &Computation) -> Vec<ComputationId> {
    computation.instructions.iter().flat_map(|it| it.op.called()).collect()
}

/// Moves callees before callers. Changes ids.
pub fn restore_order(module: &mut Module) {
    let order = call_order(module);
    if !order.is_sorted() {
        keep(module, &order);
    }
}

/// Removes the computations for which `is_kept` is false. Changes ids. No kept computation may call
/// a removed computation.
pub fn retain_computations(module: &mut Module, is_kept: impl Fn(ComputationId) -> bool) {
    let kept: Vec<ComputationId> = module.ids().filter(|&id| is_kept(id)).collect();
    if kept.len() < module.computations.len() {
        keep(module, &kept);
    }
}

/// Keeps only the computations `kept`, in this order. Changes ids.
fn keep(module: &mut Module, kept: &[ComputationId]) {
    let mut old: Vec<Option<Computation>> = std::mem::take(&mut module.computations).into_iter().map(Some).collect();
    let mut numbers = vec![None; old.len()];
    for (number, id) in kept.iter().enumerate() {
        numbers[id.index()] = Some(ComputationId(number as u32));
        module.computations.extend(old[id.index()].take());
    }
    let new = |id: ComputationId| numbers[id.index()].unwrap_or(id);
    for computation in &mut module.computations {
        redirect_calls(computation, new);
    }
    module.entry = module.entry.map(new);
}

/// Replaces the id of each called computation by the id that `new` returns for it.
pub fn redirect_calls(computation: &mut Computation, new: impl Fn(ComputationId) -> ComputationId) {
    for instruction in &mut computation.instructions {
        instruction.op.called_mut().into_iter().for_each(|id| *id = new(*id));
    }
}

/// Appends a computation. If the module already has a computation with this name, appends a number
/// to the new name.
pub fn append(module: &mut Module, mut computation: Computation) -> ComputationId {
    computation.name = unused_name(|name| module.find_computation(name).is_some(), &computation.name);
    module.computations.push(computation);
    ComputationId(module.computations.len() as u32 - 1)
}

/// Returns `name` or, if `name` is already used, `name` with a number appended.
pub(crate) fn unused_name(is_used: impl Fn(&str) -> bool, name: &str) -> String {
    let mut unused = name.to_owned();
    let mut number = 0u64;
    while is_used(&unused) {
        number += 1;
        unused = format!("{name}.{number}");
    }
    unused
}
