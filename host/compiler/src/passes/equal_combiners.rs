//! Merges equal combiners, comparators and other computations on elements. After the merge,
//! instructions that differed only in the applied computation are equal.
//!
//! ```text
//! reduce(x), to_apply=add_1; reduce(x), to_apply=add_2    =>    reduce(x), to_apply=add_1; reduce(x), to_apply=add_1
//! ```
//!
//! If several instructions apply equal computations, frontends write a separate copy of the
//! computation for each of these instructions. Bodies of loops and branches are not merged, because
//! a pass may change a body only if the body belongs to a single loop.

use std::collections::HashMap;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op, Shape};
use fusebox_edit::redirect_calls;

use crate::CompileError;
use crate::roles::{Role, roles};

/// Replaces each computation that an operation applies by the first computation that is equal to
/// it.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let roles = roles(module);
    let mut first: Vec<ComputationId> = Vec::with_capacity(roles.len());
    let mut seen: HashMap<StructuralKey, ComputationId> = HashMap::new();
    for (index, (computation, role)) in module.computations.iter_mut().zip(roles).enumerate() {
        // Callees come before callers.
        redirect_calls(computation, |callee| first.get(callee.index()).copied().unwrap_or(callee));
        let id = ComputationId(index as u32);
        let structural_key = if role == Role::Applied { structural_key(computation) } else { None };
        first.push(structural_key.map_or(id, |structural_key| *seen.entry(structural_key).or_insert(id)));
    }
    Ok(())
}

/// The structure of a computation, without names and source positions. Equal computations have
/// equal keys.
type StructuralKey = (InstrId, Vec<(String, Shape, Vec<InstrId>)>);

/// Returns the key of a computation. `None` if the computation contains an operation that its
/// attributes do not describe completely.
fn structural_key(computation: &Computation) -> Option<StructuralKey> {
    let of = |instruction: &Instruction| {
        let is_plain = !matches!(instruction.op, Op::CustomCall(_) | Op::Other { .. });
        is_plain.then(|| (format!("{:?}", instruction.op), instruction.shape.clone(), instruction.operands.clone()))
    };
    let instructions: Option<Vec<_>> = computation.instructions.iter().map(of).collect();
    Some((computation.root, instructions?))
}
