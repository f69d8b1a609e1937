//! Removes unneeded elements from the state of loops.
//!
//! ```text
//! while(s: (n, x, k, y)) { (n + 1, x * k, k, y + x) }      if k starts as a constant, and y is not read after it
//! while(s: (n, x)) { (n + 1, x * k) }
//! ```
//!
//! An element that every iteration passes on has its initial value after the loop. If the initial
//! value is a constant, the body and the condition get a copy of the constant. An element is
//! removed if no instruction reads it after the loop and only its own next value depends on it.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op, Shape};

use super::constant_folding::constant;
use super::loop_invariants::{calls_of, element_of_state, elements, reads_only_state_elements};
use super::tuples;
use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Shrinks the states of all loops. Visits outer loops first, because an element that an outer loop
/// does not need can then be removed from the state of inner loops, too.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let mut has_changed = false;
    for caller in in_role(module, Role::Sequence).into_iter().rev() {
        let of_caller = module.computation(caller);
        let users = of_caller.users();
        let found: Vec<ShrinkableLoop> =
            of_caller.ids().filter_map(|id| ShrinkableLoop::of(module, of_caller, &users, id)).collect();
        if !found.is_empty() {
            rewrite(module, caller, &found);
            has_changed = true;
        }
    }
    if has_changed { tuples::run(module) } else { Ok(()) }
}

/// The decision about an element of a loop's state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementFate {
    /// The element is kept, and has this number in the new state.
    Kept(usize),
    /// The element is a constant, which this instruction of the caller computes.
    Constant(InstrId),
    /// The element is removed, because no instruction needs it.
    Gone,
}

/// A loop whose state has elements that can be removed.
struct ShrinkableLoop {
    at: InstrId,
    condition: ComputationId,
    body: ComputationId,
    fates: Vec<ElementFate>,
    /// For each element, whether every iteration passes it on unchanged.
    passed_on: Vec<bool>,
    /// For each instruction of the body, whether the new body needs it.
    live: Vec<bool>,
    state: Shape,
}

impl ShrinkableLoop {
    /// Returns the changes of a loop's state. `None` if the state does not change.
    fn of(module: &Module, caller: &Computation, users: &[Vec<InstrId>], at: InstrId) -> Option<ShrinkableLoop> {
        let instruction = caller.instruction(at);
        let Op::While { condition, body } = instruction.op else { return None };
        let (of_body, of_condition) = (module.computation(body), module.computation(condition));
        let root = of_body.instruction(of_body.root);
        if !matches!(root.op, Op::Tuple)
            || !reads_only_state_elements(of_body)
            || !reads_only_state_elements(of_condition)
        {
            return None;
        }
        let passed_on: Vec<bool> =
            (0..).zip(&root.operands).map(|(number, &next)| element_of_state(of_body, next) == Some(number)).collect();
        let initial = caller.instruction(instruction.operands[0]);
        let constant = |number: usize| {
            let initial = matches!(initial.op, Op::Tuple).then(|| initial.operands[number])?;
            (passed_on[number] && is_constant(caller, initial)).then_some(initial)
        };
        let mut is_needed = needed_outside(caller, users, at, &passed_on);
        let of_condition = of_condition.ids().filter_map(|id| element_of_state(of_condition, id));
        of_condition.for_each(|number| is_needed[number as usize] = true);
        let live = live(of_body, &mut is_needed);
        let mut kept = 0..;
        let fate = |number: usize| match constant(number) {
            _ if !is_needed[number] => ElementFate::Gone,
            Some(initial) => ElementFate::Constant(initial),
            None => ElementFate::Kept(kept.next().unwrap_or_default()),
        };
        let fates: Vec<ElementFate> = (0..passed_on.len()).map(fate).collect();
        let count = kept.next().unwrap_or_default();
        if count == 0 || count == fates.len() || calls_of(module, body) != 1 || calls_of(module, condition) != 1 {
            return None;
        }
        let shapes = instruction.shape.as_tuple()?.iter().zip(&fates);
        let shapes = shapes.filter(|(_, fate)| matches!(fate, ElementFate::Kept(_))).map(|(shape, _)| shape.clone());
        let state = Shape::Tuple(shapes.collect());
        Some(ShrinkableLoop { at, condition, body, fates, passed_on, live, state })
    }
}

/// Whether an instruction is a small constant, or the broadcast of a number.
fn is_constant(caller: &Computation, id: InstrId) -> bool {
    let instruction = caller.instruction(id);
    match instruction.op {
        Op::Broadcast { .. } => {
            caller.instruction(instruction.operands[0]).shape.as_array().is_some_and(|array| {
                array.rank() == 0 && constant(caller.instruction(instruction.operands[0])).is_some()
            })
        }
        _ => constant(instruction).is_some(),
    }
}

/// Returns for each element of a loop's result whether an instruction needs it. Elements that every
/// iteration passes on are not needed, because users can read the initial value instead.
fn needed_outside(caller: &Computation, users: &[Vec<InstrId>], at: InstrId, passed_on: &[bool]) -> Vec<bool> {
    let mut is_needed = vec![caller.root == at; passed_on.len()];
    for &user in &users[at.index()] {
        match caller.instruction(user).op {
            Op::GetTupleElement { index } => {
                let is_read = user == caller.root || !users[user.index()].is_empty();
                is_needed[index as usize] |= is_read && !passed_on[index as usize];
            }
            _ => is_needed.fill(true),
        }
    }
    is_needed
}

/// Returns for each instruction of a body whether needed elements of the next state depend on it.
/// Marks in `is_needed` also the elements that these instructions read.
fn live(body: &Computation, is_needed: &mut [bool]) -> Vec<bool> {
    let root = body.instruction(body.root);
    let has_effect = |it: &Instruction| matches!(&it.op, Op::CustomCall(call) if call.has_side_effect);
    let mut live: Vec<bool> = body.instructions.iter().map(has_effect).collect();
    loop {
        let next = root.operands.iter().zip(is_needed.iter()).filter(|(_, is_needed)| **is_needed);
        next.for_each(|(next, _)| live[next.index()] = true);
        let before = is_needed.iter().filter(|it| **it).count();
        for id in body.ids().rev().filter(|&id| id != body.root) {
            if live[id.index()] {
                body.instruction(id).operands.iter().for_each(|operand| live[operand.index()] = true);
                element_of_state(body, id).into_iter().for_each(|number| is_needed[number as usize] = true);
            }
        }
        if is_needed.iter().filter(|it| **it).count() == before {
            return live;
        }
    }
}

fn rewrite(module: &mut Module, caller: ComputationId, loops: &[ShrinkableLoop]) {
    let old = module.computation(caller).clone();
    let mut rebuild = Rebuild::new(&old);
    for (id, instruction) in old.ids().zip(&old.instructions) {
        let new = match loops.iter().find(|it| it.at == id) {
            Some(it) => smaller(&mut rebuild, instruction, it),
            None => rebuild.copy(instruction),
        };
        rebuild.set(id, new);
    }
    let new = rebuild.finish();
    for it in loops {
        let all = vec![true; module.computation(it.condition).instructions.len()];
        let condition = with_less_state(module.computation(it.condition), &old, it, &all);
        let body = with_less_state(module.computation(it.body), &old, it, &it.live);
        module.computations[it.condition.index()] = condition;
        module.computations[it.body.index()] = body;
    }
    module.computations[caller.index()] = new;
}

/// Adds the loop with its smaller state. Returns a tuple of all elements of the old state.
fn smaller(rebuild: &mut Rebuild, instruction: &Instruction, it: &ShrinkableLoop) -> InstrId {
    let before = rebuild.mapped(instruction.operands[0]);
    let initial = elements(rebuild, instruction, before, instruction.shape.as_tuple().unwrap_or_default());
    let kept =
        initial.iter().zip(&it.fates).filter(|(_, fate)| matches!(fate, ElementFate::Kept(_))).map(|(id, _)| *id);
    let state = rebuild.add(instruction, Op::Tuple, it.state.clone(), kept.collect());
    let last = rebuild.add(instruction, instruction.op.clone(), it.state.clone(), vec![state]);
    let mut results = initial;
    for (number, fate) in it.fates.iter().enumerate() {
        if let (ElementFate::Kept(index), false) = (fate, it.passed_on[number]) {
            let shape = rebuild.instruction(results[number]).shape.clone();
            let element = Op::GetTupleElement { index: *index as i64 };
            results[number] = rebuild.add(instruction, element, shape, vec![last]);
        }
    }
    rebuild.add(instruction, Op::Tuple, instruction.shape.clone(), results)
}

/// Returns a body or condition without the removed elements, and with copies of the constants.
fn with_less_state(computation: &Computation, caller: &Computation, it: &ShrinkableLoop, live: &[bool]) -> Computation {
    let mut rebuild = Rebuild::new(computation);
    for (id, instruction) in computation.ids().zip(&computation.instructions) {
        let is_state = matches!(instruction.op, Op::Parameter { .. });
        let new = match element_of_state(computation, id).map(|number| it.fates[number as usize]) {
            _ if is_state => rebuild.add(instruction, instruction.op.clone(), it.state.clone(), Vec::new()),
            _ if id == computation.root && matches!(instruction.op, Op::Tuple) => {
                let next = instruction.operands.iter().zip(&it.fates);
                let next = next.filter(|(_, fate)| matches!(fate, ElementFate::Kept(_)));
                let next = next.map(|(next, _)| rebuild.mapped(*next)).collect();
                rebuild.add(instruction, Op::Tuple, it.state.clone(), next)
            }
            _ if !live[id.index()] => continue,
            Some(ElementFate::Kept(index)) => {
                let state = rebuild.operands(instruction);
                let element = Op::GetTupleElement { index: index as i64 };
                rebuild.add(instruction, element, instruction.shape.clone(), state)
            }
            Some(ElementFate::Constant(initial)) => duplicated_constant(&mut rebuild, caller, initial),
            Some(ElementFate::Gone) => continue,
            None => rebuild.copy(instruction),
        };
        rebuild.set(id, new);
    }
    rebuild.finish()
}

/// Duplicates a constant of the caller, or a broadcast of one.
fn duplicated_constant(rebuild: &mut Rebuild, caller: &Computation, id: InstrId) -> InstrId {
    let instruction = caller.instruction(id);
    let operands = instruction.operands.iter().map(|&operand| duplicated_constant(rebuild, caller, operand)).collect();
    rebuild.add(instruction, instruction.op.clone(), instruction.shape.clone(), operands)
}
