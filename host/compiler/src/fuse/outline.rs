//! Moves the instructions of each kernel into a fused computation, and replaces them by a `fusion`.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op};
use fusebox_edit::{EditError, Rewrite};

use super::claims::Claims;
use super::decide::Decisions;
use super::merge::merge;
use super::predictor::KernelPredictor;
use super::region::Region;
use super::step_graph::SequenceStep;

/// Rewrites one computation according to the decisions. Appends the fused computations.
pub fn outline(
    module: &mut Module,
    id: ComputationId,
    decisions: &Decisions,
    claims: &Claims,
    launches_count: bool,
) -> Result<(), EditError> {
    let old = module.computation(id);
    let predictor = KernelPredictor::new(module, claims);
    let needs_buffer = buffers(old, decisions);
    let steps = old.ids().filter(|id| needs_buffer[id.index()]).map(|id| step(old, id, decisions)).collect();
    let steps = merge(old, decisions, steps, predictor, launches_count);
    put_in_place(module, id, steps)
}

/// Rewrites a computation so that it consists of these steps. Appends the fused computations.
pub fn put_in_place(module: &mut Module, id: ComputationId, steps: Vec<SequenceStep>) -> Result<(), EditError> {
    let mut edit = Rewrite::new(module, module.computation(id));
    let old = edit.old();
    for step in steps {
        match step {
            SequenceStep::Single(id) => {
                let new = edit.copy(old.instruction(id));
                edit.set(id, new);
            }
            SequenceStep::Kernel(region) => {
                let call = region.call(&mut edit);
                results(&mut edit, &region, call);
            }
        }
    }
    edit.finish()?.put_into(module, id);
    Ok(())
}

/// Sets the new instruction that replaces each root of a kernel.
fn results(edit: &mut Rewrite, region: &Region, call: InstrId) {
    if let [root] = region.roots[..] {
        edit.set(root, call);
        return;
    }
    for (index, &root) in region.roots.iter().enumerate() {
        let origin = edit.old().instruction(root);
        edit.set_origin(origin);
        let element = edit.element(call, index);
        edit.set(root, element);
    }
}

/// Returns the kernel with root `id`. Returns the single instruction `id` if it is not a root, or
/// if it is already a fusion or an alias.
fn step(old: &Computation, id: InstrId, decisions: &Decisions) -> SequenceStep {
    if !decisions.is_root(id) || matches!(old.instruction(id).op, Op::Fusion { .. }) {
        return SequenceStep::Single(id);
    }
    let region = Region::of(old, &[id], decisions);
    if region.is_alias(old) { SequenceStep::Single(id) } else { SequenceStep::Kernel(region) }
}

/// Returns, for each instruction, whether it stays in the new sequence. Roots, and instructions
/// that no kernel computes, stay in the sequence. Constants stay in the sequence if they are
/// initial values of results, or if an instruction other than a kernel reads them.
fn buffers(computation: &Computation, decisions: &Decisions) -> Vec<bool> {
    let mut needed: Vec<bool> =
        computation.ids().map(|id| decisions.is_root(id) || decisions.kernels[id.index()].is_empty()).collect();
    for id in computation.ids() {
        let instruction = computation.instruction(id);
        if !decisions.heroes.is_kernel(computation, id) || matches!(instruction.op, Op::Fusion { .. }) {
            instruction.operands.iter().for_each(|o| needed[o.index()] = true);
        }
        decisions.heroes.initial_values(computation, id).iter().for_each(|o| needed[o.index()] = true);
    }
    needed[computation.root.index()] = true;
    needed
}
