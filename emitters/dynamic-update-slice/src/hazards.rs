//! Check that no thread reads an element of an updated parameter after another thread has changed
//! the element.
//!
//! The output may use the buffer of the parameter. Therefore, no thread may read an element that
//! another thread writes. In an updated parameter, a thread may read only elements that it replaces
//! itself.

use std::collections::HashSet;

use fusebox_core::analysis::takes_what_is_replaced;
use fusebox_core::emitter::{Decline, Fusion};
use fusebox_core::hlo::{Computation, InstrId, Op};

use crate::updates::{Update, UpdateFusion, decline};

/// Checks that the kernel can work in place.
///
/// # Errors
/// Returns the reason if the kernel cannot work in place.
pub fn check_hazards(fusion: &Fusion, work: &UpdateFusion) -> Result<(), Decline> {
    let users = fusion.computation().users();
    let hazard = |update| read_again(fusion, &users, update).or_else(|| parameter_read(fusion, &users, work, update));
    work.updates.iter().find_map(hazard).map_or(Ok(()), Err)
}

/// Returns a decline if an instruction other than a reshape or the root tuple reads the updated
/// array.
fn read_again(fusion: &Fusion, users: &[Vec<InstrId>], update: &Update) -> Option<Decline> {
    let computation = fusion.computation();
    let mut pending = vec![update.instruction];
    while let Some(id) = pending.pop() {
        for &user in &users[id.index()] {
            let instruction = computation.instruction(user);
            match &instruction.op {
                Op::Tuple if user == computation.root => {}
                op if op.is_reshape() => pending.push(user),
                _ => {
                    return Some(decline(
                        computation,
                        user,
                        "reads the updated array, most of which the kernel does not compute",
                    ));
                }
            }
        }
    }
    None
}

/// Returns a decline if an instruction reads the updated parameter and may read elements that the
/// kernel has already replaced.
fn parameter_read(fusion: &Fusion, users: &[Vec<InstrId>], work: &UpdateFusion, update: &Update) -> Option<Decline> {
    let computation = fusion.computation();
    let also = work.updates.iter().filter(|other| other.parameter == update.parameter);
    let targets: usize = also.map(|other| other.outputs.len()).sum();
    for &id in &update.chain {
        if fusion.roots.contains(&id) {
            return Some(decline(computation, id, "is updated and also a result"));
        }
        for &user in &users[id.index()] {
            let is_target = work.updates.iter().any(|other| {
                other.instruction == user
                    && computation.instruction(user).operands.iter().filter(|&&o| o == id).count() == 1
                    && computation.instruction(user).operands[0] == id
            });
            let on_the_way = work.updates.iter().any(|other| other.chain.contains(&user));
            if is_target || on_the_way {
                continue;
            }
            let reader = computation.instruction(user).name.clone();
            if targets > 1 {
                let reason = format!("is read by {reader} and updated for {targets} results");
                return Some(decline(computation, id, &reason));
            }
            let alone = update.element_count() == 1 && leads_only_to(computation, users, user, update, |_| true);
            if !alone && !reads_own_element(computation, users, user, update) {
                let reason = format!("is read by {reader} while parts of it are replaced");
                return Some(decline(computation, id, &reason));
            }
        }
    }
    None
}

/// Whether `reader` reads exactly the slice that the update replaces, and passes this slice to the
/// update element by element. Reshapes may be between the slice and the update, because reshapes
/// keep the order of the elements.
fn reads_own_element(computation: &Computation, users: &[Vec<InstrId>], reader: InstrId, update: &Update) -> bool {
    let same_slice = takes_what_is_replaced(computation, reader, update.instruction);
    let keeps = |id: InstrId| {
        let instruction = computation.instruction(id);
        let count = instruction.shape.as_array().map(|array| array.element_count());
        let in_order = instruction.op.is_elementwise() || instruction.op.is_reshape();
        in_order && count == Some(update.element_count())
    };
    // The starts must not depend on the slice, because every element needs the starts.
    same_slice
        && leads_only_to(computation, users, reader, update, keeps)
        && !starts_depend_on(computation, update, reader)
}

/// Whether all chains of users of `from` end at the update and consist of instructions that
/// `through` allows.
fn leads_only_to(
    computation: &Computation,
    users: &[Vec<InstrId>],
    from: InstrId,
    update: &Update,
    through: impl Fn(InstrId) -> bool,
) -> bool {
    let mut seen = HashSet::from([from]);
    let mut pending = vec![from];
    while let Some(id) = pending.pop() {
        if id == computation.root {
            return false;
        }
        for &user in &users[id.index()] {
            if user == update.instruction {
                continue;
            }
            if matches!(computation.instruction(user).op, Op::Tuple) || !through(user) {
                return false;
            }
            if seen.insert(user) {
                pending.push(user);
            }
        }
    }
    true
}

fn starts_depend_on(computation: &Computation, update: &Update, on: InstrId) -> bool {
    let mut pending = update.start_values();
    let mut seen: HashSet<InstrId> = pending.iter().copied().collect();
    while let Some(id) = pending.pop() {
        if id == on {
            return true;
        }
        pending.extend(computation.instruction(id).operands.iter().filter(|operand| seen.insert(**operand)));
    }
    false
}
