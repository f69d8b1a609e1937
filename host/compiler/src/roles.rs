//! Roles of computations: how a program executes each of them.

use fusebox_core::hlo::{Computation, ComputationId, ManualComputation, Module, Op, Shape};
use fusebox_edit::{call_order, retain_computations};

/// How a computation is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Thunks execute the computation: the entry, the body or condition of a loop, a branch of a
    /// conditional.
    Sequence,
    /// One kernel executes the computation.
    Fused,
    /// An operation applies the computation to elements: a reducer, a comparator …
    Applied,
    /// The program never executes the computation.
    Unreachable,
}

/// Returns the role of every computation. If a computation has several roles, returns the role that
/// [`Role`] lists first.
pub fn roles(module: &Module) -> Vec<Role> {
    roles_in(module, &call_order(module))
}

/// Returns the role of every computation. `order` lists the computations of the module, callees
/// first.
fn roles_in(module: &Module, order: &[ComputationId]) -> Vec<Role> {
    let mut roles = vec![Role::Unreachable; module.computations.len()];
    if let Some(entry) = module.entry {
        roles[entry.index()] = if module.bare { Role::Fused } else { Role::Sequence };
    }
    for &caller in order.iter().rev() {
        let role_of_caller = roles[caller.index()];
        if role_of_caller == Role::Unreachable {
            continue;
        }
        for instruction in &module.computation(caller).instructions {
            for callee in instruction.op.called() {
                let role = called_as(&instruction.op, role_of_caller);
                roles[callee.index()] = stronger(roles[callee.index()], role);
            }
        }
    }
    roles
}

/// Returns the ids of the computations in a role, callees first.
pub fn in_role(module: &Module, role: Role) -> Vec<ComputationId> {
    let mut order = call_order(module);
    let roles = roles_in(module, &order);
    order.retain(|id| roles[id.index()] == role);
    order
}

/// Returns the computation that an operation calls as a whole. XLA wraps calls of composites and of
/// host computations in custom calls.
pub fn called_as_a_whole(op: &Op) -> Option<ComputationId> {
    match op {
        Op::Call { to_apply } => Some(*to_apply),
        Op::CustomCall(call) if ["xla.call", "Call"].contains(&call.target.as_str()) => match call.called[..] {
            [callee] => Some(callee),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the computation that an operation calls on each device, with parts of arrays.
pub fn called_on_devices(op: &Op) -> Option<ComputationId> {
    match op {
        Op::CustomCall(call) if call.target == ManualComputation::TARGET => call.called.first().copied(),
        _ => None,
    }
}

/// Returns, for each computation, whether each device executes the computation with parts of
/// arrays.
pub fn on_devices(module: &Module) -> Vec<bool> {
    let mut on_devices = vec![false; module.computations.len()];
    for caller in call_order(module).into_iter().rev() {
        for instruction in &module.computation(caller).instructions {
            for callee in instruction.op.called() {
                let is_body = called_on_devices(&instruction.op) == Some(callee);
                on_devices[callee.index()] |= on_devices[caller.index()] || is_body;
            }
        }
    }
    on_devices
}

/// Whether a computation takes arguments of these shapes and returns a result of this shape. The
/// verifier checks calls, but not custom calls and asynchronous operations.
pub fn fits(callee: &Computation, arguments: &[&Shape], result: &Shape) -> bool {
    let Some(signature) = callee.signature() else { return false };
    let mut pairs = signature.parameters.iter().zip(arguments);
    signature.parameters.len() == arguments.len()
        && pairs.all(|(parameter, argument)| argument.same_structure(parameter))
        && signature.result.same_structure(result)
}

fn called_as(op: &Op, caller: Role) -> Role {
    match op {
        Op::While { .. } | Op::Conditional { .. } => caller,
        Op::Fusion { .. } => Role::Fused,
        op if called_as_a_whole(op).is_some() || called_on_devices(op).is_some() => caller,
        _ => Role::Applied,
    }
}

fn stronger(a: Role, b: Role) -> Role {
    let rank = |role| [Role::Sequence, Role::Fused, Role::Applied, Role::Unreachable].iter().position(|r| *r == role);
    if rank(a) <= rank(b) { a } else { b }
}

/// Removes computations that the entry does not reach. Changes the ids of the remaining
/// computations.
pub fn drop_unreachable_computations(module: &mut Module) {
    let roles = roles(module);
    retain_computations(module, |id| roles[id.index()] != Role::Unreachable);
}
