//! Writes changed kernels back into the module.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op, Shape};

use super::ChangedKernels;
use super::kernel::ChangedKernel;
use crate::rebuild::Rebuild;

/// Rewrites the sequence and its fused computations. The computations of dropped kernels stay in
/// the module without callers.
pub fn rewrite(module: &mut Module, sequence: ComputationId, mut kernels: ChangedKernels) {
    let old = module.computations[sequence.index()].clone();
    module.computations[sequence.index()] = changed(&old, &kernels);
    for id in old.ids() {
        let Some(kernel) = kernels.remove(&id).flatten() else { continue };
        let name = name(&old, id, &kernel).map(|name| format!("fused_{name}"));
        let name = name.filter(|name| module.find_computation(name).is_none());
        let fused = &mut module.computations[kernel.calls.index()];
        let name = name.unwrap_or_else(|| fused.name.clone());
        *fused = Computation { name, ..kernel.computation };
    }
}

fn changed(old: &Computation, kernels: &ChangedKernels) -> Computation {
    let mut rebuild = Rebuild::new(old);
    for (id, instruction) in old.ids().zip(&old.instructions) {
        let of = match instruction.op {
            Op::GetTupleElement { .. } => instruction.operands[0],
            _ => id,
        };
        let new = match kernels.get(&of) {
            None => Some(rebuild.copy(instruction)),
            Some(None) => None,
            Some(Some(kernel)) if of == id => Some(call(&mut rebuild, old, id, kernel)),
            Some(Some(kernel)) => element(&mut rebuild, id, instruction, kernel),
        };
        new.into_iter().for_each(|new| rebuild.set(id, new));
    }
    rebuild.finish()
}

/// Adds the fusion instruction with its new operands and results.
fn call(rebuild: &mut Rebuild, old: &Computation, id: InstrId, kernel: &ChangedKernel) -> InstrId {
    let mut call = old.instruction(id).clone();
    call.operands = kernel.operands.iter().map(|&operand| rebuild.mapped(operand)).collect();
    if let Some(name) = name(old, id, kernel) {
        call.name = name;
        call.shape = match kernel.results.as_slice() {
            [result] => old.instruction(*result).shape.clone(),
            several => Shape::Tuple(several.iter().map(|&result| old.instruction(result).shape.clone()).collect()),
        };
    }
    rebuild.push(call)
}

/// Adds the tuple element for a result of a fusion, if the fusion still has this result.
fn element(rebuild: &mut Rebuild, id: InstrId, element: &Instruction, kernel: &ChangedKernel) -> Option<InstrId> {
    if kernel.results.is_empty() {
        return Some(rebuild.copy(element));
    }
    let index = kernel.results.iter().position(|&result| result == id)?;
    let call = rebuild.mapped(element.operands[0]);
    match rebuild.instruction(call).shape {
        Shape::Tuple(_) => {
            let op = Op::GetTupleElement { index: index as i64 };
            Some(rebuild.add(element, op, element.shape.clone(), vec![call]))
        }
        _ => Some(call),
    }
}

/// Returns the new name of a fusion that has lost results. `None` if it has kept all.
fn name(old: &Computation, id: InstrId, kernel: &ChangedKernel) -> Option<String> {
    let first = &old.instruction(*kernel.results.first()?).name;
    match kernel.results.len() {
        count if count == old.instruction(id).shape.leaves().len() => None,
        1 => Some(first.clone()),
        count => Some(format!("{first}_and_{}", count - 1)),
    }
}
