//! Finds loops that fill memory with zeros or copy memory.
//!
//! LLVM IR has one operation for such a loop (`llvm.memset`, `llvm.memcpy`). LLVM's pass
//! `loop-idiom` would find these loops too, but only after other passes have analysed each loop.

use fusebox_core::ir::{Effect, OpKind, Operation, Type};

use super::body::LaneBody;
use super::{Memory, Surroundings};

/// Whether an operation is a loop whose iterations store zeros to adjacent elements of the thread's
/// own memory, or copy adjacent elements to this memory from other memory.
///
/// The loop has one store and at most one load. The other operations of its body have no effects.
/// The number of iterations and the addresses of the first iteration determine the memory.
pub(crate) fn moves_memory(op: &Operation, types: &[Type], surroundings: &Surroundings) -> bool {
    // The number of iterations is usually not a constant, so any number of iterations must be
    // independent.
    let body = || LaneBody::of(op, None, types, surroundings);
    let counts_in_addresses = || op.operands.first().is_some_and(|first| types[first.number()] == Type::I64);
    surroundings.counts_by_one(op)
        && counts_in_addresses()
        && body().is_some_and(|body| body.moves_memory(surroundings))
}

impl LaneBody<'_> {
    pub(super) fn moves_memory(&self, surroundings: &Surroundings) -> bool {
        let writes_own_memory = |store: &Operation| {
            store.kind == OpKind::Store && surroundings.memories.get(&store.operands[1]) == Some(&Memory::Own)
        };
        let is_move = match self.of_lanes[..] {
            [store] => writes_own_memory(store) && surroundings.zeros.contains(&store.operands[0]),
            [load, store] => {
                load.kind == OpKind::Load
                    && writes_own_memory(store)
                    && store.operands[0] == load.result()
                    && surroundings.are_apart(load.operands[0], store.operands[1])
            }
            _ => false,
        };
        is_move && self.sums.is_empty() && self.shared.iter().all(|op| op.kind.effect() == Effect::None)
    }
}
