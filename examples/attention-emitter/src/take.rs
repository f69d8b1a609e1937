//! Starts from a product of queries and keys, and chooses the surrounding instructions that the
//! kernel also computes.

use fusebox_core::cost::{is_heavy, per_element};
use fusebox_core::emitter::{Candidate, Decline, Fusion};
use fusebox_core::hlo::{InstrId, Instruction, Op};

use crate::form::{Attention, decline};

/// Largest cost, in additions per element, of an operand that every tile computes again.
const CHEAP: f64 = 12.0;

/// Returns the attention whose first dot is the anchor, and the instructions of the bid.
pub fn around(candidate: &Candidate) -> Result<(Attention, Vec<InstrId>), Decline> {
    let computation = candidate.region.computation();
    let after = depending_on(&candidate.region, candidate.anchor);
    let anchor = computation.instruction(candidate.anchor);
    let mut reason = None;
    for id in computation.ids().filter(|&id| after[id.index()] && id != candidate.anchor) {
        if !matches!(computation.instruction(id).op, Op::Dot(_)) {
            continue;
        }
        match Attention::at(&candidate.region, id) {
            Ok(attention) if attention.first == candidate.anchor => {
                let instructions = instructions(&candidate.region, &attention, &after)?;
                return Ok((attention, instructions));
            }
            Ok(_) => {}
            Err(decline) => reason = reason.or(Some(decline)),
        }
    }
    Err(reason.unwrap_or_else(|| decline("no softmax and second dot follow", Some(anchor))))
}

/// For each instruction, whether it is `first` or depends on `first`.
fn depending_on(region: &Fusion, first: InstrId) -> Vec<bool> {
    let computation = region.computation();
    let mut depends = vec![false; computation.instructions.len()];
    for id in computation.ids() {
        let operands = &computation.instruction(id).operands;
        depends[id.index()] = id == first || operands.iter().any(|operand| depends[operand.index()]);
    }
    depends
}

/// Returns the instructions from the first dot to the root, and their cheap operands. Fails if any
/// other instruction also reads one of the instructions before the root.
fn instructions(region: &Fusion, attention: &Attention, after: &[bool]) -> Result<Vec<InstrId>, Decline> {
    let computation = region.computation();
    let users = computation.users();
    let mut taken = vec![false; computation.instructions.len()];
    taken[attention.root.index()] = true;
    for id in computation.ids().rev().filter(|&id| id < attention.root) {
        let instruction = computation.instruction(id);
        let readers = &users[id.index()];
        let is_read = readers.iter().any(|user| taken[user.index()]);
        let is_shared = region.roots.contains(&id) || readers.iter().any(|user| !taken[user.index()]);
        if after[id.index()] && is_read && is_shared {
            let reason =
                format!("{} is read elsewhere too, and the kernel stores nothing but its result", instruction.name);
            return Err(decline(reason, Some(instruction)));
        }
        let is_along = match instruction.op {
            Op::Parameter { .. } => false,
            // The host recomputes these for their other users.
            Op::Constant(_) | Op::Iota { .. } | Op::Broadcast { .. } => true,
            _ => after[id.index()] || !is_shared && is_cheap(region, instruction),
        };
        taken[id.index()] = is_read && is_along;
    }
    Ok(computation.ids().filter(|id| taken[id.index()]).collect())
}

/// Whether the instruction is so cheap that every tile may recompute the elements that the tile
/// needs.
fn is_cheap(region: &Fusion, instruction: &Instruction) -> bool {
    let moves = matches!(
        instruction.op,
        Op::Reshape | Op::Transpose { .. } | Op::Slice { .. } | Op::Reverse { .. } | Op::Concatenate { .. }
    );
    (moves || instruction.op.is_elementwise())
        && !is_heavy(&instruction.op)
        && per_element(region.computation(), instruction) <= CHEAP
}
