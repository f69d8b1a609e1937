//! What a kernel computes and others read, who compute it again for themselves instead.
//!
//! A backward pass reads much of what the forward pass computes element by element: of `tanh(x)` not only itself, but also its
//! square and what that lacks of 1. Written are only those values of which the others follow by cheap operations, so that there is less
//! to write, and less to keep until the backward pass is there.

use std::collections::{HashMap, HashSet};

use fusebox_core::cost::{ROUND_TRIP, per_element};
use fusebox_core::hlo::{Computation, InstrId, Op};

use super::candidate::Sequence;
use super::decide::is_scalar_constant;

/// Of what an element follows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Source {
    /// The one value in a buffer that is read, if any is.
    value: Option<InstrId>,
    /// Additions for an element, from there.
    cost: f64,
}

impl Source {
    const NOTHING: Source = Source { value: None, cost: 0.0 };

    fn of(value: InstrId) -> Source {
        Source { value: Some(value), cost: 0.0 }
    }

    /// Of both; `None` if that is more than one value.
    fn and(self, other: Source) -> Option<Source> {
        let value = self.value.or(other.value);
        let is_one = other.value.is_none_or(|other| value == Some(other));
        is_one.then_some(Source { value, cost: self.cost + other.cost })
    }
}

/// The members of a kernel, in order, that are computed again wherever they are read outside.
pub fn repeatable(sequence: &Sequence, members: &[InstrId], inside: &HashSet<InstrId>) -> HashSet<InstrId> {
    let computation = sequence.computation;
    let mut sources: HashMap<InstrId, Source> = HashMap::new();
    let mut repeatable = HashSet::new();
    for &id in members {
        let source = source(sequence, id, inside, &sources);
        let is_read = sequence.is_read_outside(id, |reader| inside.contains(&reader));
        let may_be = !is_read || may_be_repeated(sequence, id, inside);
        let source = source.filter(|_| may_be);
        let is_kept = is_read && source.is_none() && !(may_be && is_copied(computation, id));
        if source.is_some() || (may_be && is_copied(computation, id)) {
            repeatable.insert(id);
        }
        let source = source.or(is_kept.then_some(Source::of(id)));
        sources.extend(source.map(|source| (id, source)));
    }
    repeatable
}

/// Of what a member follows by cheap operations, if that is one value in a buffer.
fn source(
    sequence: &Sequence,
    id: InstrId,
    inside: &HashSet<InstrId>,
    sources: &HashMap<InstrId, Source>,
) -> Option<Source> {
    let computation = sequence.computation;
    let instruction = computation.instruction(id);
    if is_copied(computation, id) {
        // What a broadcast repeats is small: it may well be a second value that is read, if it is in a buffer anyway.
        let is_there = |operand| {
            !inside.contains(operand)
                || sources.get(operand).is_some_and(|it| it.value.is_none_or(|value| value == *operand))
        };
        return instruction.operands.iter().all(is_there).then_some(Source::NOTHING);
    }
    if !instruction.op.is_elementwise() {
        return None;
    }
    let of_operand = |&operand: &InstrId| match inside.contains(&operand) {
        true => sources.get(&operand).copied(),
        false if is_copied(computation, operand) => Some(Source::NOTHING),
        false => (!sequence.computable[operand.index()]).then_some(Source::of(operand)),
    };
    let mut all = Source { value: None, cost: per_element(computation, instruction) };
    for operand in &instruction.operands {
        all = all.and(of_operand(operand)?)?;
    }
    (all.cost <= ROUND_TRIP).then_some(all)
}

/// Whether all who read a member outside can compute it where they read it.
fn may_be_repeated(sequence: &Sequence, id: InstrId, inside: &HashSet<InstrId>) -> bool {
    let computation = sequence.computation;
    let reads_elements = |reader: InstrId| {
        inside.contains(&reader)
            || sequence.computable[reader.index()] && computation.instruction(reader).op.is_elementwise()
    };
    let readers = sequence.graph.readers(id).iter().map(|&reader| InstrId(reader as u32));
    id != computation.root && (is_copied(computation, id) || { readers }.all(reads_elements))
}

/// Whether every kernel computes an instruction for itself.
pub fn is_copied(computation: &Computation, id: InstrId) -> bool {
    let op = &computation.instruction(id).op;
    matches!(op, Op::Broadcast { .. } | Op::Iota { .. }) || is_scalar_constant(op)
}
