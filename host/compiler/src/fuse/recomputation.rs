//! Finds values of a kernel that other kernels recompute instead of reading them.
//!
//! A backward pass reads many elementwise values of the forward pass: not only `tanh(x)`, but also
//! its square and 1 minus the square. The forward pass writes only the values from which the other
//! values can be recomputed cheaply. Recomputation reduces memory traffic, and reduces the memory
//! that is in use until the backward pass.

use std::collections::{HashMap, HashSet};

use fusebox_core::cost::{ROUND_TRIP, per_element};
use fusebox_core::hlo::{Computation, InstrId, Op};

use super::candidate::Sequence;
use super::decide::is_scalar_constant;

/// Input and cost of recomputing an element.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Recomputation {
    /// The only value that the recomputation reads from a buffer, if it reads one.
    value: Option<InstrId>,
    /// Cost of computing an element from `value`, in additions.
    cost: f64,
}

impl Recomputation {
    const NOTHING: Recomputation = Recomputation { value: None, cost: 0.0 };

    fn of(value: InstrId) -> Recomputation {
        Recomputation { value: Some(value), cost: 0.0 }
    }

    /// Combines the recomputations of two operands. `None` if the two recomputations read different
    /// values.
    fn and(self, other: Recomputation) -> Option<Recomputation> {
        let value = self.value.or(other.value);
        let is_one = other.value.is_none_or(|other| value == Some(other));
        is_one.then_some(Recomputation { value, cost: self.cost + other.cost })
    }
}

/// Returns the members of a kernel that all readers outside the kernel may recompute. `members` are
/// in program order.
pub fn recomputable(sequence: &Sequence, members: &[InstrId], inside: &HashSet<InstrId>) -> HashSet<InstrId> {
    let computation = sequence.computation;
    let mut sources: HashMap<InstrId, Recomputation> = HashMap::new();
    let mut recomputable = HashSet::new();
    for &id in members {
        let source = source(sequence, id, inside, &sources);
        let is_read = sequence.is_read_outside(id, |reader| inside.contains(&reader));
        let may_be = !is_read || may_be_repeated(sequence, id, inside);
        let source = source.filter(|_| may_be);
        let is_kept = is_read && source.is_none() && !(may_be && is_copied(computation, id));
        if source.is_some() || (may_be && is_copied(computation, id)) {
            recomputable.insert(id);
        }
        let source = source.or(is_kept.then_some(Recomputation::of(id)));
        sources.extend(source.map(|source| (id, source)));
    }
    recomputable
}

/// Returns how to recompute a member, if cheap operations compute it from at most one value in a
/// buffer.
fn source(
    sequence: &Sequence,
    id: InstrId,
    inside: &HashSet<InstrId>,
    sources: &HashMap<InstrId, Recomputation>,
) -> Option<Recomputation> {
    let computation = sequence.computation;
    let instruction = computation.instruction(id);
    if is_copied(computation, id) {
        // The operand of a broadcast is small. So a reader may read this operand as a second value
        // if the operand is in a buffer anyway.
        let is_there = |operand| {
            !inside.contains(operand)
                || sources.get(operand).is_some_and(|it| it.value.is_none_or(|value| value == *operand))
        };
        return instruction.operands.iter().all(is_there).then_some(Recomputation::NOTHING);
    }
    if !instruction.op.is_elementwise() {
        return None;
    }
    let of_operand = |&operand: &InstrId| match () {
        () if inside.contains(&operand) => sources.get(&operand).copied(),
        () if is_copied(computation, operand) => Some(Recomputation::NOTHING),
        () => (!sequence.computable[operand.index()]).then_some(Recomputation::of(operand)),
    };
    let mut all = Recomputation { value: None, cost: per_element(computation, instruction) };
    for operand in &instruction.operands {
        all = all.and(of_operand(operand)?)?;
    }
    (all.cost <= ROUND_TRIP).then_some(all)
}

/// Whether all readers outside the kernel can recompute a member.
fn may_be_repeated(sequence: &Sequence, id: InstrId, inside: &HashSet<InstrId>) -> bool {
    let computation = sequence.computation;
    let reads_elements = |reader: InstrId| {
        inside.contains(&reader)
            || sequence.computable[reader.index()] && computation.instruction(reader).op.is_elementwise()
    };
    let readers = sequence.graph.readers(id).iter().map(|&reader| InstrId(reader as u32));
    id != computation.root && (is_copied(computation, id) || { readers }.all(reads_elements))
}

/// Whether an instruction is duplicated into every kernel that reads it.
pub fn is_copied(computation: &Computation, id: InstrId) -> bool {
    let op = &computation.instruction(id).op;
    matches!(op, Op::Broadcast { .. } | Op::Iota { .. }) || is_scalar_constant(op)
}
