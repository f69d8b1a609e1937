//! Hoists values that do not change in a loop.
//!
//! ```text
//! while(s: (n, x, y)) { (n + 1, x, y * reduce(x)) }
//! r = reduce(x); while(s: (n, x, y, r)) { (n + 1, x, y * r, r) }
//! ```
//!
//! The hoisted value becomes a further element of the loop's state. Every iteration passes the
//! value on, so the value remains in the same buffer. The pass does not hoist a value that an
//! iteration recomputes as fast as it would read it. Nor does it hoist a large value that is
//! computed from small ones, because the value would need too much memory. The pass does hoist
//! cheap concatenations, and cheap operations on a product's operands, because products are fastest
//! if their operands lie in memory in the order in which the kernel reads them. If the loop
//! executes no iteration, the work for the hoisted value is wasted.

mod operands;

use std::collections::{BTreeSet, HashMap};

use fusebox_core::cost;
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayShape, Computation, ComputationId, InstrId, Instruction, Module, Op, Shape};

use super::common_subexpressions::{depends_on_operands_alone, merge_equal};
use super::tuples;
use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Hoists values out of all loops. Visits inner loops first, because a value that is hoisted out of
/// an inner loop may then be hoisted out of the outer loop, too.
pub fn run(module: &mut Module, device: &DeviceDescription) -> Result<(), CompileError> {
    let mut has_changed = false;
    for caller in in_role(module, Role::Sequence) {
        let loops: Vec<InstrId> = module.computation(caller).ids().filter(|&id| is_loop(module, caller, id)).collect();
        for &at in &loops {
            prepare(module, caller, at, device)?;
        }
        let found = loops.into_iter().filter_map(|id| HoistingLoop::of(module, caller, id, device));
        let found: Vec<HoistingLoop> = found.filter(|it| is_called_once(module, it)).collect();
        if !found.is_empty() {
            hoist(module, caller, &found);
            has_changed = true;
        }
    }
    if has_changed { tuples::run(module) } else { Ok(()) }
}

fn is_loop(module: &Module, caller: ComputationId, id: InstrId) -> bool {
    matches!(module.computation(caller).instruction(id).op, Op::While { .. })
}

/// Prepares a loop whose invariants may be hoisted: merges equal instructions, so that each value
/// is hoisted once, and transposes operands of products where that pays off.
fn prepare(
    module: &mut Module,
    caller: ComputationId,
    at: InstrId,
    device: &DeviceDescription,
) -> Result<(), CompileError> {
    let Op::While { condition, body } = module.computation(caller).instruction(at).op else { return Ok(()) };
    if may_leave(module, condition, body) {
        let merged = merge_equal(module.computation(body));
        module.computations[body.index()] = operands::laid_out(&merged, device)?.unwrap_or(merged);
    }
    Ok(())
}

/// Whether the invariant values of a loop may be computed before the loop.
fn may_leave(module: &Module, condition: ComputationId, body: ComputationId) -> bool {
    [body, condition].iter().all(|&it| reads_only_state_elements(module.computation(it)) && calls_of(module, it) == 1)
}

/// Returns, for each body of a loop, which of its instructions may be computed before the loop.
pub fn leaving(module: &Module, device: &DeviceDescription) -> HashMap<ComputationId, Vec<bool>> {
    let mut leaving = HashMap::new();
    for caller in in_role(module, Role::Sequence) {
        for instruction in &module.computation(caller).instructions {
            let Op::While { condition, body } = instruction.op else { continue };
            if may_leave(module, condition, body) {
                let of_body = module.computation(body);
                let invariant = invariant(of_body).into_iter().zip(of_body.ids());
                let leaves = invariant.map(|(is_invariant, id)| is_invariant && has_room(of_body, id, device));
                leaving.insert(body, leaves.collect());
            }
        }
    }
    leaving
}

/// A loop, and the instructions to hoist out of it.
struct HoistingLoop {
    at: InstrId,
    condition: ComputationId,
    body: ComputationId,
    /// Instructions of the body whose values become elements of the state.
    values: Vec<InstrId>,
    /// The values and all instructions that they depend on, in order.
    hoisted: Vec<InstrId>,
    /// Shape of the loop's state, including the hoisted values.
    state: Shape,
}

impl HoistingLoop {
    /// Returns the instructions to hoist out of a loop. `None` if there are none, or if an
    /// instruction uses the state as a whole.
    fn of(module: &Module, caller: ComputationId, at: InstrId, device: &DeviceDescription) -> Option<HoistingLoop> {
        let instruction = module.computation(caller).instruction(at);
        let Op::While { condition, body } = instruction.op else { return None };
        let (of_body, of_condition) = (module.computation(body), module.computation(condition));
        if !reads_only_state_elements(of_body) || !reads_only_state_elements(of_condition) {
            return None;
        }
        let values = worth_hoisting(of_body, &invariant(of_body), device);
        let hoisted = needed_for(of_body, &values);
        let shapes = values.iter().map(|&value| of_body.instruction(value).shape.clone());
        let state = Shape::Tuple(instruction.shape.as_tuple()?.iter().cloned().chain(shapes).collect());
        (!values.is_empty()).then_some(HoistingLoop { at, condition, body, values, hoisted, state })
    }
}

/// Whether only this loop calls its body and its condition, so that they may be changed.
fn is_called_once(module: &Module, it: &HoistingLoop) -> bool {
    calls_of(module, it.body) == 1 && calls_of(module, it.condition) == 1
}

/// Counts the calls of a computation.
pub(super) fn calls_of(module: &Module, callee: ComputationId) -> usize {
    let all = module.computations.iter().flat_map(|computation| &computation.instructions);
    all.flat_map(|instruction| instruction.op.called()).filter(|&called| called == callee).count()
}

/// Whether all instructions read only elements of the loop's state, and none uses the state as a
/// whole.
pub(super) fn reads_only_state_elements(computation: &Computation) -> bool {
    let [state] = computation.parameters()[..] else { return false };
    let uses = |instruction: &&Instruction| instruction.operands.contains(&state);
    computation.root != state
        && computation.instructions.iter().filter(uses).all(|it| matches!(it.op, Op::GetTupleElement { .. }))
}

/// Returns for each instruction of a loop's body whether its value is the same in every iteration.
pub fn invariant(body: &Computation) -> Vec<bool> {
    let root = body.instruction(body.root);
    let is_passed_on = |index: i64| {
        let next = usize::try_from(index).ok().and_then(|index| root.operands.get(index));
        next.is_some_and(|&next| element_of_state(body, next) == Some(index))
    };
    let mut invariant = vec![false; body.instructions.len()];
    for id in body.ids() {
        let instruction = body.instruction(id);
        invariant[id.index()] = match element_of_state(body, id) {
            Some(index) => matches!(root.op, Op::Tuple) && is_passed_on(index),
            None => {
                let is_known = match &instruction.op {
                    // If this loop executes no iteration, an inner loop that is hoisted might never
                    // end.
                    Op::While { .. } | Op::Conditional { .. } => false,
                    Op::CustomCall(call) => !call.has_side_effect,
                    op => depends_on_operands_alone(op),
                };
                is_known && instruction.operands.iter().all(|operand| invariant[operand.index()])
            }
        };
    }
    invariant
}

/// Returns the index of the state element that an instruction reads.
pub(super) fn element_of_state(body: &Computation, id: InstrId) -> Option<i64> {
    let Instruction { op: Op::GetTupleElement { index }, operands, .. } = body.instruction(id) else { return None };
    matches!(body.instruction(operands[0]).op, Op::Parameter { .. }).then_some(*index)
}

/// Returns the invariant values that the rest of the body uses. If a value is cheap to compute,
/// returns the values that it depends on instead.
fn worth_hoisting(body: &Computation, invariant: &[bool], device: &DeviceDescription) -> Vec<InstrId> {
    let mut is_wanted = vec![false; body.instructions.len()];
    let mut is_multiplied = is_wanted.clone();
    for (instruction, _) in body.instructions.iter().zip(invariant).filter(|(_, is_invariant)| !**is_invariant) {
        let is_product = matches!(instruction.op, Op::Dot(_) | Op::Convolution(_));
        for operand in &instruction.operands {
            is_wanted[operand.index()] = true;
            is_multiplied[operand.index()] |= is_product;
        }
    }
    let mut values = Vec::new();
    // Visits users before their operands.
    for id in body.ids().rev().filter(|id| invariant[id.index()]) {
        if !is_wanted[id.index()] || element_of_state(body, id).is_some() {
            continue;
        }
        if has_room(body, id, device) && (is_long(body, id) || is_put_together(body, id, is_multiplied[id.index()])) {
            values.push(id)
        } else {
            body.instruction(id).operands.iter().for_each(|operand| {
                is_wanted[operand.index()] = true;
                is_multiplied[operand.index()] |= is_multiplied[id.index()];
            })
        }
    }
    values.reverse();
    values
}

/// Whether the value is not larger than the state elements that it is computed from, or fits into a
/// core's cache.
fn has_room(body: &Computation, id: InstrId, device: &DeviceDescription) -> bool {
    let Some(array) = body.instruction(id).shape.as_array() else { return false };
    let made_of = needed_for(body, &[id]);
    let sources = made_of.iter().filter(|&&it| element_of_state(body, it).is_some());
    let read: i64 = sources.map(|&it| cost::bytes(body.instruction(it))).fold(0, i64::saturating_add);
    array.element_count() > 0 && (array.byte_size() <= read || array.byte_size() as u64 <= device.core_cache_bytes)
}

/// Whether computing the value takes longer than reading it.
fn is_long(body: &Computation, id: InstrId) -> bool {
    let instruction = match body.instruction(id) {
        Instruction { op: Op::GetTupleElement { .. }, operands, .. } => body.instruction(operands[0]),
        instruction => instruction,
    };
    let is_copied = instruction.op.is_movement() || matches!(instruction.op, Op::Broadcast { .. });
    let takes = || additions(body, &needed_for(body, &[id]));
    !is_copied
        && (!instruction.op.is_elemental()
            || takes() >= cost::ROUND_TRIP * cost::first_array(instruction).map_or(0.0, count))
}

/// Whether the value is a concatenation, or is an operand of a product that needs computation or a
/// copy. Slices need no copy.
fn is_put_together(body: &Computation, id: InstrId, is_multiplied: bool) -> bool {
    match body.instruction(id).op {
        Op::Concatenate { .. } => true,
        Op::Broadcast { .. } | Op::Reshape | Op::Slice { .. } | Op::DynamicSlice { .. } | Op::Constant(_) => false,
        _ => is_multiplied,
    }
}

fn count(array: &ArrayShape) -> f64 {
    array.element_count() as f64
}

/// Returns the time that some instructions take, as a number of additions.
fn additions(body: &Computation, instructions: &[InstrId]) -> f64 {
    let of = |&id: &InstrId| {
        let instruction = body.instruction(id);
        cost::first_array(instruction).map_or(0.0, count) * cost::per_element(body, instruction)
    };
    instructions.iter().map(of).sum()
}

/// Returns, in order, these values and all instructions that they depend on. The search stops at
/// elements of the loop's state.
fn needed_for(body: &Computation, values: &[InstrId]) -> Vec<InstrId> {
    let (mut needed, mut open) = (BTreeSet::new(), values.to_vec());
    while let Some(id) = open.pop() {
        if needed.insert(id) && element_of_state(body, id).is_none() {
            open.extend(&body.instruction(id).operands);
        }
    }
    needed.into_iter().collect()
}

/// Rewrites the loops of a computation, their bodies and conditions.
fn hoist(module: &mut Module, caller: ComputationId, loops: &[HoistingLoop]) {
    let mut rebuild = Rebuild::new(module.computation(caller));
    let old = module.computation(caller);
    for (id, instruction) in old.ids().zip(&old.instructions) {
        let new = match loops.iter().find(|it| it.at == id) {
            Some(it) => before_loop(module, &mut rebuild, instruction, it),
            None => rebuild.copy(instruction),
        };
        rebuild.set(id, new);
    }
    let new = rebuild.finish();
    for it in loops {
        let condition = with_state(module.computation(it.condition), &it.state);
        let body = passing_on(with_state(module.computation(it.body), &it.state), it);
        module.computations[it.condition.index()] = condition;
        module.computations[it.body.index()] = body;
    }
    module.computations[caller.index()] = new;
}

/// Adds the hoisted instructions and the loop. The loop's state contains the hoisted values.
/// Returns the loop's result in its old shape.
fn before_loop(module: &Module, rebuild: &mut Rebuild, instruction: &Instruction, it: &HoistingLoop) -> InstrId {
    let body = module.computation(it.body);
    let initial = rebuild.mapped(instruction.operands[0]);
    let parts = instruction.shape.as_tuple().unwrap_or_default();
    let elements = elements(rebuild, instruction, initial, parts);
    let mut made: Vec<InstrId> = vec![InstrId(0); body.instructions.len()];
    for &id in &it.hoisted {
        let hoisted = body.instruction(id);
        made[id.index()] = match element_of_state(body, id) {
            Some(index) => elements[index as usize],
            None => {
                let operands = hoisted.operands.iter().map(|operand| made[operand.index()]).collect();
                rebuild.add(hoisted, hoisted.op.clone(), hoisted.shape.clone(), operands)
            }
        };
    }
    let values = it.values.iter().map(|value| made[value.index()]);
    let state = elements.iter().copied().chain(values).collect();
    let state = rebuild.add(instruction, Op::Tuple, it.state.clone(), state);
    let last = rebuild.add(instruction, instruction.op.clone(), it.state.clone(), vec![state]);
    let results = self::elements(rebuild, instruction, last, parts);
    rebuild.add(instruction, Op::Tuple, instruction.shape.clone(), results)
}

/// Returns the first elements of a tuple, which have these shapes.
pub(super) fn elements(rebuild: &mut Rebuild, origin: &Instruction, tuple: InstrId, shapes: &[Shape]) -> Vec<InstrId> {
    if let Instruction { op: Op::Tuple, operands, .. } = rebuild.instruction(tuple) {
        return operands.clone();
    }
    let element = |(index, shape): (usize, &Shape)| {
        rebuild.add(origin, Op::GetTupleElement { index: index as i64 }, shape.clone(), vec![tuple])
    };
    shapes.iter().enumerate().map(element).collect()
}

/// Returns a copy of the computation whose only parameter has another shape. All elements of the
/// parameter that the computation uses keep their index and shape.
fn with_state(computation: &Computation, shape: &Shape) -> Computation {
    let mut new = computation.clone();
    for id in computation.parameters() {
        new.instructions[id.index()].shape = shape.clone();
    }
    new
}

/// Returns a copy of the body that reads the hoisted values from the state and passes them on.
fn passing_on(body: Computation, it: &HoistingLoop) -> Computation {
    let mut rebuild = Rebuild::new(&body);
    let first = it.state.as_tuple().map_or(0, <[Shape]>::len) - it.values.len();
    for (id, instruction) in body.ids().zip(&body.instructions) {
        let number = it.values.iter().position(|&value| value == id);
        let new = match number {
            Some(number) => {
                let state = body.parameters().iter().map(|&state| rebuild.mapped(state)).collect();
                let element = Op::GetTupleElement { index: (first + number) as i64 };
                rebuild.add(instruction, element, instruction.shape.clone(), state)
            }
            None if id == body.root => {
                let values = it.values.iter().map(|&value| rebuild.mapped(value));
                let operands = rebuild.operands(instruction).into_iter().chain(values).collect();
                rebuild.add(instruction, Op::Tuple, it.state.clone(), operands)
            }
            None => rebuild.copy(instruction),
        };
        rebuild.set(id, new);
    }
    rebuild.finish()
}
