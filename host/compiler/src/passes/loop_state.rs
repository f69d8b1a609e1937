//! Removes unneeded elements from the state of loops.
//!
//! ```text
//! while(s: (n, x, k, y)) { (n + 1, x * k, k, y + x) }      if k starts as a constant, and y is not read after it
//! while(s: (n, x)) { (n + 1, x * k) }
//! ```
//!
//! An element of the state that every iteration passes on unchanged still has its initial value
//! after the loop. If an element that every iteration passes on starts as a constant, the pass
//! removes the element, and copies the constant into the body and the condition. The pass also
//! removes an element that no instruction reads after the loop, if only the element's own next
//! value depends on the element.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};
use fusebox_edit::{EditError, Rewrite, Rewritten, rewrite};

use super::constant_folding::constant;
use super::loop_invariants::{calls_of, reads_only_state_elements};
use super::tuples;
use crate::CompileError;
use crate::invariance::element_of_state;
use crate::roles::{Role, in_role};
use crate::side_effects::SideEffects;

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
            rewrite(module, caller, |edit, id, instruction| {
                let shrinkable = found.iter().find(|it| it.at == id);
                shrinkable.map(|it| smaller(edit, instruction, it)).transpose().map_err(CompileError::from)
            })?;
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
    /// The element is removed, because its value is a constant, which this instruction of the
    /// caller computes.
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
}

impl ShrinkableLoop {
    /// Returns the changes to a loop's state. `None` if the state does not change.
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
        let live = live(of_body, &SideEffects::of(module), &mut is_needed);
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
        Some(ShrinkableLoop { at, condition, body, fates, passed_on, live })
    }

    /// Selects the elements that the new state keeps.
    fn kept(&self, elements: &[InstrId]) -> Vec<InstrId> {
        let kept = elements.iter().zip(&self.fates).filter(|(_, fate)| matches!(fate, ElementFate::Kept(_)));
        kept.map(|(&element, _)| element).collect()
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

/// Returns, for each element of a loop's result, whether an instruction outside of the loop needs
/// the element. Elements that every iteration passes on are not needed, because users can read the
/// initial value instead.
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

/// Returns, for each instruction of a body, whether needed elements of the next state depend on it.
/// Also marks, in `is_needed`, the elements of the state that needed instructions read.
fn live(body: &Computation, effects: &SideEffects, is_needed: &mut [bool]) -> Vec<bool> {
    let root = body.instruction(body.root);
    let mut live: Vec<bool> = body.instructions.iter().map(|it| effects.has(it)).collect();
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

/// Adds the loop with its smaller state. Returns a tuple of all elements of the old state.
fn smaller(edit: &mut Rewrite, instruction: &Instruction, it: &ShrinkableLoop) -> Result<InstrId, EditError> {
    let (module, caller) = (edit.module(), edit.old());
    let before = edit.mapped(instruction.operands[0]);
    let initial = edit.elements(before);
    let state = edit.tuple(it.kept(&initial));
    let last = edit.loop_with_state([it.condition, it.body], state, |id, state| {
        let is_live = |inside: InstrId| id == it.condition || it.live[inside.index()];
        let edit = Rewrite::with_state(module, module.computation(id), state);
        with_less_state(edit, caller, it, is_live)
    })?;
    let mut results = initial;
    for (number, fate) in it.fates.iter().enumerate() {
        if let (ElementFate::Kept(index), false) = (fate, it.passed_on[number]) {
            results[number] = edit.element(last, *index);
        }
    }
    Ok(edit.tuple(results))
}

/// Returns a body or condition without the removed elements, and with copies of the constants.
/// `edit` contains only the parameter so far.
fn with_less_state(
    mut edit: Rewrite,
    caller: &Computation,
    it: &ShrinkableLoop,
    is_live: impl Fn(InstrId) -> bool,
) -> Result<Rewritten, EditError> {
    let old = edit.old();
    for (id, instruction) in old.ids().zip(&old.instructions) {
        edit.set_origin(instruction);
        let operands = edit.operands(instruction);
        let new = match element_of_state(old, id).map(|number| it.fates[number as usize]) {
            _ if matches!(instruction.op, Op::Parameter { .. }) => continue,
            _ if id == old.root && matches!(instruction.op, Op::Tuple) => edit.tuple(it.kept(&operands)),
            _ if !is_live(id) => continue,
            Some(ElementFate::Kept(index)) => edit.element(operands[0], index),
            Some(ElementFate::Constant(initial)) => duplicated_constant(&mut edit, caller, initial),
            Some(ElementFate::Gone) => continue,
            None => edit.copy(instruction),
        };
        edit.set(id, new);
    }
    edit.finish()
}

/// Duplicates a constant of the caller, or a broadcast of a constant.
fn duplicated_constant(edit: &mut Rewrite, caller: &Computation, id: InstrId) -> InstrId {
    let instruction = caller.instruction(id);
    let operands = instruction.operands.iter().map(|&operand| duplicated_constant(edit, caller, operand)).collect();
    edit.copy_with(instruction, operands)
}
