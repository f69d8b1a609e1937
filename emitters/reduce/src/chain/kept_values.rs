//! Values of a row that a kernel stores between phases instead of rematerialising them.
//!
//! If space is limited, the emitter selects values of later instructions first. For a softmax, the
//! kernel stores `x` until the maximum is complete, then replaces `x` by `exp(x - max)`.

use fusebox_core::analysis::{RowChain, RowPlace, keeps_positions};
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ArrayShape, InstrId, Op};

/// An instruction whose values are stored, and the phase that computes it.
pub type KeptValue = (InstrId, usize);

/// For each phase, returns those of its results that have one value per row element. The results of
/// a phase are the operands of its reductions. The results of the last phase are the chain's roots.
pub fn wanted(chain: &RowChain) -> Vec<Vec<InstrId>> {
    let of_phase = |heroes: &Vec<fusebox_core::analysis::ReductionHero>| {
        let mut wanted: Vec<InstrId> = heroes.iter().flat_map(|hero| &hero.values).map(|value| value.operand).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    };
    let mut phases: Vec<Vec<InstrId>> = chain.phases.iter().map(of_phase).collect();
    let roots = chain.roots.iter().filter(|root| root.place == RowPlace::Element).map(|root| root.instruction);
    let mut roots: Vec<InstrId> = roots.collect();
    roots.sort_unstable();
    roots.dedup();
    phases.push(roots);
    phases
}

/// Returns the instructions to store, latest first, each with the phase that computes it. Each
/// returned instruction is needed by at least two phases, and its operation satisfies `is_worth`.
/// The whole list satisfies `admitted`.
pub fn kept(
    fusion: &Fusion,
    chain: &RowChain,
    is_worth: impl Fn(&Op) -> bool,
    admitted: impl Fn(&[KeptValue]) -> bool,
) -> Vec<KeptValue> {
    let computation = fusion.computation();
    let wanted = wanted(chain);
    let aligned = aligned(fusion, chain);
    let mut kept: Vec<KeptValue> = Vec::new();
    for id in computation.ids().rev() {
        let instruction = computation.instruction(id);
        if instruction.shape.as_array().is_none() || !aligned[id.index()] || !is_worth(&instruction.op) {
            continue;
        }
        let mut phases = (0..wanted.len()).filter(|&phase| is_needed(fusion, chain, &kept, &wanted[phase], id, phase));
        if let (Some(first), Some(_)) = (phases.next(), phases.next()) {
            kept.push((id, first));
            if !admitted(&kept) {
                kept.pop();
            }
        }
    }
    kept
}

/// Returns the number of bytes of one element of a kept instruction.
pub fn element_bytes(fusion: &Fusion, kept: InstrId) -> i64 {
    fusion.computation().instruction(kept).shape.as_array().map_or(0, |array| array.element_type.byte_size() as i64)
}

/// Returns, for each phase but the last, the instructions whose stored values later phases read.
pub fn alive(fusion: &Fusion, chain: &RowChain, kept: &[KeptValue]) -> Vec<Vec<InstrId>> {
    let wanted = wanted(chain);
    let is_read = |id: InstrId, after: usize| {
        (after + 1..wanted.len()).any(|phase| is_needed(fusion, chain, kept, &wanted[phase], id, phase))
    };
    let alive_after = |phase: usize| {
        let stored = kept.iter().filter(|(_, by)| *by <= phase).map(|(id, _)| *id);
        stored.filter(|&id| is_read(id, phase)).collect()
    };
    (0..chain.phases.len()).map(alive_after).collect()
}

/// Returns a flag for each instruction. The flag is true if the instruction has one value per row
/// element and every user, when it processes a row element, reads only the value of this element.
fn aligned(fusion: &Fusion, chain: &RowChain) -> Vec<bool> {
    let computation = fusion.computation();
    let users = computation.users();
    let mut aligned = vec![false; computation.instructions.len()];
    for id in computation.ids().rev() {
        let instruction = computation.instruction(id);
        let count = instruction.shape.as_array().map_or(0, ArrayShape::element_count);
        let reads_here = |user: &InstrId| {
            let reader = computation.instruction(*user);
            match &reader.op {
                Op::Tuple => true,
                Op::Reduce { .. } => chain.places[user.index()] == RowPlace::Row,
                _ => aligned[user.index()] && keeps_positions(computation, reader),
            }
        };
        aligned[id.index()] = count == chain.space.element_count() && users[id.index()].iter().all(reads_here);
    }
    aligned
}

/// Whether a phase must compute instruction `id` for its `outputs`. The phase loads the values that
/// earlier phases have stored.
fn is_needed(
    fusion: &Fusion,
    chain: &RowChain,
    kept: &[KeptValue],
    outputs: &[InstrId],
    id: InstrId,
    phase: usize,
) -> bool {
    let computation = fusion.computation();
    // The phase also computes the values that it stores.
    let mut pending: Vec<InstrId> = outputs.to_vec();
    pending.extend(kept.iter().filter(|(_, by)| *by == phase).map(|(id, _)| *id));
    let mut seen = vec![false; computation.instructions.len()];
    while let Some(next) = pending.pop() {
        if std::mem::replace(&mut seen[next.index()], true) || chain.row_values.contains(&next) {
            continue;
        }
        if next == id {
            return true;
        }
        if kept.iter().any(|(kept, by)| *kept == next && *by < phase) {
            continue;
        }
        pending.extend(&computation.instruction(next).operands);
    }
    false
}

/// Whether the computation of an operation's elements needs arithmetic or a read from memory.
/// Constants, iotas, broadcasts, reshapes, bitcasts and tuples need neither arithmetic nor a read.
pub fn has_own_values(op: &Op) -> bool {
    !op.is_generated() && !op.is_reshape() && !matches!(op, Op::Tuple | Op::GetTupleElement { .. })
}
