//! Finds the heroes of roots.

use std::collections::{HashSet, VecDeque};

use super::epilogue::{keeps_positions, users_stay_elementwise};
use crate::hlo::{Computation, InstrId};

/// The hero of one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hero {
    /// The root, which is a result of the fusion.
    pub root: InstrId,
    /// The operation that decides the kernel. If `instruction` is `None`, any kernel that visits
    /// the root's elements can compute the root.
    pub instruction: Option<InstrId>,
    /// Why this hero was chosen, in words for `explain`.
    pub reason: String,
}

/// Finds the hero of a root. The caller's `form` returns `Some` for operations that can be heroes,
/// and equal forms for operations that one kernel can compute together.
///
/// Searches from the root towards its operands, through the epilogue, and visits near operations
/// first. If the search finds several operations that have a form, their forms must be equal. The
/// hero is the nearest found operation after which only elementwise operations follow.
pub fn hero_of<F: PartialEq>(computation: &Computation, root: InstrId, form: impl Fn(InstrId) -> Option<F>) -> Hero {
    let name = |id: InstrId| computation.instruction(id).name.as_str();
    let opcode = |id: InstrId| computation.instruction(id).opcode();
    let found = nearest(computation, root, |id| form(id).is_some());
    let names: Vec<&str> = found.iter().map(|&id| name(id)).collect();
    let has_one_form = found.windows(2).all(|pair| form(pair[0]) == form(pair[1]));
    let fitting = found.iter().copied().find(|&id| id == root || users_stay_elementwise(computation, id, root));
    let (instruction, reason) = match (found.as_slice(), fitting) {
        ([], _) => (None, format!("neither {} nor any of its producers can be the hero", name(root))),
        ([first, second, ..], _) if !has_one_form => {
            (None, format!("both {} and {} could be the hero", name(*first), name(*second)))
        }
        (_, None) => (None, format!("operations that are not elementwise also read {}", names.join(", "))),
        (_, Some(id)) if id == root => (Some(id), format!("the root {} is a {}", name(id), opcode(id))),
        ([_], Some(id)) => {
            let reason = format!("{} is a {}, and only elementwise operations follow", name(id), opcode(id));
            (Some(id), reason)
        }
        (_, Some(id)) => {
            (Some(id), format!("one kernel computes {}, and only elementwise operations follow", names.join(", ")))
        }
    };
    Hero { root, instruction, reason }
}

/// Returns the operations nearest to `root` for which `is_hero` holds, in order of increasing
/// distance. The result is `root` itself if `is_hero` holds for it. Every operation between a
/// returned operation and `root` keeps positions in the sense of [`keeps_positions`].
pub fn nearest(computation: &Computation, root: InstrId, is_hero: impl Fn(InstrId) -> bool) -> Vec<InstrId> {
    let mut found = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut pending = VecDeque::from([root]);
    while let Some(id) = pending.pop_front() {
        let instruction = computation.instruction(id);
        if is_hero(id) {
            found.push(id);
        } else if keeps_positions(computation, instruction) {
            pending.extend(instruction.operands.iter().filter(|operand| seen.insert(**operand)));
        }
    }
    found
}
