//! Which pass, or which fusion: the interpreter on the module after each step.

use fusebox_compiler::{Options, Step};
use fusebox_core::hlo::{Computation, InstrId, Literal, Module};

use super::{Found, Suspect, Way, Wrong};
use crate::WorkshopError;
use crate::case::Case;

/// The module with its fusions.
///
/// # Errors
/// If the module cannot be compiled.
pub fn fused(case: &Case, options: &Options) -> Result<Case, WorkshopError> {
    let steps: Vec<Step> = Step::all().collect();
    Ok(Case { module: after(case, &steps, options)?, inputs: case.inputs.clone() })
}

/// The module after these steps.
///
/// # Errors
/// If the module cannot be compiled.
pub fn after(case: &Case, steps: &[Step], options: &Options) -> Result<Module, WorkshopError> {
    let mut module = case.module.clone();
    steps.iter().try_for_each(|step| step.apply(&mut module, options))?;
    Ok(module)
}

/// The first step that makes a module of it that means something else; `None` if the one with all fusions still means the same.
///
/// # Errors
/// If a module cannot be compiled or interpreted.
pub fn first_wrong(case: &Case, options: &Options) -> Result<Option<Found>, WorkshopError> {
    let mut before = Vec::new();
    let mut module = case.module.clone();
    for step in Step::all() {
        before.push((step, module.clone()));
        step.apply(&mut module, options)?;
    }
    let meant = case.meant()?;
    let difference = |module: &Module| -> Result<Option<String>, WorkshopError> {
        let found = Case { module: module.clone(), inputs: case.inputs.clone() }.meant()?;
        Ok(case.difference_between(&found, &meant)?)
    };
    let Some(mut told) = difference(&module)? else { return Ok(None) };
    // The module before step `right` means what is meant, the one before step `wrong` does not.
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
    let wrong = Wrong { case: case.clone(), by: Way::Steps(steps) };
    Ok(Some(Found { suspect, difference: told, wrong: Some(wrong) }))
}

/// The first instruction of the entry that has another value in the second module than that of its name in the first.
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

/// The values of all instructions of the entry, as the interpreter has them.
///
/// # Errors
/// If it has none.
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
