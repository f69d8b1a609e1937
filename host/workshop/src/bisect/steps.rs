//! Finds the wrong step of compilation, a pass or the fusion. To find the step, interprets several
//! states of the module, each after a different step.

use fusebox_compiler::{Options, Step};
use fusebox_core::hlo::{Computation, InstrId, Literal, Module};

use super::{FailingCase, FailureCheck, LocatedFault, Suspect};
use crate::WorkshopError;
use crate::case::Case;

/// Returns the module after all passes and fusion.
///
/// # Errors
/// If the module cannot be compiled.
pub fn fused(case: &Case, options: &Options) -> Result<Case, WorkshopError> {
    let steps: Vec<Step> = Step::all().collect();
    Ok(Case { module: after(case, &steps, options)?, inputs: case.inputs.clone() })
}

/// Returns the module after the steps `steps`.
///
/// # Errors
/// If the module cannot be compiled.
pub fn after(case: &Case, steps: &[Step], options: &Options) -> Result<Module, WorkshopError> {
    let mut module = case.module.clone();
    steps.iter().try_for_each(|step| step.apply(&mut module, options))?;
    Ok(module)
}

/// Returns a step that changes the result from right to wrong; `None` if the module after all steps
/// has the right result. Uses binary search over the steps.
///
/// # Errors
/// If a module cannot be compiled or interpreted.
pub fn first_wrong(case: &Case, options: &Options) -> Result<Option<LocatedFault>, WorkshopError> {
    let mut before = Vec::new();
    let mut module = case.module.clone();
    for step in Step::all() {
        before.push((step, module.clone()));
        step.apply(&mut module, options)?;
    }
    let meant = case.expected_result()?;
    let difference = |module: &Module| -> Result<Option<String>, WorkshopError> {
        let found = Case { module: module.clone(), inputs: case.inputs.clone() }.expected_result()?;
        Ok(case.difference_between(&found, &meant)?)
    };
    let Some(mut told) = difference(&module)? else { return Ok(None) };
    // The module before step `right` has the right result; the module before step `wrong` has a
    // wrong result.
    let (mut right, mut wrong) = (0, before.len());
    while wrong - right > 1 {
        let middle = right.midpoint(wrong);
        match difference(&before[middle].1)? {
            Some(difference) => (wrong, told) = (middle, difference),
            None => right = middle,
        }
    }
    let (step, module_before) = &before[right];
    let suspect = match step {
        Step::Pass(_) => Suspect::Pass { name: step.name().into() },
        Step::Fuse => {
            let fused = before.get(wrong).map_or(&module, |(_, module)| module);
            Suspect::Fusion { instruction: first_changed(module_before, fused, &case.inputs)? }
        }
    };
    let steps = before[..=right].iter().map(|(step, _)| *step).collect();
    let wrong = FailingCase { case: case.clone(), by: FailureCheck::Steps(steps) };
    Ok(Some(LocatedFault { suspect, difference: told, wrong: Some(wrong) }))
}

/// Returns the first instruction in the entry of `after` whose value has changed. Compares the
/// value with that of the instruction in `before` that has the same name.
fn first_changed(before: &Module, after: &Module, inputs: &[Literal]) -> Result<Option<String>, WorkshopError> {
    let (old, new) = (values(before, inputs)?, values(after, inputs)?);
    let (Some(old_entry), Some(new_entry)) = (before.entry_computation(), after.entry_computation()) else {
        return Ok(None);
    };
    let is_changed = |&id: &InstrId| {
        let same = old_entry.find(&new_entry.instruction(id).name);
        same.is_some_and(|same| old[same.index()] != new[id.index()])
    };
    Ok(new_entry.ids().find(is_changed).map(|id| new_entry.instruction(id).name.clone()))
}

/// Returns the interpreter's values of all instructions of the entry.
///
/// # Errors
/// If the interpreter fails.
pub fn values(module: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, WorkshopError> {
    let Some((id, entry)) = module.entry.zip(module.entry_computation()) else { return Ok(Vec::new()) };
    let mut values: Vec<Literal> = Vec::with_capacity(entry.instructions.len());
    for instruction in entry.ids() {
        let value = match parameter(entry, instruction) {
            Some(number) => inputs.get(number).cloned().unwrap_or(Literal::Token),
            None => {
                let operands = &entry.instruction(instruction).operands;
                let operands: Vec<Literal> = operands.iter().map(|operand| values[operand.index()].clone()).collect();
                fusebox_interpreter::evaluate_instruction(module, id, instruction, &operands)?
            }
        };
        values.push(value);
    }
    Ok(values)
}

fn parameter(computation: &Computation, id: InstrId) -> Option<usize> {
    computation.parameters().iter().position(|&parameter| parameter == id)
}
