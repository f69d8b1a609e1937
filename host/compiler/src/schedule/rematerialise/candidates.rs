//! Finds values that can be rematerialised, and the memory that their rematerialisation saves.

use std::collections::{BTreeSet, HashMap, HashSet};

use fusebox_core::hlo::{Computation, InstrId, Op};

use crate::schedule::leaf_bytes;
use crate::schedule::uses::{LeafUses, ValueLeaf};

/// Largest number of kernels to execute again for one value.
const LONGEST_CHAIN: usize = 16;
/// Inverse of a fraction of the freed bytes. An operand with at most this fraction of the freed
/// bytes is kept alive, not rematerialised.
const SMALL_PART: u64 = 8;

/// A value to rematerialise.
pub struct Rematerialisation {
    /// The instructions to execute again, in this order.
    pub members: Vec<InstrId>,
    /// The first instruction that reads the result of the last member.
    pub next: InstrId,
    /// The instruction at the peak, after which all members execute.
    pub peak: InstrId,
    /// Bytes saved at the peak.
    pub gain: u64,
    /// Predicted time of the members' kernels, in seconds.
    pub seconds: f64,
}

/// The readers of a computation's leaves. Instructions execute in program order.
pub struct LeafReaders<'a> {
    computation: &'a Computation,
    uses: LeafUses,
    /// Readers of each leaf. The root counts as a reader of the leaves of the result.
    readers: HashMap<ValueLeaf, Vec<InstrId>>,
}

impl<'a> LeafReaders<'a> {
    /// Collects the readers of every leaf.
    pub fn of(computation: &'a Computation) -> LeafReaders<'a> {
        let uses = LeafUses::in_program_order(computation);
        let mut readers: HashMap<ValueLeaf, Vec<InstrId>> = HashMap::new();
        for id in computation.ids() {
            uses.reads(id).iter().for_each(|&leaf| readers.entry(leaf).or_default().push(id));
        }
        uses.result().iter().for_each(|&leaf| readers.entry(leaf).or_default().push(computation.root));
        LeafReaders { computation, uses, readers }
    }

    /// Returns the rematerialisations that reduce the memory that is alive at `peak`. `seconds`
    /// returns the time of an instruction, or `None` if the instruction cannot be executed again.
    pub fn candidates(&self, peak: InstrId, seconds: impl Fn(InstrId) -> Option<f64>) -> Vec<Rematerialisation> {
        let mut found = Vec::new();
        for id in (0..peak.0).map(InstrId).filter(|&id| seconds(id).is_some()) {
            let Some((freed, next)) = self.freed(id, peak) else { continue };
            // Tries two variants: keeping all operands, and rematerialising the large operands,
            // too.
            for kept in [u64::MAX, freed / SMALL_PART] {
                found.extend(self.again(id, peak, next, freed, kept, &seconds));
            }
        }
        found
    }

    /// Returns the bytes of those leaves of an instruction that are alive at the peak, but that the
    /// instruction at the peak does not read. Also returns the next instruction that reads one of
    /// these leaves.
    fn freed(&self, id: InstrId, peak: InstrId) -> Option<(u64, InstrId)> {
        let own = self.uses.leaves(id).iter().zip(leaf_bytes(&self.computation.instruction(id).shape));
        let across = own.filter_map(|(leaf, bytes)| {
            let next = self.readers.get(leaf)?.iter().copied().filter(|&reader| reader >= peak).min()?;
            (next > peak).then_some((bytes, next))
        });
        across.reduce(|(bytes, next), (more, other)| (bytes.saturating_add(more), next.min(other)))
    }

    /// Rematerialises the instruction, and also those operands that are dead at the peak and have
    /// more than `kept` bytes. Operands with at most `kept` bytes that are dead at the peak are
    /// kept alive until the instruction is executed again.
    fn again(
        &self,
        id: InstrId,
        peak: InstrId,
        next: InstrId,
        freed: u64,
        kept: u64,
        seconds: impl Fn(InstrId) -> Option<f64>,
    ) -> Option<Rematerialisation> {
        let (mut members, mut pending) = (BTreeSet::from([id]), vec![id]);
        let (mut known, mut alive): (HashSet<ValueLeaf>, u64) = (HashSet::new(), 0);
        while let Some(member) = pending.pop() {
            for &leaf in self.uses.reads(member) {
                if !known.insert(leaf) || !self.is_dead(leaf, peak) {
                    continue;
                }
                let bytes = leaf_bytes(&self.computation.instruction(leaf.producer).shape).nth(leaf.number)?;
                if bytes <= kept || seconds(leaf.producer).is_none() {
                    alive = alive.saturating_add(bytes);
                } else if members.insert(leaf.producer) {
                    pending.push(leaf.producer);
                }
            }
        }
        let gain = freed.checked_sub(alive).filter(|gain| *gain > 0 && members.len() <= LONGEST_CHAIN)?;
        let seconds = members.iter().filter_map(|&it| seconds(it)).sum();
        Some(Rematerialisation { members: members.into_iter().collect(), next, peak, gain, seconds })
    }

    /// Whether neither the instruction at the peak nor any later instruction reads a leaf.
    fn is_dead(&self, leaf: ValueLeaf, peak: InstrId) -> bool {
        let maker = &self.computation.instruction(leaf.producer).op;
        let is_external = matches!(maker, Op::Parameter { .. } | Op::Constant(_));
        !is_external && self.readers.get(&leaf).is_none_or(|readers| readers.iter().all(|&reader| reader < peak))
    }
}
