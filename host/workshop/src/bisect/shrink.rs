//! Shrinks a module whose result is wrong. Each step either chooses an operand of the root as the
//! new root, or replaces an instruction by a parameter whose input is the instruction's value.

use std::time::{Duration, Instant};

use fusebox_core::hlo::{Computation, InstrId, Instruction, Literal, Module, Op, Shape};
use fusebox_edit::with_callees;

use super::steps::values;
use crate::case::Case;

/// Time after which shrinking stops.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns the number of instructions of the entry computation, without parameters.
pub fn size(case: &Case) -> usize {
    let entry = case.module.entry_computation();
    let computing = |entry: &Computation| entry.instructions.iter().filter(|it| !is_parameter(it)).count();
    entry.map_or(0, computing)
}

/// Shrinks a case step by step, as long as the result of the smaller case is wrong. A step may
/// replace an instruction by a parameter; the interpreter computes the value of this parameter.
pub fn smallest(mut case: Case, goes_wrong: &dyn Fn(&Case) -> bool) -> Case {
    let begin = Instant::now();
    while let Some(smaller) =
        candidates(&case).into_iter().take_while(|_| begin.elapsed() < LIMIT).find(|smaller| goes_wrong(smaller))
    {
        case = smaller;
    }
    case
}

/// Returns all cases that result from this case by one step of shrinking.
fn candidates(case: &Case) -> Vec<Case> {
    let Some(entry) = case.module.entry_computation() else { return Vec::new() };
    let Ok(values) = values(&case.module, &case.inputs) else { return Vec::new() };
    let is_array = |id: &InstrId| matches!(entry.instruction(*id).shape, Shape::Array(_));
    let is_computed = |id: &InstrId| !is_parameter(entry.instruction(*id)) && *id != entry.root;
    let is_constant = |id: &InstrId| matches!(entry.instruction(*id).op, Op::Constant(_));
    let roots = entry.root_instruction().operands.iter().copied().filter(is_array).filter(is_computed);
    let roots = roots.filter(|id| !is_constant(id)).map(|root| Computation { root, ..entry.clone() });
    // Instructions close to the root come first, because their replacement removes the most
    // instructions.
    let cuts = entry.ids().rev().filter(is_array).filter(is_computed).filter(|id| !is_constant(id));
    let cuts = cuts.map(|cut| {
        let mut entry = entry.clone();
        let number = case.inputs.len() as i64;
        let instruction = &mut entry.instructions[cut.index()];
        (instruction.op, instruction.operands) = (Op::Parameter { number }, Vec::new());
        (entry, values[cut.index()].clone())
    });
    let cut = cuts.map(|(entry, value)| {
        let inputs = case.inputs.iter().cloned().chain([value]).collect::<Vec<Literal>>();
        without_dead(&case.module, &entry, &inputs)
    });
    roots.map(|entry| without_dead(&case.module, &entry, &case.inputs)).chain(cut).collect()
}

/// Returns a case that contains only those instructions and inputs that the entry's root needs.
fn without_dead(module: &Module, entry: &Computation, inputs: &[Literal]) -> Case {
    let mut live = vec![false; entry.instructions.len()];
    live[entry.root.index()] = true;
    for id in entry.ids().rev() {
        if live[id.index()] {
            entry.instruction(id).operands.iter().for_each(|operand| live[operand.index()] = true);
        }
    }
    let mut numbers = vec![InstrId(0); live.len()];
    let mut kept = Vec::new();
    let mut kept_inputs = Vec::new();
    for id in entry.ids().filter(|id| live[id.index()]) {
        let mut instruction = entry.instruction(id).clone();
        instruction.operands.iter_mut().for_each(|operand| *operand = numbers[operand.index()]);
        if let Some(extra) = &mut instruction.extra {
            extra.control_predecessors.clear();
        }
        if let Op::Parameter { number } = &mut instruction.op {
            kept_inputs.extend(usize::try_from(*number).ok().and_then(|number| inputs.get(number)).cloned());
            *number = kept_inputs.len() as i64 - 1;
        }
        numbers[id.index()] = InstrId(kept.len() as u32);
        kept.push(instruction);
    }
    let root = numbers[entry.root.index()];
    let entry = Computation { instructions: kept, root, ..entry.clone() };
    let small = Module { bare: module.bare, ..with_callees(module, entry, &module.name) };
    Case { module: small, inputs: kept_inputs }
}

fn is_parameter(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Parameter { .. })
}
