//! Access to a device's memory by one piece of work.

use std::ops::Range;
use std::sync::{MutexGuard, PoisonError, RwLockReadGuard};

use super::space::{Addresses, Allocation, FUTURE_WORK, PAGE};
use crate::fault::{FaultKind, Space};
use crate::shadow::{Actor, Conflict, Page, PageConflict, WARPS};
use crate::works::{NO_WORK, OnStream, Work};

/// Access to the memory by one piece of work. While a session exists, no thread adds or frees an
/// allocation.
#[derive(Debug)]
pub struct Session<'m> {
    addresses: RwLockReadGuard<'m, Addresses>,
    pub work: Work,
}

/// A locked page of global memory. No other thread accesses the page while it is locked.
pub struct LockedPage<'s> {
    guard: MutexGuard<'s, Option<Box<Page>>>,
    /// Address of the page's first byte.
    start: u64,
    bytes: usize,
}

/// The ticks for the driver's own work, which has a single thread.
const NO_TICKS: [u32; WARPS] = [0; WARPS];

impl<'m> Session<'m> {
    pub fn new(addresses: RwLockReadGuard<'m, Addresses>, work: Work) -> Session<'m> {
        Session { addresses, work }
    }

    /// Returns the actor for the accesses of copies and fills.
    pub fn actor(&self) -> Actor<'_> {
        Actor {
            work: &self.work,
            block: 0,
            thread: 0,
            tick: 0,
            known: &NO_TICKS,
            is_strong: false,
            is_invariant: false,
        }
    }

    /// Checks that the work that allocates memory is ordered before this work.
    #[inline]
    fn check_allocated(&self, allocation: &Allocation, address: u64, bytes: u64) -> Result<(), FaultKind> {
        let by = allocation.allocated_by;
        let may = by == NO_WORK || by != FUTURE_WORK && self.work.is_after(by);
        if may { Ok(()) } else { Err(not_yet_allocated(&self.work, by, address, bytes)) }
    }

    /// Locks the page that contains a range of bytes. An aligned access lies in one page. `hint` is
    /// the number of the allocation that a previous access used.
    #[inline]
    pub fn page(&self, address: u64, bytes: u64, hint: &mut usize) -> Result<LockedPage<'_>, FaultKind> {
        let allocation = self.addresses.find(address, bytes, hint)?;
        self.check_allocated(allocation, address, bytes)?;
        let number = ((address - allocation.address) / PAGE) as usize;
        match allocation.pages.get(number) {
            Some(_) => Ok(locked(allocation, number)),
            // An access without bytes at the end of an allocation.
            None => Err(FaultKind::OutOfBounds { space: Space::Global, address, bytes, near: "no bytes".into() }),
        }
    }

    /// Applies a function to the pages of a range of bytes. The function receives a page, the part
    /// of the range in this page, and the offset of this part in the whole range.
    pub fn each_page(
        &self,
        address: u64,
        bytes: u64,
        mut apply: impl FnMut(&mut Page, Range<usize>, usize) -> Result<(), PageConflict>,
    ) -> Result<(), FaultKind> {
        if bytes == 0 {
            return Ok(());
        }
        let allocation = self.addresses.find(address, bytes, &mut 0)?;
        self.check_allocated(allocation, address, bytes)?;
        let (first, end) = (address - allocation.address, address - allocation.address + bytes);
        for number in first / PAGE..end.div_ceil(PAGE) {
            let start = number * PAGE;
            let range = first.max(start) - start..end.min(start + PAGE) - start;
            let done = (start + range.start - first) as usize;
            let mut page = locked(allocation, number as usize);
            let range = range.start as usize..range.end as usize;
            let applied = apply(page.page(), range, done);
            applied.map_err(|conflict| self.fault(allocation.address + start, conflict))?;
        }
        Ok(())
    }

    /// Returns the fault for a conflict in a page that starts at an address.
    pub fn fault(&self, start: u64, (offset, conflict): PageConflict) -> FaultKind {
        let (space, address) = (Space::Global, start + offset as u64);
        match conflict {
            Conflict::Uninitialized => FaultKind::Uninitialized { space, address },
            Conflict::Race { access, other, by } => {
                FaultKind::Race { space, address, access, other: by.describe(other) }
            }
            Conflict::AcrossWorks { access, other, id } => {
                let own = self.work.on_stream();
                let earlier = self.work.unordered(id).unwrap_or(own);
                FaultKind::RaceAcrossStreams {
                    address,
                    access,
                    stream: own.stream,
                    position: own.position,
                    other,
                    other_stream: earlier.stream,
                    other_position: earlier.position,
                }
            }
        }
    }
}

/// Returns the fault of work that accesses memory but is not ordered after the allocation of this
/// memory.
pub fn not_yet_allocated(work: &Work, allocated_by: u32, address: u64, bytes: u64) -> FaultKind {
    let OnStream { stream, position } = work.on_stream();
    let by = match work.unordered(allocated_by) {
        Some(OnStream { stream, position }) => format!(" by work {position} of stream {stream}"),
        None => String::new(),
    };
    FaultKind::NotYetAllocated { address, bytes, stream, position, by }
}

/// Locks a page. [`LockedPage::page`] creates the page at the first access.
fn locked(allocation: &Allocation, number: usize) -> LockedPage<'_> {
    let guard = allocation.pages[number].lock().unwrap_or_else(PoisonError::into_inner);
    let start = allocation.address + number as u64 * PAGE;
    LockedPage { guard, start, bytes: allocation.page_bytes(number) }
}

impl LockedPage<'_> {
    pub fn page(&mut self) -> &mut Page {
        let bytes = self.bytes;
        self.guard.get_or_insert_with(|| Box::new(Page::new(bytes)))
    }

    /// Returns the offset of a range of bytes in the page, or `None` if the page does not contain
    /// the range.
    #[inline]
    pub fn offset(&self, address: u64, bytes: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.start);
        let is_inside = offset < self.bytes as u64 && bytes <= self.bytes as u64 - offset;
        is_inside.then_some(offset as usize)
    }

    /// Returns the address of the page's first byte.
    pub fn start(&self) -> u64 {
        self.start
    }
}
