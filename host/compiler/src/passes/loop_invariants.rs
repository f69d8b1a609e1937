//! Hoists values that do not change in a loop.
//!
//! ```text
//! while(s: (n, x, y)) { (n + 1, x, y * reduce(x)) }
//! r = reduce(x); while(s: (n, x, y, r)) { (n + 1, x, y * r, r) }
//! ```
//!
//! The hoisted value becomes a further element of the loop's state. Every iteration passes the
//! hoisted value on unchanged, so the value remains in the same buffer. The pass does not hoist a
//! value if an iteration can recompute the value as fast as it can read the value. The pass also
//! does not hoist a large value that is computed from small values, because the large value would
//! need too much memory. The pass does hoist cheap concatenations, and cheap operations on a
//! product's operands. Products are fastest if their operands are stored in the order in which the
//! kernel reads them. If the loop executes no iteration, the work for the hoisted value is wasted.

mod operands;

use std::collections::{BTreeSet, HashMap};

use fusebox_core::cost;
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayShape, Computation, ComputationId, InstrId, Instruction, Module, Op, Shape};
use fusebox_edit::{EditError, Rewrite, Rewritten, rewrite};

use super::tuples;
use crate::CompileError;
use crate::equal_instructions::merge_equal;
use crate::fuse::Claims;
use crate::invariance::{element_of_state, invariant};
use crate::roles::{Role, in_role};
use crate::side_effects::SideEffects;

/// Hoists values out of all loops. Visits inner loops first, because a value that is hoisted out of
/// an inner loop may then be hoisted out of the outer loop, too.
pub fn run(module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
    let device = claims.device();
    let mut has_changed = false;
    for caller in in_role(module, Role::Sequence) {
        let loops: Vec<InstrId> = module.computation(caller).ids().filter(|&id| is_loop(module, caller, id)).collect();
        for &at in &loops {
            prepare(module, caller, at, claims)?;
        }
        let found = loops.into_iter().filter_map(|id| HoistingLoop::of(module, caller, id, device));
        let found: Vec<HoistingLoop> = found.filter(|it| is_called_once(module, it)).collect();
        if !found.is_empty() {
            rewrite(module, caller, |edit, id, instruction| {
                let hoisting = found.iter().find(|it| it.at == id);
                hoisting.map(|it| before_loop(edit, instruction, it)).transpose().map_err(CompileError::from)
            })?;
            has_changed = true;
        }
    }
    if has_changed { tuples::run(module) } else { Ok(()) }
}

fn is_loop(module: &Module, caller: ComputationId, id: InstrId) -> bool {
    matches!(module.computation(caller).instruction(id).op, Op::While { .. })
}

/// Prepares a loop whose invariants may be hoisted. Merges equal instructions, so that each value
/// is hoisted once. Transposes operands of products to the orders of dimensions that emitters
/// state.
fn prepare(module: &mut Module, caller: ComputationId, at: InstrId, claims: &mut Claims) -> Result<(), CompileError> {
    let Op::While { condition, body } = module.computation(caller).instruction(at).op else { return Ok(()) };
    if may_leave(module, condition, body) {
        module.computations[body.index()] = merge_equal(module.computation(body), &SideEffects::of(module));
        operands::lay_out(module, body, claims)?;
    }
    Ok(())
}

/// Whether the invariant values of a loop may be computed before the loop.
fn may_leave(module: &Module, condition: ComputationId, body: ComputationId) -> bool {
    [body, condition].iter().all(|&it| reads_only_state_elements(module.computation(it)) && calls_of(module, it) == 1)
}

/// Returns, for each loop body, which of the body's instructions may be computed before the loop.
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
    /// The instructions in `values`, and all instructions that these values depend on, in program
    /// order.
    hoisted: Vec<InstrId>,
}

impl HoistingLoop {
    /// Returns the instructions to hoist out of a loop. Returns `None` if there are no such
    /// instructions, or if an instruction uses the state as a whole.
    fn of(module: &Module, caller: ComputationId, at: InstrId, device: &DeviceDescription) -> Option<HoistingLoop> {
        let instruction = module.computation(caller).instruction(at);
        let Op::While { condition, body } = instruction.op else { return None };
        let (of_body, of_condition) = (module.computation(body), module.computation(condition));
        if !reads_only_state_elements(of_body) || !reads_only_state_elements(of_condition) {
            return None;
        }
        let values = worth_hoisting(of_body, &invariant(of_body), device);
        let hoisted = needed_for(of_body, &values);
        let has_elements = instruction.shape.as_tuple().is_some();
        (has_elements && !values.is_empty()).then_some(HoistingLoop { at, condition, body, values, hoisted })
    }
}

/// Whether only this loop calls its body and its condition. Only then may the pass change the body
/// and the condition.
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

/// Returns the invariant values to hoist. Instructions that are not invariant use these values. If
/// an invariant value is not worth hoisting, returns the invariant values that it depends on
/// instead.
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

/// Whether the value fits into a core's cache, or is at most as large as the state elements from
/// which it is computed.
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

/// Whether the value is a concatenation, or is an operand of a product and its elements must be
/// computed or copied. A product reads slices without a copy.
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

/// Adds the hoisted instructions and the loop. The loop's state contains the hoisted values.
/// Returns the loop's result in its old shape.
fn before_loop(edit: &mut Rewrite, instruction: &Instruction, it: &HoistingLoop) -> Result<InstrId, EditError> {
    let module = edit.module();
    let body = module.computation(it.body);
    let initial = edit.mapped(instruction.operands[0]);
    let elements = edit.elements(initial);
    let mut made: Vec<InstrId> = vec![InstrId(0); body.instructions.len()];
    for &id in &it.hoisted {
        let hoisted = body.instruction(id);
        made[id.index()] = match element_of_state(body, id) {
            Some(index) => elements[index as usize],
            None => {
                let operands = hoisted.operands.iter().map(|operand| made[operand.index()]).collect();
                edit.copy_with(hoisted, operands)
            }
        };
    }
    let values: Vec<InstrId> = it.values.iter().map(|value| made[value.index()]).collect();
    let state = edit.tuple([&elements[..], &values].concat());
    let last = edit.loop_with_state([it.condition, it.body], state, |id, state| {
        let values = if id == it.body { &it.values[..] } else { &[] };
        passing_on(module, module.computation(id), state, values)
    })?;
    let results: Vec<InstrId> = (0..elements.len()).map(|index| edit.element(last, index)).collect();
    Ok(edit.tuple(results))
}

/// Returns a copy of a loop's condition or body that reads these values from the state and passes
/// them on. The hoisted values are the last elements of the state. All other elements of the state
/// keep their indices and shapes.
fn passing_on(module: &Module, old: &Computation, state: Shape, values: &[InstrId]) -> Result<Rewritten, EditError> {
    let first = state.as_tuple().map_or(0, <[Shape]>::len) - values.len();
    let mut edit = Rewrite::with_state(module, old, state);
    for (id, instruction) in old.ids().zip(&old.instructions) {
        edit.set_origin(instruction);
        let new = match values.iter().position(|&value| value == id) {
            _ if matches!(instruction.op, Op::Parameter { .. }) => continue,
            Some(number) => {
                let state = edit.mapped(old.parameters()[0]);
                edit.element(state, first + number)
            }
            None if id == old.root && !values.is_empty() => {
                let mut next = match instruction.op {
                    Op::Tuple => edit.operands(instruction),
                    _ => {
                        let next = edit.copy(instruction);
                        edit.elements(next)
                    }
                };
                next.extend(values.iter().map(|&value| edit.mapped(value)));
                edit.tuple(next)
            }
            None => edit.copy(instruction),
        };
        edit.set(id, new);
    }
    edit.finish()
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::{parse_module, print_module, verify};

    use super::*;
    use crate::Emitters;

    /// The body returns the result of an inner loop. The body's parameter is not its first
    /// instruction.
    #[test]
    fn a_body_without_a_tuple_passes_values_on() {
        let text = "less { a = s32[] parameter(0)\n  b = s32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT }
few { s = (s32[], s32[64]) parameter(0)\n  n = s32[] get-tuple-element(s), index=0
  ten = s32[] constant(10)\n  ROOT l = pred[] compare(n, ten), direction=LT }
step { s = (s32[], s32[64]) parameter(0)\n  n = s32[] get-tuple-element(s), index=0
  x = s32[64] get-tuple-element(s), index=1\n  m = s32[] add(n, n)\n  y = s32[64] add(x, x)
  ROOT t = (s32[], s32[64]) tuple(m, y) }
body { i = s32[64] iota(), iota_dimension=0\n  j = s32[64] negate(i)
  o = s32[64] sort(j), dimensions={0}, to_apply=less\n  s = (s32[], s32[64]) parameter(0)
  n = s32[] get-tuple-element(s), index=0\n  x = s32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)\n  m = s32[] add(n, one)\n  y = s32[64] add(x, o)
  t = (s32[], s32[64]) tuple(m, y)
  ROOT w = (s32[], s32[64]) while(t), condition=few, body=step }
other { s = (s32[], s32[64]) parameter(0)\n  n = s32[] get-tuple-element(s), index=0
  ten = s32[] constant(100)\n  ROOT l = pred[] compare(n, ten), direction=LT }
ENTRY main { s = (s32[], s32[64]) parameter(0)
  ROOT w = (s32[], s32[64]) while(s), condition=other, body=body }";
        let mut module = parse_module(text, "test.hlo").unwrap();
        let emitters = Emitters::default();
        run(
            &mut module,
            &mut Claims::new(&DeviceDescription::cpu(2), &emitters, &fusebox_plugins::KnownPlans::default()),
        )
        .unwrap();
        verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
        let printed = print_module(&module);
        assert!(printed.split("ENTRY").nth(1).unwrap().contains("sort("), "{printed}");
    }
}
