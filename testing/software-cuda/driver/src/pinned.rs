//! Memory of the host that the driver allocated or registered. Copies access this memory directly.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::status::{Answer, Status};

/// Alignment of pinned memory: the size of a page.
const ALIGNMENT: usize = 4096;

/// All pinned memory of the process.
#[derive(Debug, Default)]
pub struct Pinned {
    /// For each piece of pinned memory, its size, and whether the driver allocated the piece. The
    /// key is the address where the piece begins.
    pieces: Mutex<BTreeMap<usize, (usize, bool)>>,
}

impl Pinned {
    /// Allocates pinned memory and returns its address.
    pub fn allocate(&self, bytes: usize) -> Answer<usize> {
        let layout = layout(bytes)?;
        // SAFETY: the layout has a size above zero.
        let address = unsafe { alloc_zeroed(layout) } as usize;
        if address == 0 {
            return Err(Status::OUT_OF_MEMORY);
        }
        self.lock().insert(address, (bytes, true));
        Ok(address)
    }

    /// Frees memory that `allocate` returned.
    pub fn free(&self, address: usize) -> Answer {
        let mut pieces = self.lock();
        let Some(&(bytes, true)) = pieces.get(&address) else { return Err(Status::INVALID_VALUE) };
        pieces.remove(&address);
        let layout = layout(bytes)?;
        // SAFETY: the table contains the address, so `allocate` returned it with this layout, and
        // it was not freed before.
        unsafe { dealloc(address as *mut u8, layout) };
        Ok(())
    }

    /// Records that memory of the caller is pinned.
    pub fn register(&self, address: usize, bytes: usize) -> Answer {
        if address == 0 || bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let mut pieces = self.lock();
        let overlaps =
            pieces.range(..address + bytes).next_back().is_some_and(|(from, (size, _))| from + size > address);
        if overlaps {
            return Err(Status::HOST_MEMORY_ALREADY_REGISTERED);
        }
        pieces.insert(address, (bytes, false));
        Ok(())
    }

    /// Records that memory of the caller is not pinned any more.
    pub fn unregister(&self, address: usize) -> Answer {
        let mut pieces = self.lock();
        let Some((_, false)) = pieces.get(&address) else { return Err(Status::HOST_MEMORY_NOT_REGISTERED) };
        pieces.remove(&address);
        Ok(())
    }

    /// Whether an address lies in pinned memory.
    pub fn contains(&self, address: usize) -> bool {
        self.lock().range(..=address).next_back().is_some_and(|(from, (size, _))| address < from + size)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, (usize, bool)>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn layout(bytes: usize) -> Answer<Layout> {
    Layout::from_size_align(bytes, ALIGNMENT).ok().filter(|layout| layout.size() > 0).ok_or(Status::INVALID_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_pinned_from_its_first_to_its_last_byte() {
        let pinned = Pinned::default();
        let address = pinned.allocate(100).unwrap();
        assert!(pinned.contains(address) && pinned.contains(address + 99));
        assert!(!pinned.contains(address - 1) && !pinned.contains(address + 100));
        assert_eq!(pinned.register(address + 50, 100), Err(Status::HOST_MEMORY_ALREADY_REGISTERED));
        assert_eq!(pinned.unregister(address), Err(Status::HOST_MEMORY_NOT_REGISTERED));
        pinned.free(address).unwrap();
        assert!(!pinned.contains(address));
        assert_eq!(pinned.free(address), Err(Status::INVALID_VALUE));
    }

    #[test]
    fn registered_memory_is_not_freed() {
        let pinned = Pinned::default();
        let memory = [0u8; 64];
        let address = memory.as_ptr() as usize;
        pinned.register(address, 64).unwrap();
        assert_eq!(pinned.free(address), Err(Status::INVALID_VALUE));
        pinned.unregister(address).unwrap();
        assert!(!pinned.contains(address));
    }
}
