//! Accesses of a warp to memory.

use std::ops::Range;

use super::traffic::{bank_conflicts, count_global};
use super::warp::{Warp, extended};
use crate::code::{Access, Atomic, LANES, LOCAL_WINDOW, Lanes, SHARED_WINDOW, WINDOW_BYTES, each_lane};
use crate::counts::{Counts, Traffic};
use crate::fault::{FaultKind, Space};
use crate::memory::Session;
use crate::numbers::integer::{mask, runs};
use crate::shadow::{Actor, Conflict, Page, PageConflict, WARPS};
use crate::works::Work;

/// A fault of a thread of a warp.
#[derive(Debug)]
pub struct Stop {
    pub lane: usize,
    pub kind: FaultKind,
}

/// The memory that a warp can access, and the warp's place in the order of accesses.
pub struct Reach<'a> {
    pub session: &'a Session<'a>,
    pub parameters: &'a [u8],
    pub place: Place<'a>,
    pub shared: &'a mut Page,
    /// The piece of work to which accesses to shared memory belong. No other work can access this
    /// shared memory.
    pub shared_work: &'a Work,
    pub reserved_shared: u64,
    /// For each thread, a tick: the thread's writes to shared memory before this tick are visible
    /// to asynchronous instructions.
    pub fenced: &'a [u32],
    /// For each memory access in the code, the number of the allocation that it accessed last.
    pub hints: &'a mut [usize],
    pub counts: &'a mut Counts,
}

/// The place of a warp in the order of accesses.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub block: u32,
    pub warp: u32,
    pub tick: u32,
    /// The accesses of other warps that are ordered before an access of this warp, as in
    /// [`Actor::known`].
    pub known: &'a [u32; WARPS],
}

impl<'a> Place<'a> {
    /// Returns the actor of an access: the thread that a lane executes.
    #[inline(always)]
    fn actor(self, work: &'a Work, lane: usize, access: &Access) -> Actor<'a> {
        Actor {
            work,
            block: self.block,
            thread: self.warp * LANES as u32 + lane as u32,
            tick: self.tick,
            known: self.known,
            is_strong: access.is_strong,
            is_invariant: access.is_invariant,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

impl Reach<'_> {
    fn shared_fault(&self, (offset, conflict): PageConflict) -> FaultKind {
        let (space, address) = (Space::Shared, offset as u64);
        match conflict {
            Conflict::Race { access, other, by } => {
                FaultKind::Race { space, address, access, other: by.describe(other) }
            }
            _ => FaultKind::Uninitialized { space, address },
        }
    }

    /// Returns the offset of bytes in shared memory. Fails if the bytes are outside of the block's
    /// shared memory.
    fn shared_offset(&self, address: u64, bytes: u64) -> Result<usize, FaultKind> {
        let size = self.shared.bytes.len() as u64;
        if address < self.reserved_shared || address >= size || bytes > size - address {
            let own = size - self.reserved_shared;
            let near = format!("the block has {own} bytes of shared memory from {:#x} on", self.reserved_shared);
            return Err(FaultKind::OutOfBounds { space: Space::Shared, address, bytes, near });
        }
        Ok(address as usize)
    }

    /// Reads bytes of shared memory for a lane, as a part of a larger access.
    pub fn read_shared(&mut self, lane: usize, address: u64, to: &mut [u8], access: &Access) -> Result<(), Stop> {
        let stop = |kind| Stop { lane, kind };
        let start = self.shared_offset(address, to.len() as u64).map_err(stop)?;
        let range = start..start + to.len();
        let by = self.place.actor(self.shared_work, lane, access);
        let noted = self.shared.note_read(range.clone(), &by);
        noted.map_err(|conflict| stop(self.shared_fault(conflict)))?;
        to.copy_from_slice(&self.shared.bytes[range]);
        Ok(())
    }

    /// Checks an access to shared memory by the function `note`, which records the access. Returns
    /// the offset of the bytes.
    pub fn note_shared(
        &mut self,
        lane: usize,
        address: u64,
        bytes: u64,
        note: impl Fn(&mut Page, Range<usize>, &Actor) -> Result<(), PageConflict>,
    ) -> Result<usize, FaultKind> {
        let start = self.shared_offset(address, bytes)?;
        let by = self.place.actor(self.shared_work, lane, &Access::plain(None, 1, 0, 0));
        let noted = note(self.shared, start..start + bytes as usize, &by);
        noted.map_err(|conflict| self.shared_fault(conflict))?;
        Ok(start)
    }

    /// Reads bytes of global memory that lie in one page.
    pub fn read_global(&mut self, lane: usize, address: u64, to: &mut [u8], site: u32) -> Result<(), FaultKind> {
        if to.is_empty() {
            return Ok(());
        }
        let (bytes, session) = (to.len() as u64, self.session);
        let mut page = session.page(address, bytes, &mut self.hints[site as usize])?;
        let (offset, start) = (page.offset(address, bytes).unwrap_or(0), page.start());
        let by = self.place.actor(&session.work, lane, &Access::plain(None, 1, 0, 0));
        let range = offset..offset + to.len();
        page.page().note_read(range.clone(), &by).map_err(|conflict| session.fault(start, conflict))?;
        to.copy_from_slice(&page.page().bytes[range]);
        Ok(())
    }

    /// Reads bytes of global memory in pieces of 16 bytes.
    pub fn read_bulk(&mut self, lane: usize, address: u64, bytes: u64, site: u32) -> Result<Vec<u8>, FaultKind> {
        let mut all = vec![0; bytes as usize];
        for (piece, at) in all.chunks_mut(16).zip((address..).step_by(16)) {
            self.read_global(lane, at, piece, site)?;
        }
        Ok(all)
    }

    /// Writes bytes of global memory in pieces of 16 bytes.
    pub fn write_bulk(&mut self, lane: usize, address: u64, from: &[u8], site: u32) -> Result<(), FaultKind> {
        let session = self.session;
        for (piece, at) in from.chunks(16).zip((address..).step_by(16)) {
            let bytes = piece.len() as u64;
            let mut page = session.page(at, bytes, &mut self.hints[site as usize])?;
            let (offset, start) = (page.offset(at, bytes).unwrap_or(0), page.start());
            let by = self.place.actor(&session.work, lane, &Access::plain(None, 1, 0, 0));
            let range = offset..offset + piece.len();
            page.page().note_write(range.clone(), &by).map_err(|conflict| session.fault(start, conflict))?;
            page.page().bytes[range].copy_from_slice(piece);
        }
        Ok(())
    }

    /// Counts the traffic of copies from global memory.
    pub fn count_copy(&mut self, addresses: &Lanes, mask: u32, bytes: u64) {
        count_global(&mut self.counts.global_reads, addresses, mask, bytes);
    }

    /// Reads bytes of shared memory for an asynchronous instruction. Fails if a thread wrote a byte
    /// and has not executed a fence since.
    pub fn read_shared_asynchronously(&mut self, address: u64, to: &mut [u8], access: &Access) -> Result<(), Stop> {
        self.read_shared(0, address, to, access)?;
        for at in address as usize..address as usize + to.len() {
            if let Some((thread, tick)) = self.shared.granule(at).write.last()
                && self.fenced.get(thread as usize).is_none_or(|fenced| tick >= *fenced)
            {
                let message = format!(
                    "an asynchronous instruction reads the byte at {at:#x} in shared memory, but thread {thread} did \
                     not execute fence.proxy.async after its write"
                );
                return Err(Stop { lane: 0, kind: FaultKind::Undefined { message } });
            }
        }
        Ok(())
    }

    /// Writes bytes of shared memory for a lane, as a part of a larger access.
    pub fn write_shared(&mut self, lane: usize, address: u64, from: &[u8], access: &Access) -> Result<(), Stop> {
        let stop = |kind| Stop { lane, kind };
        let start = self.shared_offset(address, from.len() as u64).map_err(stop)?;
        let range = start..start + from.len();
        let by = self.place.actor(self.shared_work, lane, access);
        let noted = self.shared.note_write(range.clone(), &by);
        noted.map_err(|conflict| stop(self.shared_fault(conflict)))?;
        self.shared.bytes[range].copy_from_slice(from);
        Ok(())
    }
}

/// Returns the address of each lane.
pub fn addresses(warp: &Warp, access: &Access) -> Lanes {
    warp.registers.get(access.base).map(|base| base.wrapping_add_signed(access.offset))
}

/// Groups the lanes of an access by the state space that they access. Converts generic addresses to
/// addresses in this space.
fn spaces(access: &Access, mask: u32, addresses: &mut Lanes) -> [(Space, u32); 3] {
    let mut masks = [(Space::Global, mask), (Space::Shared, 0), (Space::Local, 0)];
    match access.space {
        Some(Space::Shared) => masks = [(Space::Global, 0), (Space::Shared, mask), (Space::Local, 0)],
        Some(Space::Local) => masks = [(Space::Global, 0), (Space::Shared, 0), (Space::Local, mask)],
        Some(_) => {}
        None => each_lane(mask, |lane| {
            for (number, window) in [(1, SHARED_WINDOW), (2, LOCAL_WINDOW)] {
                let offset = addresses[lane].wrapping_sub(window);
                if offset < WINDOW_BYTES {
                    addresses[lane] = offset;
                    masks[number].1 |= 1 << lane;
                    masks[0].1 &= !(1 << lane);
                }
            }
        }),
    }
    masks
}

fn check_alignment(addresses: &Lanes, mask: u32, alignment: u64, space: Space) -> Result<(), Stop> {
    let mut wrong = None;
    each_lane(mask, |lane| {
        if addresses[lane] & (alignment - 1) != 0 && wrong.is_none() {
            wrong = Some(lane);
        }
    });
    match wrong {
        None => Ok(()),
        Some(lane) => Err(Stop { lane, kind: FaultKind::Misaligned { space, address: addresses[lane], alignment } }),
    }
}

/// Executes a load.
pub fn load(warp: &mut Warp, access: &Access, mask: u32, reach: &mut Reach) -> Result<(), Stop> {
    transfer(warp, access, mask, reach, Direction::Read)
}

/// Executes a store.
pub fn store(warp: &mut Warp, access: &Access, mask: u32, reach: &mut Reach) -> Result<(), Stop> {
    transfer(warp, access, mask, reach, Direction::Write)
}

fn transfer(warp: &mut Warp, access: &Access, mask: u32, reach: &mut Reach, direction: Direction) -> Result<(), Stop> {
    let mut addresses = addresses(warp, access);
    let bytes = u64::from(access.bytes) * access.elements.len() as u64;
    if access.space == Some(Space::Parameter) {
        return load_parameters(warp, access, mask, &addresses, reach);
    }
    for (space, mask) in spaces(access, mask, &mut addresses) {
        if mask == 0 {
            continue;
        }
        check_alignment(&addresses, mask, bytes, space)?;
        match space {
            Space::Shared => {
                reach.counts.shared_accesses += 1;
                reach.counts.bank_conflicts += bank_conflicts(&addresses, mask, bytes);
                transfer_shared(warp, access, mask, &addresses, reach, direction)?;
            }
            Space::Local => transfer_local(warp, access, mask, &addresses, direction)?,
            _ => {
                let traffic = traffic(reach, direction);
                count_global(traffic, &addresses, mask, bytes);
                transfer_global(warp, access, mask, &addresses, reach, direction)?;
            }
        }
    }
    Ok(())
}

fn traffic<'r>(reach: &'r mut Reach, direction: Direction) -> &'r mut Traffic {
    match direction {
        Direction::Read => &mut reach.counts.global_reads,
        Direction::Write => &mut reach.counts.global_writes,
    }
}

/// Checks the access of a lane to a page, and moves the bytes between the page and registers.
#[inline(always)]
fn move_elements(
    warp: &mut Warp,
    access: &Access,
    lane: usize,
    (page, start): (&mut Page, usize),
    by: &Actor,
    direction: Direction,
) -> Result<(), PageConflict> {
    let (bytes, count) = (access.bytes as usize, access.elements.len());
    match (direction, access.used) {
        (Direction::Read, None) => page.note_read(start..start + bytes * count, by)?,
        (Direction::Read, Some(used)) => {
            for run in runs(used & mask((bytes * count) as u32)) {
                page.note_read(start + run.start..start + run.end, by)?;
            }
        }
        (Direction::Write, _) => page.note_write(start..start + bytes * count, by)?,
    }
    for (number, element) in access.elements.iter().enumerate() {
        let Some(register) = element else { continue };
        let place = &mut page.bytes[start + number * bytes..start + (number + 1) * bytes];
        let value = &mut warp.registers.values[*register as usize][lane];
        match direction {
            Direction::Read => *value = extended(place, access.signed_bits),
            Direction::Write => place.copy_from_slice(&value.to_le_bytes()[..bytes]),
        }
    }
    Ok(())
}

fn transfer_global(
    warp: &mut Warp,
    access: &Access,
    mask: u32,
    addresses: &Lanes,
    reach: &mut Reach,
    direction: Direction,
) -> Result<(), Stop> {
    let bytes = u64::from(access.bytes) * access.elements.len() as u64;
    let session = reach.session;
    let mut hint = reach.hints[access.site as usize];
    let mut rest = mask;
    // The lanes of an access are often in one page, which is locked once.
    let mut locked = None;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let address = addresses[lane];
        let stop = |kind| Stop { lane, kind };
        let (mut page, offset) = match locked.take() {
            None => (session.page(address, bytes, &mut hint).map_err(stop)?, None),
            Some(page) => {
                let page: crate::memory::LockedPage = page;
                match page.offset(address, bytes) {
                    Some(offset) => (page, Some(offset)),
                    None => {
                        drop(page);
                        (session.page(address, bytes, &mut hint).map_err(stop)?, None)
                    }
                }
            }
        };
        let offset = offset.or_else(|| page.offset(address, bytes)).unwrap_or(0);
        let start = page.start();
        let by = reach.place.actor(&session.work, lane, access);
        move_elements(warp, access, lane, (page.page(), offset), &by, direction)
            .map_err(|conflict| stop(session.fault(start, conflict)))?;
        locked = Some(page);
    }
    reach.hints[access.site as usize] = hint;
    Ok(())
}

fn transfer_shared(
    warp: &mut Warp,
    access: &Access,
    mask: u32,
    addresses: &Lanes,
    reach: &mut Reach,
    direction: Direction,
) -> Result<(), Stop> {
    let bytes = u64::from(access.bytes) * access.elements.len() as u64;
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let start = reach.shared_offset(addresses[lane], bytes).map_err(|kind| Stop { lane, kind })?;
        let by = reach.place.actor(reach.shared_work, lane, access);
        let moved = move_elements(warp, access, lane, (&mut *reach.shared, start), &by, direction);
        moved.map_err(|conflict| Stop { lane, kind: reach.shared_fault(conflict) })?;
    }
    Ok(())
}

fn transfer_local(
    warp: &mut Warp,
    access: &Access,
    mask: u32,
    addresses: &Lanes,
    direction: Direction,
) -> Result<(), Stop> {
    let bytes = access.bytes as usize;
    let size = warp.local.len() / LANES;
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let (address, all) = (addresses[lane], bytes as u64 * access.elements.len() as u64);
        if address >= size as u64 || all > size as u64 - address {
            let near = format!("a thread has {size} bytes of local memory");
            let kind = FaultKind::OutOfBounds { space: Space::Local, address, bytes: all, near };
            return Err(Stop { lane, kind });
        }
        for (number, element) in access.elements.iter().enumerate() {
            let start = lane * size + address as usize + number * bytes;
            let range = start..start + bytes;
            if direction == Direction::Write {
                warp.local_written[range.clone()].fill(true);
            } else if let Some(at) = range.clone().position(|at| {
                let byte = at - lane * size - address as usize;
                !warp.local_written[at] && access.used.unwrap_or(u64::MAX) >> byte & 1 == 1
            }) {
                let address = address + (number * bytes + at) as u64;
                return Err(Stop { lane, kind: FaultKind::Uninitialized { space: Space::Local, address } });
            }
            let Some(register) = element else { continue };
            let value = &mut warp.registers.values[*register as usize][lane];
            match direction {
                Direction::Read => *value = extended(&warp.local[range], access.signed_bits),
                Direction::Write => warp.local[range].copy_from_slice(&value.to_le_bytes()[..bytes]),
            }
        }
    }
    Ok(())
}

fn load_parameters(warp: &mut Warp, access: &Access, mask: u32, addresses: &Lanes, reach: &Reach) -> Result<(), Stop> {
    let bytes = access.bytes as usize;
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        for (number, element) in access.elements.iter().enumerate() {
            let start = addresses[lane] as usize + number * bytes;
            let Some(place) = reach.parameters.get(start..start + bytes) else {
                let near = format!("the parameters have {} bytes", reach.parameters.len());
                let (address, bytes) = (start as u64, bytes as u64);
                let kind = FaultKind::OutOfBounds { space: Space::Parameter, address, bytes, near };
                return Err(Stop { lane, kind });
            };
            if let Some(register) = element {
                warp.registers.values[*register as usize][lane] = extended(place, access.signed_bits);
            }
        }
    }
    Ok(())
}

/// Executes an atomic access, lane after lane.
pub fn atomic(warp: &mut Warp, atomic: &Atomic, mask: u32, reach: &mut Reach) -> Result<(), Stop> {
    let Atomic { access, to, from, combine } = atomic;
    let mut addresses = addresses(warp, access);
    let bytes = u64::from(access.bytes);
    let [first, second] = from.map(|from| *warp.registers.get(from));
    for (space, mask) in spaces(access, mask, &mut addresses) {
        if mask == 0 {
            continue;
        }
        check_alignment(&addresses, mask, bytes, space)?;
        if space == Space::Global {
            count_global(&mut reach.counts.global_atomics, &addresses, mask, bytes);
        }
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let new = |old| combine(old, first[lane], second[lane]);
            let old = update(space, addresses[lane], access, lane, reach, new).map_err(|kind| Stop { lane, kind })?;
            if let Some(to) = to {
                warp.registers.values[*to as usize][lane] = old;
            }
        }
    }
    Ok(())
}

/// Updates a number in memory. Returns the old number.
fn update(
    space: Space,
    address: u64,
    access: &Access,
    lane: usize,
    reach: &mut Reach,
    new: impl Fn(u64) -> u64,
) -> Result<u64, FaultKind> {
    let bytes = u64::from(access.bytes);
    let apply = |page: &mut Page, start: usize, by: &Actor| {
        let range = start..start + bytes as usize;
        page.note_update(range.clone(), by)?;
        let old = extended(&page.bytes[range.clone()], None);
        page.bytes[range].copy_from_slice(&new(old).to_le_bytes()[..bytes as usize]);
        Ok(old)
    };
    match space {
        Space::Global => {
            let session = reach.session;
            let mut page = session.page(address, bytes, &mut reach.hints[access.site as usize])?;
            let (offset, start) = (page.offset(address, bytes).unwrap_or(0), page.start());
            let by = reach.place.actor(&session.work, lane, access);
            apply(page.page(), offset, &by).map_err(|conflict| session.fault(start, conflict))
        }
        Space::Shared => {
            let start = reach.shared_offset(address, bytes)?;
            let by = reach.place.actor(reach.shared_work, lane, access);
            apply(&mut *reach.shared, start, &by).map_err(|conflict| reach.shared_fault(conflict))
        }
        _ => Err(FaultKind::Undefined { message: "an atomic access to local memory".into() }),
    }
}
