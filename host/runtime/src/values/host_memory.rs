//! Allocates memory of the host with the alignment that kernels assume.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memmap2::MmapMut;

use crate::executable::{ALIGNMENT, HUGE_PAGE};
use crate::processor::{SweepAccess, sweeps};

/// Minimum size in bytes of a buffer that has a separate memory mapping. The system zeroes each
/// page of a mapping at the first access, instead of all pages at once at the allocation. The
/// system may also use huge pages for a mapping.
const LEAST_MAPPED: usize = 256 << 10;

/// A piece of the host's memory, with the alignment that kernels assume.
#[derive(Debug)]
pub struct HostMemory {
    start: NonNull<u8>,
    bytes: usize,
    /// The mapping that owns the memory of a large buffer. `None` for a small buffer. The memory of
    /// a small buffer comes from the allocator.
    mapping: Option<MmapMut>,
    /// Where the mapping goes when it is not used any more.
    spares: Option<Weak<SpareMemory>>,
}

/// Maximum number of bytes of mappings that are kept for reuse, and their maximum number.
const MOST_SPARE_BYTES: usize = 256 << 20;
const MOST_SPARES: usize = 16;

/// Mappings that are not used any more. A new mapping costs one page fault per page, so results of
/// equal size use the same mappings again, one after the other.
#[derive(Debug, Default)]
pub struct SpareMemory(Mutex<Vec<HostMemory>>);

impl SpareMemory {
    /// Returns memory of `bytes` bytes with any content; `None` if memory is short. When it is
    /// dropped, its mapping is kept for reuse.
    pub fn memory(self: &Arc<Self>, bytes: usize) -> Option<HostMemory> {
        if bytes < LEAST_MAPPED {
            return HostMemory::zeroed(bytes);
        }
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = spares.iter().rposition(|spare| spare.bytes == bytes);
        let spare = place.map(|place| spares.remove(place));
        drop(spares);
        let mut memory = spare.or_else(|| HostMemory::zeroed(bytes))?;
        memory.spares = Some(Arc::downgrade(self));
        Some(memory)
    }

    /// Keeps memory for reuse. Frees the oldest memory beyond the limits.
    fn keep(&self, memory: HostMemory) {
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spares.push(memory);
        let mut bytes: usize = spares.iter().map(|spare| spare.bytes).sum();
        let mut freed = Vec::new();
        while bytes > MOST_SPARE_BYTES || spares.len() > MOST_SPARES {
            let oldest = spares.remove(0);
            bytes -= oldest.bytes;
            freed.push(oldest);
        }
        drop(spares);
    }
}

// SAFETY: a buffer owns its memory exclusively, like a `Box<[u8]>`.
unsafe impl Send for HostMemory {}
// SAFETY: safe code can only read the memory through a shared reference.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Returns memory of `bytes` zero bytes; `None` if memory is short.
    pub fn zeroed(bytes: usize) -> Option<HostMemory> {
        if bytes >= LEAST_MAPPED {
            let spare = if bytes >= HUGE_PAGE { HUGE_PAGE } else { 0 };
            let mut mapping = MmapMut::map_anon(bytes.checked_add(spare)?).ok()?;
            let skipped = if spare > 0 { mapping.as_ptr().align_offset(HUGE_PAGE).min(spare) } else { 0 };
            // With small pages, kernels with large strides would have a TLB miss for every access.
            // If the system has no huge pages, it ignores this request.
            #[cfg(target_os = "linux")]
            let _ = mapping.advise(memmap2::Advice::HugePage);
            let start = NonNull::new(mapping.get_mut(skipped..)?.as_mut_ptr())?;
            return Some(HostMemory { start, bytes, mapping: Some(mapping), spares: None });
        }
        let layout = Self::layout(bytes)?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(HostMemory { start, bytes, mapping: None, spares: None })
    }

    /// Reads, writes or updates a range of the buffer's bytes.
    ///
    /// # Safety
    /// If `passage` writes, no other code may access the bytes during the call.
    pub(crate) unsafe fn sweep(&self, passage: SweepAccess, bytes: Range<usize>) {
        if passage == SweepAccess::Read {
            return sweeps::read(&self.as_slice()[bytes]);
        }
        // SAFETY: the bytes lie in memory that this buffer owns, and the caller has exclusive
        // access to them.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.address().add(bytes.start), bytes.len()) };
        if passage == SweepAccess::Update { sweeps::update(bytes) } else { sweeps::write(bytes) }
    }

    /// Writes a range of bytes back to memory and evicts this range from all caches. Does nothing
    /// on processors other than x86-64.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "nothing is dropped"))]
    pub(crate) fn evict(&self, bytes: Range<usize>) {
        #[cfg(target_arch = "x86_64")]
        {
            let drops_many_at_once = crate::processor::drops_many_lines_at_once();
            for line in self.as_slice()[bytes].chunks(ALIGNMENT).map(<[u8]>::as_ptr) {
                // SAFETY: the line lies in memory that this buffer owns. Its eviction does not
                // change any value. The processor has the instruction.
                unsafe {
                    if drops_many_at_once {
                        std::arch::asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags))
                    } else {
                        std::arch::x86_64::_mm_clflush(line)
                    }
                }
            }
            // SAFETY: the fence only waits until all lines are evicted.
            unsafe { std::arch::x86_64::_mm_mfence() }
        }
    }

    fn layout(bytes: usize) -> Option<Layout> {
        Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
    }

    /// Returns the bytes of the buffer.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` points to `bytes` initialised bytes owned by this buffer.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// Returns the bytes of the buffer for writing.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Returns the address of the first byte, which kernels take as an argument.
    pub(crate) fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if let Some(spares) = self.spares.take().and_then(|spares| spares.upgrade()) {
            let (start, bytes, mapping) = (self.start, self.bytes, self.mapping.take());
            return spares.keep(HostMemory { start, bytes, mapping, spares: None });
        }
        if let (None, Some(layout)) = (&self.mapping, Self::layout(self.bytes)) {
            // SAFETY: the buffer has no mapping, so `zeroed` has allocated its memory with the same
            // layout.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_memory_is_used_again_within_limits() {
        let spares = Arc::new(SpareMemory::default());
        let memory = spares.memory(LEAST_MAPPED).unwrap();
        let address = memory.address();
        let other = spares.memory(LEAST_MAPPED).unwrap();
        assert_ne!(other.address(), address);
        drop(memory);
        assert_ne!(spares.memory(LEAST_MAPPED + 1).unwrap().address(), address);
        assert_eq!(spares.memory(LEAST_MAPPED).unwrap().address(), address);
        let all: Vec<HostMemory> = (0..40).map(|_| spares.memory(LEAST_MAPPED).unwrap()).collect();
        drop((all, other));
        assert_eq!(spares.0.lock().unwrap().len(), MOST_SPARES);
        drop(spares.memory(MOST_SPARE_BYTES + 1));
        assert!(spares.0.lock().unwrap().is_empty(), "memory beyond the limit is freed");
        let small = spares.memory(100).unwrap();
        let last = spares.memory(LEAST_MAPPED).unwrap();
        drop(spares);
        drop((small, last));
    }
}
