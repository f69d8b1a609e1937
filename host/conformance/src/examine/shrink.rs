//! Shrinks a fusion for which an emitter breaks a promise. Shrinking continues as long as the
//! emitter breaks the same promise for a smaller fusion.

use std::time::{Duration, Instant};

use fusebox_core::hlo::{Computation, InstrId, Instruction, Module, Op, Shape, parse_module, print_module, verify};

use super::case::FusionCase;
use super::trial::{BrokenPromise, TestedEmitter, TestedTarget, TrialError};

/// Largest number of smaller fusions to try.
const MOST_TRIES: usize = 200;
/// Time after which shrinking stops.
const MOST_TIME: Duration = Duration::from_secs(10);

/// Shrinks a fusion as far as possible. Returns the smallest fusion for which the emitter breaks
/// the same promise. Also returns a description of the fault.
pub fn smaller(
    subject: &TestedEmitter,
    case: &FusionCase,
    place: TestedTarget,
    fault: &BrokenPromise,
) -> (String, String) {
    let (mut best, mut words) = (case.clone(), fault.words.clone());
    let (mut tries, begin) = (0, Instant::now());
    loop {
        let candidates = parse_module(&best.text, "fusion.hlo").map(|module| candidates(&module)).unwrap_or_default();
        let next = candidates.into_iter().find_map(|module| {
            tries += 1;
            let fails = || fails(subject, &case.with_text(print_module(&module))?, place, fault);
            if tries > MOST_TRIES || begin.elapsed() > MOST_TIME { None } else { fails() }
        });
        match next {
            Some((smaller, fault)) => (best, words) = (smaller, fault.words),
            None => return (best.text, words),
        }
    }
}

/// Tries a case. `fault` names the promise that the emitter has broken before. If the emitter
/// breaks this promise for the case, too, returns the case and the new fault.
fn fails(
    subject: &TestedEmitter,
    case: &FusionCase,
    place: TestedTarget,
    fault: &BrokenPromise,
) -> Option<(FusionCase, BrokenPromise)> {
    let Err(TrialError::Broken(found)) = subject.tries(case, place) else { return None };
    (found.promise == fault.promise && !found.lost).then(|| (case.clone(), found))
}

/// Applies each possible shrinking step to the fusion, and returns the resulting fusions. There are
/// three kinds of shrinking steps. Among the steps of one kind, the step that removes most comes
/// first.
fn candidates(module: &Module) -> Vec<Module> {
    let Some(fused) = module.computations.last() else { return Vec::new() };
    let with = |computation: Computation| {
        let mut smaller = module.clone();
        smaller.computations.pop();
        smaller.computations.push(without_unused(computation));
        smaller.clear_source();
        smaller
    };
    let mut found: Vec<Module> = Vec::new();
    let root = fused.root_instruction();
    let is_array = |id: InstrId| fused.instruction(id).shape.as_array().is_some();
    // These steps cut off the end: an operand of the root becomes the result.
    found.extend(
        root.operands.iter().filter(|&&id| is_array(id)).map(|&root| with(Computation { root, ..fused.clone() })),
    );
    // These steps cut off the beginning: a value becomes a parameter.
    let inner = fused.ids().rev().filter(|&id| {
        let instruction = fused.instruction(id);
        id != fused.root && is_array(id) && !instruction.operands.is_empty()
    });
    found.extend(inner.map(|id| {
        let mut computation = fused.clone();
        let number = fused.parameters().len() as i64;
        let cut = &mut computation.instructions[id.index()];
        *cut = Instruction::new(cut.name.clone(), cut.shape.clone(), Op::Parameter { number }, Vec::new());
        with(computation)
    }));
    // These steps shrink dimensions: all dimensions of one size become smaller.
    let mut sizes: Vec<i64> =
        fused.instructions.iter().flat_map(|it| dims(&it.shape)).filter(|&size| size > 1).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for &size in sizes.iter().rev() {
        for smaller in [1, 2, size / 2, size - 1].into_iter().filter(|&smaller| 0 < smaller && smaller < size) {
            let mut computation = fused.clone();
            computation.instructions.iter_mut().for_each(|it| resize(&mut it.shape, size, smaller));
            found.push(with(computation));
        }
    }
    found.retain(|module| verify(module).is_ok());
    found
}

fn dims(shape: &Shape) -> Vec<i64> {
    shape.leaves().into_iter().filter_map(Shape::as_array).flat_map(|array| array.dims.clone()).collect()
}

fn resize(shape: &mut Shape, from: i64, to: i64) {
    match shape {
        Shape::Array(array) => array.dims.iter_mut().filter(|size| **size == from).for_each(|size| *size = to),
        Shape::Tuple(parts) => parts.iter_mut().for_each(|part| resize(part, from, to)),
        _ => {}
    }
}

/// Removes instructions that the root does not need. Renumbers the remaining parameters and keeps
/// their order.
fn without_unused(computation: Computation) -> Computation {
    let mut needed = vec![false; computation.instructions.len()];
    let mut pending = vec![computation.root];
    while let Some(id) = pending.pop() {
        if !std::mem::replace(&mut needed[id.index()], true) {
            pending.extend(&computation.instructions[id.index()].operands);
        }
    }
    let mut numbers: Vec<i64> = Vec::new();
    for (instruction, _) in computation.instructions.iter().zip(&needed).filter(|(_, needed)| **needed) {
        if let Op::Parameter { number } = instruction.op {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    let mut place = vec![InstrId(0); needed.len()];
    let mut instructions: Vec<Instruction> = Vec::new();
    for (old, mut instruction) in computation.instructions.into_iter().enumerate() {
        if !needed[old] {
            continue;
        }
        instruction.operands.iter_mut().for_each(|operand| *operand = place[operand.index()]);
        if let Op::Parameter { number } = &mut instruction.op {
            *number = numbers.iter().position(|it| it == number).unwrap_or_default() as i64;
        }
        place[old] = InstrId(instructions.len() as u32);
        instructions.push(instruction);
    }
    Computation { root: place[computation.root.index()], instructions, ..computation }
}
