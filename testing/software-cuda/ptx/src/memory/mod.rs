//! The memory of a device: allocations, their bytes, and a shadow that records the accesses.

mod session;
mod space;

use std::sync::{PoisonError, RwLock};

use thiserror::Error;

use crate::fault::{Fault, FaultKind, Space};
use crate::stamp::Stamp;
use crate::works::{NO_WORK, Works};
pub use session::{LockedPage, Session};
use space::{Addresses, FUTURE_WORK};

/// The memory of a device.
#[derive(Debug)]
pub struct Memory {
    capacity: u64,
    addresses: RwLock<Addresses>,
    works: Works,
}

/// The device has too little free memory.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{bytes} bytes requested, {free} bytes free")]
pub struct OutOfMemory {
    pub bytes: u64,
    pub free: u64,
}

/// Bytes that a copy on the device moves at a time.
const COPIED_AT_ONCE: u64 = 1 << 20;
/// Bytes that a copy moves at a time in a part of the memory where some bytes were never written.
const SCATTERED: u64 = 4;

impl Memory {
    /// Returns memory with a size in bytes, without allocations.
    pub fn new(capacity: u64) -> Memory {
        Memory { capacity, addresses: RwLock::default(), works: Works::default() }
    }

    /// Allocates memory whose bytes count as never written. The alignment is a power of two.
    /// Returns the address.
    pub fn allocate(&self, bytes: u64, alignment: u64) -> Result<u64, OutOfMemory> {
        self.reserve(bytes, alignment, NO_WORK)
    }

    /// Allocates memory. Only work that is ordered after a later call of
    /// [`Memory::complete_allocation`] may access the memory. The alignment is a power of two.
    /// Returns the address.
    pub fn allocate_asynchronously(&self, bytes: u64, alignment: u64) -> Result<u64, OutOfMemory> {
        self.reserve(bytes, alignment, FUTURE_WORK)
    }

    /// Executes the work that allocates memory. Has no effect if the memory was freed meanwhile.
    pub fn complete_allocation(&self, address: u64, when: &Stamp) {
        let work = self.works.begin(when);
        let mut addresses = self.addresses.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(allocation) = addresses.starting_at(address) {
            allocation.allocated_by = work.id;
        }
    }

    fn reserve(&self, bytes: u64, alignment: u64, by: u32) -> Result<u64, OutOfMemory> {
        let mut addresses = self.addresses.write().unwrap_or_else(PoisonError::into_inner);
        let free = self.capacity - addresses.used;
        if bytes > free {
            return Err(OutOfMemory { bytes, free });
        }
        Ok(addresses.allocate(bytes, alignment, by))
    }

    /// Frees an allocation. Fails if the address is not the start of a live allocation, or if an
    /// access to the allocation is not ordered before the free.
    pub fn free(&self, address: u64, when: &Stamp) -> Result<(), Fault> {
        let work = self.works.begin(when);
        let mut addresses = self.addresses.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(allocation) = addresses.starting_at(address) {
            let (by, bytes) = (allocation.allocated_by, allocation.bytes);
            if by == FUTURE_WORK || by != NO_WORK && !work.is_after(by) {
                return Err(Fault::of_driver(session::not_yet_allocated(&work, by, address, bytes)));
            }
        }
        let Some(pages) = addresses.free(address) else {
            let message = format!("{address:#x} is freed, but is not the start of a live allocation");
            return Err(Fault::of_driver(FaultKind::Undefined { message }));
        };
        if work.is_after_all() {
            return Ok(());
        }
        let session = Session::new(self.addresses(addresses), work);
        for (number, page) in pages.into_iter().enumerate() {
            if let Some(page) = page.into_inner().unwrap_or_else(PoisonError::into_inner) {
                let start = address + number as u64 * space::PAGE;
                let checked = page.check_free(&session.actor());
                checked.map_err(|conflict| Fault::of_driver(session.fault(start, conflict)))?;
            }
        }
        Ok(())
    }

    /// Replaces a lock for writing by a lock for reading.
    fn addresses<'m>(
        &'m self,
        writing: std::sync::RwLockWriteGuard<'m, Addresses>,
    ) -> std::sync::RwLockReadGuard<'m, Addresses> {
        drop(writing);
        self.addresses.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates memory for a variable of a module, and writes its initial value.
    pub(crate) fn allocate_variable(&self, bytes: &[u8], alignment: u64) -> Result<u64, OutOfMemory> {
        let address = self.allocate(bytes.len() as u64, alignment)?;
        let addresses = self.addresses.read().unwrap_or_else(PoisonError::into_inner);
        // The allocation is new, so nothing conflicts.
        _ = write(&Session::new(addresses, self.works.begin_first()), address, bytes);
        Ok(address)
    }

    /// Frees memory of the driver's own objects that no work uses any more: the variables of a
    /// module, or the value of a condition.
    pub fn release(&self, address: u64) {
        let mut addresses = self.addresses.write().unwrap_or_else(PoisonError::into_inner);
        addresses.free(address);
    }

    /// Begins a piece of work.
    pub fn begin(&self, when: &Stamp) -> Session<'_> {
        let work = self.works.begin(when);
        Session::new(self.addresses.read().unwrap_or_else(PoisonError::into_inner), work)
    }

    /// Copies bytes from the device to the host. Returns a fault if a byte was never written.
    pub fn read(&self, address: u64, bytes: &mut [u8], when: &Stamp) -> Result<(), Fault> {
        read(&self.begin(when), address, bytes).map_err(Fault::of_driver)
    }

    /// Copies bytes from the host to the device.
    pub fn write(&self, address: u64, bytes: &[u8], when: &Stamp) -> Result<(), Fault> {
        write(&self.begin(when), address, bytes).map_err(Fault::of_driver)
    }

    /// Writes a pattern `count` times.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64, when: &Stamp) -> Result<(), Fault> {
        let session = self.begin(when);
        let by = session.actor();
        let filled = session.each_page(address, pattern.len() as u64 * count, |page, range, done| {
            page.note_write(range.clone(), &by)?;
            let source = pattern.iter().cycle().skip(done % pattern.len());
            page.bytes[range].iter_mut().zip(source).for_each(|(to, from)| *to = *from);
            Ok(())
        });
        filled.map_err(Fault::of_driver)
    }

    /// Copies bytes on the device. The copy of a byte that was never written counts as never
    /// written.
    pub fn copy(&self, from: u64, to: u64, bytes: u64, when: &Stamp) -> Result<(), Fault> {
        if from < to + bytes && to < from + bytes && bytes > 0 {
            let message = format!("a copy of {bytes} bytes from {from:#x} to {to:#x} overlaps itself");
            return Err(Fault::of_driver(FaultKind::Undefined { message }));
        }
        let session = self.begin(when);
        copy(&session, from, to, bytes, COPIED_AT_ONCE).map_err(Fault::of_driver)
    }

    /// Returns the start and the size of the live allocation that contains an address.
    pub fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        let addresses = self.addresses.read().unwrap_or_else(PoisonError::into_inner);
        addresses.around(address).map(|allocation| (allocation.address, allocation.bytes))
    }

    /// Returns the size of the memory in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the total size of all live allocations in bytes.
    pub fn used(&self) -> u64 {
        self.addresses.read().unwrap_or_else(PoisonError::into_inner).used
    }

    /// Returns the largest number of bytes that were allocated at the same time.
    pub fn most_used(&self) -> u64 {
        self.addresses.read().unwrap_or_else(PoisonError::into_inner).most_used
    }
}

fn read(session: &Session, address: u64, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let by = session.actor();
    session.each_page(address, bytes.len() as u64, |page, range, done| {
        page.note_read(range.clone(), &by)?;
        bytes[done..done + range.len()].copy_from_slice(&page.bytes[range]);
        Ok(())
    })
}

fn write(session: &Session, address: u64, bytes: &[u8]) -> Result<(), FaultKind> {
    let by = session.actor();
    session.each_page(address, bytes.len() as u64, |page, range, done| {
        page.note_write(range.clone(), &by)?;
        page.bytes[range.clone()].copy_from_slice(&bytes[done..done + range.len()]);
        Ok(())
    })
}

/// Copies bytes in pieces of at most `most` bytes.
fn copy(session: &Session, from: u64, to: u64, bytes: u64, most: u64) -> Result<(), FaultKind> {
    // An access outside is reported for the whole range.
    session.each_page(from, bytes, |_, _, _| Ok(()))?;
    session.each_page(to, bytes, |_, _, _| Ok(()))?;
    let by = session.actor();
    for start in (0..bytes).step_by(most as usize) {
        let mut piece = vec![0; most.min(bytes - start) as usize];
        let length = piece.len() as u64;
        match read(session, from + start, &mut piece) {
            Ok(()) => write(session, to + start, &piece)?,
            Err(FaultKind::Uninitialized { space: Space::Global, .. }) if length > SCATTERED => {
                copy(session, from + start, to + start, length, SCATTERED)?;
            }
            Err(FaultKind::Uninitialized { space: Space::Global, .. }) if length > 1 => {
                copy(session, from + start, to + start, length, 1)?;
            }
            Err(FaultKind::Uninitialized { space: Space::Global, .. }) => {
                session.each_page(to + start, length, |page, range, _| page.note_unwritten(range, &by))?;
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}
