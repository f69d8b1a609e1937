//! Records which threads have accessed each element of a memory, and detects data races.
//!
//! Two accesses are ordered if the same thread makes both accesses. Accesses by two threads of the
//! same block are ordered if there is a barrier between the accesses. Accesses by different blocks
//! are never ordered, although the simulator runs one block after the other. Two unordered accesses
//! to the same element are a race if at least one access writes and at least one access is not
//! atomic.

use crate::values::HostMemory;

/// The kind of an access to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    Read,
    Write,
    /// Reads and writes the element in one atomic operation.
    Atomic,
}

/// An access by a thread: the thread, the number of barriers before the access, and the position in
/// the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub block: u32,
    pub thread: u16,
    /// Number of barriers that the block had passed before the access.
    pub epoch: u32,
    pub site: i32,
    pub atomic: bool,
}

impl Event {
    fn packed(self) -> u128 {
        let flags = 1 | u128::from(self.atomic) << 1;
        flags
            | u128::from(self.thread) << 16
            | u128::from(self.block) << 32
            | u128::from(self.epoch) << 64
            | u128::from(self.site as u32) << 96
    }

    fn unpacked(bits: u128) -> Option<Event> {
        (bits != 0).then_some(Event {
            block: (bits >> 32) as u32,
            thread: (bits >> 16) as u16,
            epoch: (bits >> 64) as u32,
            site: (bits >> 96) as i32,
            atomic: bits & 2 != 0,
        })
    }

    fn is_in_order_with(self, later: Event) -> bool {
        self.block == later.block && (self.thread == later.thread || self.epoch != later.epoch)
    }
}

/// The kind and the event of an earlier access that conflicts with a later access. `None` if no
/// earlier access conflicts.
type Conflict = Option<(AccessKind, Event)>;

/// The error that `bytes` bytes of memory for a history cannot be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryTooLarge {
    pub bytes: u64,
}

/// A table that holds at most one event per element of a memory.
#[derive(Debug, Default)]
struct Events(Option<HostMemory>);

impl Events {
    const SIZE: usize = size_of::<u128>();

    fn get(&self, element: usize) -> Option<Event> {
        let bytes = self.0.as_ref()?.as_slice().get(element * Self::SIZE..)?;
        Event::unpacked(u128::from_ne_bytes(*bytes.first_chunk()?))
    }

    /// Sets the event of `element`. `elements` is the number of elements of the memory. The table
    /// is allocated as zero pages, which the system provides only on access. So elements that no
    /// thread accesses need no memory.
    fn set(&mut self, elements: usize, element: usize, event: Event) -> Result<(), HistoryTooLarge> {
        let bytes = elements.saturating_mul(Self::SIZE);
        let buffer = match &mut self.0 {
            Some(buffer) => buffer,
            none => none.insert(HostMemory::zeroed(bytes).ok_or(HistoryTooLarge { bytes: bytes as u64 })?),
        };
        let start = element * Self::SIZE;
        buffer.as_mut_slice()[start..start + Self::SIZE].copy_from_slice(&event.packed().to_ne_bytes());
        Ok(())
    }
}

/// For each element of a memory, the accesses with which a later access may conflict. The history
/// of an element holds reads by at most two threads and writes by at most two threads, one access
/// per thread. Two threads suffice, because the thread of a later access differs from at least one
/// of the two threads.
#[derive(Debug)]
pub struct History {
    elements: usize,
    writes: [Events; 2],
    reads: [Events; 2],
    /// Whether every block has a separate memory. If every block has a separate memory, the history
    /// ignores accesses of other blocks.
    of_block: bool,
}

impl History {
    /// Creates the history of a memory. If `of_block` holds, each block has a separate memory.
    /// Otherwise all blocks share the memory.
    pub fn new(elements: usize, of_block: bool) -> History {
        History { elements, writes: Default::default(), reads: Default::default(), of_block }
    }

    /// Returns the last write to an element. If the last writes are not ordered, returns one of
    /// them.
    pub fn write_of(&self, element: usize, now: Event) -> Option<Event> {
        self.event(&self.writes[0], element, now)
    }

    /// Returns the first element that no thread has written.
    pub fn first_unwritten(&self) -> Option<usize> {
        (0..self.elements).find(|&element| self.writes[0].get(element).is_none())
    }

    /// Records an access. Returns an earlier access that conflicts with this access. Returns `None`
    /// if no access conflicts. Fails if memory for the history is short.
    pub fn record(&mut self, element: usize, kind: AccessKind, now: Event) -> Result<Conflict, HistoryTooLarge> {
        let conflict = self.conflict(element, kind, now);
        let events = if kind == AccessKind::Read { &mut self.reads } else { &mut self.writes };
        Self::remember(events, self.elements, element, now, self.of_block)?;
        Ok(conflict)
    }

    fn conflict(&self, element: usize, kind: AccessKind, now: Event) -> Conflict {
        let out_of_order = |events: &Events| {
            let earlier = self.event(events, element, now)?;
            if earlier.is_in_order_with(now) || (earlier.atomic && now.atomic) { None } else { Some(earlier) }
        };
        let write = self.writes.iter().find_map(out_of_order);
        let write = write.map(|event| (if event.atomic { AccessKind::Atomic } else { AccessKind::Write }, event));
        if write.is_some() || kind == AccessKind::Read {
            return write;
        }
        self.reads.iter().find_map(out_of_order).map(|event| (AccessKind::Read, event))
    }

    fn event(&self, events: &Events, element: usize, now: Event) -> Option<Event> {
        events.get(element).filter(|event| !self.of_block || event.block == now.block)
    }

    fn remember(
        [first, second]: &mut [Events; 2],
        elements: usize,
        element: usize,
        now: Event,
        of_block: bool,
    ) -> Result<(), HistoryTooLarge> {
        let known = first.get(element).filter(|event| !of_block || event.block == now.block);
        match known {
            // The known access was made by another block, so it is not ordered with this access,
            // nor with any later access of this block. Keep it.
            Some(event) if event.block != now.block => Ok(()),
            Some(event) if event.epoch == now.epoch && event.thread != now.thread => second.set(elements, element, now),
            _ => first.set(elements, element, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AccessKind::{Atomic, Read, Write};
    use super::*;

    fn event(block: u32, thread: u16, epoch: u32, kind: AccessKind) -> Event {
        Event { block, thread, epoch, site: -1, atomic: kind == Atomic }
    }

    /// Records accesses to one element, in order. Returns whether the last access conflicts with an
    /// earlier access.
    fn races(of_block: bool, accesses: &[(AccessKind, u32, u16, u32)]) -> bool {
        let mut history = History::new(1, of_block);
        let mut last = None;
        for &(kind, block, thread, epoch) in accesses {
            last = history.record(0, kind, event(block, thread, epoch, kind)).unwrap();
        }
        last.is_some()
    }

    #[test]
    fn events_are_kept_whole() {
        let event = Event { block: u32::MAX / 2, thread: 1023, epoch: 70_000, site: 12, atomic: true };
        assert_eq!(Event::unpacked(event.packed()), Some(event));
    }

    #[test]
    fn a_barrier_puts_threads_of_a_block_in_order() {
        assert!(races(false, &[(Write, 0, 1, 0), (Read, 0, 2, 0)]));
        assert!(!races(false, &[(Write, 0, 1, 0), (Read, 0, 2, 1)]));
        assert!(!races(false, &[(Write, 0, 1, 0), (Read, 0, 1, 0)]));
        assert!(races(false, &[(Write, 0, 1, 0), (Read, 1, 1, 1)]), "blocks are not in order");
        assert!(!races(true, &[(Write, 0, 1, 0), (Read, 1, 1, 0)]), "another block's tile is another memory");
    }

    #[test]
    fn one_of_several_readers_is_enough() {
        assert!(!races(false, &[(Read, 0, 1, 0), (Read, 0, 2, 0)]));
        assert!(races(false, &[(Read, 0, 1, 0), (Read, 0, 2, 0), (Write, 0, 1, 0)]));
        assert!(races(false, &[(Read, 0, 1, 0), (Read, 0, 2, 0), (Write, 0, 2, 0)]));
        assert!(!races(false, &[(Read, 0, 1, 0), (Write, 0, 1, 0)]));
        assert!(!races(false, &[(Read, 0, 1, 0), (Read, 0, 2, 0), (Write, 0, 3, 1)]));
        assert!(races(false, &[(Read, 0, 1, 0), (Read, 1, 1, 0), (Read, 1, 2, 1), (Write, 1, 2, 1)]));
    }

    #[test]
    fn atomic_updates_race_with_everything_else_only() {
        assert!(!races(false, &[(Atomic, 0, 1, 0), (Atomic, 5, 2, 0)]));
        assert!(races(false, &[(Atomic, 0, 1, 0), (Atomic, 0, 2, 0), (Read, 0, 2, 0)]));
        assert!(races(false, &[(Atomic, 0, 1, 0), (Atomic, 0, 2, 0), (Write, 0, 1, 0)]));
        assert!(races(false, &[(Write, 0, 1, 0), (Atomic, 0, 2, 0)]));
        assert!(!races(false, &[(Atomic, 0, 1, 0), (Atomic, 0, 2, 0), (Read, 0, 3, 1)]));
    }
}
