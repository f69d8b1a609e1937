//! Writes changed kernels back into the module.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};
use fusebox_edit::{EditError, Rewrite};

use super::ChangedKernels;
use super::kernel::ChangedKernel;

/// Rewrites the sequence and its fused computations. The computations of dropped kernels stay in
/// the module without callers.
pub fn put_into(module: &mut Module, sequence: ComputationId, mut kernels: ChangedKernels) -> Result<(), EditError> {
    let old = module.computation(sequence).clone();
    // The fused computations come first, because they determine the shapes of the fusions.
    for id in old.ids() {
        let Some(Some(kernel)) = kernels.get_mut(&id) else { continue };
        let name = name(&old, id, kernel).map(|name| format!("fused_{name}"));
        let name = name.filter(|name| module.find_computation(name).is_none());
        let fused = &mut module.computations[kernel.calls.index()];
        kernel.computation.name = name.unwrap_or_else(|| fused.name.clone());
        fused.clone_from(&kernel.computation);
    }
    let mut edit = Rewrite::new(module, &old);
    for (id, instruction) in old.ids().zip(&old.instructions) {
        let of = match instruction.op {
            Op::GetTupleElement { .. } => instruction.operands[0],
            _ => id,
        };
        edit.set_origin(instruction);
        let new = match kernels.get(&of) {
            None => Some(edit.copy(instruction)),
            Some(None) => None,
            Some(Some(kernel)) if of == id => Some(call(&mut edit, id, instruction, kernel)),
            Some(Some(kernel)) => element(&mut edit, id, instruction, kernel),
        };
        new.into_iter().for_each(|new| edit.set(id, new));
    }
    edit.finish()?.put_into(module, sequence);
    Ok(())
}

/// Adds the fusion instruction with its new operands and results.
fn call(edit: &mut Rewrite, id: InstrId, fusion: &Instruction, kernel: &ChangedKernel) -> InstrId {
    let operands: Vec<InstrId> = kernel.operands.iter().map(|&operand| edit.mapped(operand)).collect();
    match name(edit.old(), id, kernel) {
        Some(name) => {
            let call = edit.add(fusion.op.clone(), operands);
            edit.rename(call, &name);
            call
        }
        None => edit.copy_with(fusion, operands),
    }
}

/// Adds the tuple element for a result of a fusion, if the fusion still has this result.
fn element(edit: &mut Rewrite, id: InstrId, element: &Instruction, kernel: &ChangedKernel) -> Option<InstrId> {
    if kernel.results.is_empty() {
        return Some(edit.copy(element));
    }
    let index = kernel.results.iter().position(|&result| result == id)?;
    let call = edit.mapped(element.operands[0]);
    let is_tuple = edit.shape(call).as_tuple().is_some();
    Some(if is_tuple { edit.element(call, index) } else { call })
}

/// Returns the new name of a fusion that has lost results. `None` if the fusion still has all
/// results.
fn name(old: &Computation, id: InstrId, kernel: &ChangedKernel) -> Option<String> {
    let first = &old.instruction(*kernel.results.first()?).name;
    match kernel.results.len() {
        count if count == old.instruction(id).shape.leaves().len() => None,
        1 => Some(first.clone()),
        count => Some(format!("{first}_and_{}", count - 1)),
    }
}
