//! The addresses of a device's memory. Addresses are never used again, so that an access to freed
//! memory is recognised.

use std::sync::Mutex;

use crate::fault::{FaultKind, Space};
use crate::shadow::Page;

/// The first address. Smaller addresses are no memory, or belong to the windows of shared and local
/// memory.
const FIRST: u64 = 0x10_0000_0000;
/// Bytes of a page, which one lock protects.
pub const PAGE: u64 = 8 << 10;
/// Least number of bytes between allocations.
const GUARD: u64 = 4 << 10;
/// Alignment of every allocation.
const ALIGNMENT: u64 = 256;

/// All allocations, live or freed.
#[derive(Debug)]
pub struct Addresses {
    /// The allocations in the order of their addresses.
    allocations: Vec<Allocation>,
    next: u64,
    pub used: u64,
    pub most_used: u64,
}

#[derive(Debug)]
pub struct Allocation {
    pub address: u64,
    pub bytes: u64,
    pub is_freed: bool,
    pub pages: Pages,
    /// The id of the work that allocates the memory: [`NO_WORK`] if the memory may be accessed at
    /// once, [`FUTURE_WORK`] if the work is not executed yet.
    pub allocated_by: u32,
}

/// The id of a work that is not executed yet.
pub const FUTURE_WORK: u32 = u32::MAX;

/// The pages of an allocation. A page is `None` until the first access.
pub type Pages = Box<[Mutex<Option<Box<Page>>>]>;

impl Default for Addresses {
    fn default() -> Addresses {
        Addresses { allocations: Vec::new(), next: FIRST, used: 0, most_used: 0 }
    }
}

impl Addresses {
    /// Adds an allocation. Returns its address.
    pub fn allocate(&mut self, bytes: u64, alignment: u64, allocated_by: u32) -> u64 {
        let address = self.next.next_multiple_of(alignment.max(ALIGNMENT));
        self.next = address + bytes + GUARD;
        self.used += bytes;
        self.most_used = self.most_used.max(self.used);
        let pages = (0..bytes.div_ceil(PAGE)).map(|_| Mutex::new(None)).collect();
        self.allocations.push(Allocation { address, bytes, is_freed: false, pages, allocated_by });
        address
    }

    /// Returns the number of the last allocation that starts at or before an address.
    fn number(&self, address: u64) -> Option<usize> {
        self.allocations.partition_point(|allocation| allocation.address <= address).checked_sub(1)
    }

    /// Returns the live allocation that contains a range. `hint` is the number of the allocation
    /// that the previous search found.
    #[inline]
    pub fn find(&self, address: u64, bytes: u64, hint: &mut usize) -> Result<&Allocation, FaultKind> {
        if let Some(allocation) = self.allocations.get(*hint).filter(|it| it.contains(address, bytes)) {
            return Ok(allocation);
        }
        let found = self.number(address).filter(|&number| self.allocations[number].contains(address, bytes));
        let number = found.ok_or_else(|| self.outside(address, bytes))?;
        *hint = number;
        Ok(&self.allocations[number])
    }

    /// Returns the live allocation that starts at an address.
    pub fn starting_at(&mut self, address: u64) -> Option<&mut Allocation> {
        let number = self.number(address)?;
        Some(&mut self.allocations[number]).filter(|it| it.address == address && !it.is_freed)
    }

    /// Frees the live allocation that starts at an address. Returns its pages, or `None` if there
    /// is no such allocation.
    pub fn free(&mut self, address: u64) -> Option<Pages> {
        let allocation = self.starting_at(address)?;
        allocation.is_freed = true;
        let (bytes, pages) = (allocation.bytes, std::mem::take(&mut allocation.pages));
        self.used -= bytes;
        Some(pages)
    }

    /// Returns the live allocation that contains an address. An empty allocation contains the
    /// address of its start.
    pub fn around(&self, address: u64) -> Option<&Allocation> {
        let allocation = &self.allocations[self.number(address)?];
        (!allocation.is_freed && address - allocation.address < allocation.bytes.max(1)).then_some(allocation)
    }

    /// Returns the fault of an access that no live allocation contains.
    fn outside(&self, address: u64, bytes: u64) -> FaultKind {
        let Some(allocation) = self.number(address).map(|number| &self.allocations[number]) else {
            let near = "no allocation has a smaller address".into();
            return FaultKind::OutOfBounds { space: Space::Global, address, bytes, near };
        };
        let (start, size) = (allocation.address, allocation.bytes);
        let offset = address - start;
        if allocation.is_freed && offset < size {
            let near = format!("byte {offset} of the {size} bytes at {start:#x}");
            return FaultKind::UseAfterFree { address, bytes, near };
        }
        let near =
            format!("the nearest allocation has {size} bytes at {start:#x}, and the access begins at byte {offset}");
        FaultKind::OutOfBounds { space: Space::Global, address, bytes, near }
    }
}

impl Allocation {
    #[inline]
    fn contains(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.address);
        !self.is_freed && offset <= self.bytes && bytes <= self.bytes - offset
    }

    /// Returns the number of bytes of a page.
    pub fn page_bytes(&self, page: usize) -> usize {
        (self.bytes - page as u64 * PAGE).min(PAGE) as usize
    }
}
