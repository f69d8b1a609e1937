//! Moves the instructions of each kernel into a fused computation, and replaces them by a `fusion`.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op};

use super::claims::Claims;
use super::decide::Decisions;
use super::merge::merge;
use super::predictor::KernelPredictor;
use super::region::Region;
use super::step_graph::SequenceStep;
use crate::passes::renumber;
use crate::rebuild::Rebuild;

/// Rewrites one computation according to the decisions. Inserts the fused computations before it.
pub fn outline(module: &mut Module, id: ComputationId, decisions: &Decisions, claims: &Claims, launches_count: bool) {
    let old = module.computation(id);
    let predictor = KernelPredictor::new(module, claims);
    let needs_buffer = buffers(old, decisions);
    let steps = old.ids().filter(|id| needs_buffer[id.index()]).map(|id| step(old, id, decisions)).collect();
    let steps = merge(old, decisions, steps, predictor, launches_count);
    put_in_place(module, id, steps);
}

/// Rewrites a computation so that it consists of these steps. Inserts the fused computations before
/// it.
pub fn put_in_place(module: &mut Module, id: ComputationId, steps: Vec<SequenceStep>) {
    let old = module.computation(id);
    let first_new = module.computations.len() as u32;
    let mut fused = Vec::new();
    let mut rebuild = Rebuild::new(old);
    for step in steps {
        match step {
            SequenceStep::Single(id) => {
                let new = rebuild.copy(old.instruction(id));
                rebuild.set(id, new);
            }
            SequenceStep::Kernel(region) => {
                let calls = ComputationId(first_new + fused.len() as u32);
                fused.push(region.computation(old));
                let call = region.call(&mut rebuild, old, calls);
                results(&mut rebuild, old, &region, call);
            }
        }
    }
    let new = rebuild.finish();
    insert(module, id, new, fused);
}

/// Sets the new instruction that replaces each root of a kernel.
fn results(rebuild: &mut Rebuild, old: &Computation, region: &Region, call: InstrId) {
    if let [root] = region.roots[..] {
        rebuild.set(root, call);
        return;
    }
    for (index, &root) in region.roots.iter().enumerate() {
        let instruction = old.instruction(root);
        let op = Op::GetTupleElement { index: index as i64 };
        let element = rebuild.add(instruction, op, instruction.shape.clone(), vec![call]);
        rebuild.set(root, element);
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

/// Returns for each instruction whether it stays in the new sequence: roots, instructions that no
/// kernel computes, and constants that are initial values of results or that are read by an
/// instruction which is not a kernel.
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

/// Replaces computation `id` by `new`, and inserts `fused` just before it. Before the insertion,
/// the ids of the fused computations are larger than all others.
fn insert(module: &mut Module, id: ComputationId, new: Computation, mut fused: Vec<Computation>) {
    let (at, count, first_new) = (id.0, fused.len() as u32, module.computations.len() as u32);
    let shift = |old: ComputationId| match old.0 {
        n if n >= first_new => ComputationId(n - first_new + at),
        n if n >= at => ComputationId(n + count),
        n => ComputationId(n),
    };
    unique_names(module, &mut fused);
    module.computations[at as usize] = new;
    for instruction in module.computations.iter_mut().flat_map(|c| &mut c.instructions) {
        renumber(&mut instruction.op, &shift);
    }
    module.entry = module.entry.map(shift);
    module.computations.splice(at as usize..at as usize, fused);
}

fn unique_names(module: &Module, fused: &mut [Computation]) {
    let used_names: HashSet<&str> = module.computations.iter().map(|c| c.name.as_str()).collect();
    let mut own = HashSet::new();
    for computation in fused {
        let base = computation.name.clone();
        let mut number = 1;
        while used_names.contains(computation.name.as_str()) || !own.insert(computation.name.clone()) {
            computation.name = format!("{base}.clone{number}");
            number += 1;
        }
    }
}
