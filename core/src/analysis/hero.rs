//! Finding heroes.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use super::epilogue::{keeps_positions, users_stay_elementwise};
use super::transpose::NormalTranspose;
use crate::emitter::Fusion;
use crate::hlo::{Computation, InstrId, Instruction, Op};

/// What kind of iteration space a hero asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HeroKind {
    /// Any: the root's own elements.
    None,
    /// A `reduce`.
    Reduce,
    /// A `transpose` that moves elements.
    Transpose,
    /// A `concatenate`.
    Concatenate,
    /// A `scatter`, which must be the root itself.
    Scatter,
    /// A `dynamic-update-slice`, which must be the root itself.
    DynamicUpdateSlice,
}

/// The hero of one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hero {
    /// The result of the fusion.
    pub root: InstrId,
    /// The operation that decides the kernel; the root itself if nothing else does.
    pub instruction: InstrId,
    /// Its kind.
    pub kind: HeroKind,
    /// Why this one, in words for `explain`.
    pub reason: String,
}

impl fmt::Display for HeroKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeroKind::None => "none",
            HeroKind::Reduce => "reduce",
            HeroKind::Transpose => "transpose",
            HeroKind::Concatenate => "concatenate",
            HeroKind::Scatter => "scatter",
            HeroKind::DynamicUpdateSlice => "dynamic-update-slice",
        })
    }
}

/// The hero of each root of a fusion, in the order of [`Fusion::roots`].
///
/// From a root the search goes up through the epilogue, nearest operations first. The nearest operation
/// with an iteration space of its own is the hero, provided that it is the only one so near and that
/// everything between it and the root works element by element.
pub fn heroes(fusion: &Fusion) -> Vec<Hero> {
    fusion.roots.iter().map(|&root| hero_of(fusion.computation(), root)).collect()
}

fn hero_of(computation: &Computation, root: InstrId) -> Hero {
    let own = |reason: String| Hero { root, instruction: root, kind: HeroKind::None, reason };
    let name = |id: InstrId| &computation.instruction(id).name;
    let at_root = kind_at_root(computation.instruction(root));
    if at_root != HeroKind::None {
        return Hero {
            root,
            instruction: root,
            kind: at_root,
            reason: format!("the root {} is a {at_root}", name(root)),
        };
    }
    let found = nearest(computation, root);
    match found.as_slice() {
        [] => own(format!("nothing above {} has an iteration space of its own", name(root))),
        [hero] if users_stay_elementwise(computation, *hero, root) => {
            let kind = kind_inside(computation.instruction(*hero));
            let reason = format!("{} is a {kind}, and what follows works element by element", name(*hero));
            Hero { root, instruction: *hero, kind, reason }
        }
        [hero] => own(format!("{} is also read otherwise than element by element", name(*hero))),
        [first, ..] if moved_alike(computation, &found, root) => {
            let names: Vec<&str> = found.iter().map(|&id| name(id).as_str()).collect();
            let reason =
                format!("{} move their operands alike, and what follows works element by element", names.join(", "));
            Hero { root, instruction: *first, kind: HeroKind::Transpose, reason }
        }
        several if let Some(hero) = nearest_concatenate(computation, several, root) => {
            let reason = format!("{} is the nearest concatenate, the others are read where it is", name(hero));
            Hero { root, instruction: hero, kind: HeroKind::Concatenate, reason }
        }
        [first, second, ..] => own(format!("both {} and {} could be the hero", name(*first), name(*second))),
    }
}

/// Whether several heroes are transposes of one form, so that one kernel can move all their operands.
fn moved_alike(computation: &Computation, heroes: &[InstrId], root: InstrId) -> bool {
    let form = |id: InstrId| NormalTranspose::of(computation, computation.instruction(id));
    let first = heroes.first().and_then(|&id| form(id));
    first.is_some() && heroes.iter().all(|&id| form(id) == first && users_stay_elementwise(computation, id, root))
}

/// The first of several concatenates. One of them sets the iteration space; for the others the kernel has to choose
/// between reads, which costs less than a kernel of their own.
fn nearest_concatenate(computation: &Computation, heroes: &[InstrId], root: InstrId) -> Option<InstrId> {
    let is_concatenate = |&id: &InstrId| kind_inside(computation.instruction(id)) == HeroKind::Concatenate;
    let mut fitting = heroes.iter().copied().filter(|&id| users_stay_elementwise(computation, id, root));
    heroes.iter().all(is_concatenate).then(|| fitting.next()).flatten()
}

/// The kind of hero that an instruction is as the root of a fusion.
pub fn kind_at_root(instruction: &Instruction) -> HeroKind {
    match instruction.op {
        Op::Scatter { .. } => HeroKind::Scatter,
        Op::DynamicUpdateSlice => HeroKind::DynamicUpdateSlice,
        _ => kind_inside(instruction),
    }
}

/// The kind of hero that an instruction is with an epilogue behind it.
pub fn kind_inside(instruction: &Instruction) -> HeroKind {
    match &instruction.op {
        Op::Reduce { .. } => HeroKind::Reduce,
        Op::Concatenate { .. } => HeroKind::Concatenate,
        Op::Transpose { permutation } if moves_elements(permutation, instruction) => HeroKind::Transpose,
        _ => HeroKind::None,
    }
}

/// Whether any two dimensions of more than one element change their order.
fn moves_elements(permutation: &[i64], instruction: &Instruction) -> bool {
    let Some(array) = instruction.shape.as_array() else { return false };
    let real: Vec<i64> = permutation.iter().zip(&array.dims).filter(|(_, size)| **size > 1).map(|(p, _)| *p).collect();
    !real.is_sorted()
}

/// The nearest heroes above `root`, in the order of their distance.
pub(super) fn nearest(computation: &Computation, root: InstrId) -> Vec<InstrId> {
    let mut found = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut pending = VecDeque::from([root]);
    while let Some(id) = pending.pop_front() {
        let instruction = computation.instruction(id);
        if kind_inside(instruction) != HeroKind::None {
            found.push(id);
            continue;
        }
        if keeps_positions(computation, instruction) {
            pending.extend(instruction.operands.iter().filter(|operand| seen.insert(**operand)));
        }
    }
    found
}
