//! Records the accesses to a few bytes with which a later access could conflict.

use crate::fault::Access;
use crate::works::{NO_WORK, Work};

/// Warps of a block, at most.
pub const WARPS: usize = 32;

/// The thread that makes an access.
#[derive(Clone, Copy, Debug)]
pub struct Actor<'a> {
    pub work: &'a Work,
    /// Number of the block in the grid.
    pub block: u32,
    /// Number of the thread in the block.
    pub thread: u32,
    /// The block's clock, which advances at each synchronisation.
    pub tick: u32,
    /// For each warp of the block, a tick: the warp's accesses before this tick are ordered before
    /// this access.
    pub known: &'a [u32; WARPS],
    /// Whether the access is atomic or volatile, so that it may race with other such accesses.
    pub is_strong: bool,
    /// Whether no thread may write the memory during this work.
    pub is_invariant: bool,
}

/// The recorded reads, or the recorded writes, of a granule by one piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The id of the work, or [`NO_WORK`].
    work: u32,
    /// The block, or [`SEVERAL_BLOCKS`].
    block: u32,
    /// The thread. With the flag [`SEVERAL`], a mask of the warps.
    party: u32,
    /// The flags, and the tick of the last access.
    when: u32,
}

/// The accesses to a granule: the last write, and the reads since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granule {
    pub write: Trace,
    pub read: Trace,
}

/// A conflict of an access with earlier accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    Uninitialized,
    /// A conflict with an earlier access of the same work.
    Race {
        access: Access,
        other: Access,
        by: Trace,
    },
    /// A conflict with an earlier access of the work with this id.
    AcrossWorks {
        access: Access,
        other: Access,
        id: u32,
    },
}

const SEVERAL_BLOCKS: u32 = u32::MAX;
/// Flag of a trace: several threads made the recorded accesses.
const SEVERAL: u32 = 1 << 31;
/// Flag of a trace: all recorded accesses are strong.
const STRONG: u32 = 1 << 30;
/// Largest tick.
const TICKS: u32 = STRONG - 1;

impl Trace {
    const NONE: Trace = Trace { work: NO_WORK, block: 0, party: 0, when: 0 };

    fn of(by: &Actor) -> Trace {
        let strong = if by.is_strong { STRONG } else { 0 };
        Trace { work: by.work.id, block: by.block, party: by.thread, when: by.tick.min(TICKS) | strong }
    }

    pub fn is_none(&self) -> bool {
        self.work == NO_WORK
    }

    fn is_strong(&self) -> bool {
        self.when & STRONG != 0
    }

    /// Whether the recorded accesses are ordered before an access of the same work.
    fn precedes(&self, by: &Actor) -> bool {
        let tick = self.when & TICKS;
        if self.block != by.block {
            return false;
        }
        if self.when & SEVERAL == 0 {
            return self.party == by.thread || tick < by.known[self.party as usize / 32 % WARPS];
        }
        (0..WARPS).all(|warp| self.party >> warp & 1 == 0 || tick < by.known[warp])
    }

    /// Checks that a new access does not conflict with the recorded accesses.
    #[inline]
    fn admit(&self, by: &Actor, access: Access, other: Access) -> Result<(), Conflict> {
        if self.is_none() {
            Ok(())
        } else if by.work.is_own(self.work) {
            let may = by.is_strong && self.is_strong() || self.precedes(by);
            if may { Ok(()) } else { Err(Conflict::Race { access, other, by: *self }) }
        } else if by.work.is_after(self.work) {
            Ok(())
        } else {
            Err(Conflict::AcrossWorks { access, other, id: self.work })
        }
    }

    /// Adds an access. Forgets recorded accesses that are ordered before the added access.
    #[inline]
    fn add(&mut self, by: &Actor) {
        let own = Trace::of(by);
        if self.is_none() {
            *self = own;
        } else if !by.work.is_own(self.work) {
            let work = if by.work.is_after(self.work) { own.work } else { by.work.joined_with(self.work) };
            *self = Trace { work, ..own };
        } else if self.block == SEVERAL_BLOCKS {
            self.when &= own.when | !STRONG;
        } else if self.precedes(by) {
            // Other threads know of a weak access only by a synchronisation, and not because the
            // same thread made a strong access since.
            let synchronised = (self.when & TICKS) < by.known[by.thread as usize / 32 % WARPS];
            let hides = by.is_strong && !self.is_strong() && !synchronised;
            let when = if hides { own.when & !STRONG } else { own.when };
            *self = Trace { work: self.work, when, ..own };
        } else {
            let warps = if self.when & SEVERAL == 0 { 1 << (self.party / 32) } else { self.party };
            let tick = (self.when & TICKS).max(own.when & TICKS);
            self.when = SEVERAL | self.when & own.when & STRONG | tick;
            self.party = warps | 1 << (by.thread / 32);
            if self.block != by.block {
                self.block = SEVERAL_BLOCKS;
            }
        }
    }

    /// Returns the thread and the tick of the last access, if a single thread made the recorded
    /// accesses.
    pub fn last(&self) -> Option<(u32, u32)> {
        (!self.is_none() && self.when & SEVERAL == 0).then_some((self.party, self.when & TICKS))
    }

    /// Describes the accesses for a message. `access` is the kind of the recorded accesses.
    pub fn describe(&self, access: Access) -> String {
        let kind = match access {
            Access::Read => "read",
            Access::Write if self.is_strong() => "atomic access",
            _ => "write",
        };
        if self.block == SEVERAL_BLOCKS {
            format!("a {kind} by another block")
        } else if self.when & SEVERAL == 0 {
            format!("a {kind} by thread {} of block {}", self.party, self.block)
        } else {
            format!("a {kind} by one of several threads of block {}", self.block)
        }
    }
}

impl Granule {
    /// A granule that was never written.
    pub const UNWRITTEN: Granule = Granule { write: Trace::NONE, read: Trace::NONE };

    /// Checks a read against earlier accesses, and records the read.
    #[inline]
    pub fn read(&mut self, by: &Actor) -> Result<(), Conflict> {
        if self.write.is_none() {
            return Err(Conflict::Uninitialized);
        }
        self.write.admit(by, Access::Read, Access::Write)?;
        if by.is_invariant && by.work.is_own(self.write.work) {
            return Err(Conflict::Race { access: Access::Read, other: Access::Write, by: self.write });
        }
        self.read.add(by);
        Ok(())
    }

    /// Checks a write against earlier accesses, and records the write.
    #[inline]
    pub fn write(&mut self, by: &Actor) -> Result<(), Conflict> {
        self.admit_write(by, Access::Write)?;
        if by.is_strong {
            self.write.add(by);
        } else {
            *self = Granule { write: Trace::of(by), read: Trace::NONE };
        }
        Ok(())
    }

    /// Checks an atomic access, which reads and writes, against earlier accesses, and records the
    /// access.
    pub fn update(&mut self, by: &Actor) -> Result<(), Conflict> {
        if self.write.is_none() {
            return Err(Conflict::Uninitialized);
        }
        self.admit_write(by, Access::Atomic)?;
        self.write.add(by);
        Ok(())
    }

    /// Checks that a write or a free does not conflict with the recorded accesses.
    pub fn admit_write(&self, by: &Actor, access: Access) -> Result<(), Conflict> {
        self.write.admit(by, access, Access::Write)?;
        self.read.admit(by, access, Access::Read)
    }
}
