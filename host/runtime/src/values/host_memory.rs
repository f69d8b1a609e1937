//! Allocates memory of the host with the alignment that kernels assume.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memmap2::MmapMut;

use crate::executable::{ALIGNMENT, HUGE_PAGE};
use crate::processor::{SweepAccess, sweeps};

/// Minimum size in bytes of a buffer that has a separate memory mapping. The system zeroes each
/// page of a mapping when the page is first accessed. The system does not zero all pages when the
/// mapping is allocated. The system may also use huge pages for a mapping.
const LEAST_MAPPED: usize = 256 << 10;

/// A piece of the host's memory, with the alignment that kernels assume.
#[derive(Debug)]
pub struct HostMemory {
    start: NonNull<u8>,
    bytes: usize,
    /// The mapping that owns the memory of a large buffer. `None` for a small buffer. The memory of
    /// a small buffer comes from the allocator.
    mapping: Option<MmapMut>,
    /// The collection that keeps the memory for reuse when the buffer is dropped.
    spares: Option<Weak<SpareMemory>>,
}

/// Memory that is not used any more. A new mapping costs one page fault per page. A new small
/// buffer costs an aligned allocation and the writing of zeros. So later results reuse the memory
/// of earlier results of equal size.
#[derive(Debug)]
pub struct SpareMemory {
    /// Memory below [`LEAST_MAPPED`].
    small: SpareList,
    /// Mappings.
    large: SpareList,
}

/// Pieces of memory that are kept for reuse, the oldest one first.
#[derive(Debug)]
struct SpareList {
    /// The pieces, and the sum of their bytes.
    kept: Mutex<(VecDeque<HostMemory>, usize)>,
    /// Maximum number of bytes (`most_bytes`), and maximum number of pieces (`most`).
    most_bytes: usize,
    most: usize,
}

impl Default for SpareMemory {
    fn default() -> SpareMemory {
        let small = SpareList { kept: Mutex::default(), most_bytes: 4 << 20, most: 64 };
        let large = SpareList { kept: Mutex::default(), most_bytes: 256 << 20, most: 16 };
        SpareMemory { small, large }
    }
}

impl SpareMemory {
    /// Returns memory of `bytes` bytes with any content; `None` if memory is short. When the
    /// returned memory is dropped, it is kept for reuse.
    pub fn memory(self: &Arc<Self>, bytes: usize) -> Option<HostMemory> {
        let mut memory = self.list(bytes).take(bytes).or_else(|| HostMemory::zeroed(bytes))?;
        memory.spares = Some(Arc::downgrade(self));
        Some(memory)
    }

    fn list(&self, bytes: usize) -> &SpareList {
        if bytes < LEAST_MAPPED { &self.small } else { &self.large }
    }
}

impl SpareList {
    /// Removes the newest piece of a size from the list, and returns the piece.
    fn take(&self, bytes: usize) -> Option<HostMemory> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (pieces, sum) = &mut *kept;
        let place = (0..pieces.len()).rfind(|&place| pieces[place].bytes == bytes)?;
        *sum -= bytes;
        pieces.remove(place)
    }

    /// Keeps memory for reuse. Frees the oldest pieces until the list is within its limits.
    fn keep(&self, memory: HostMemory) {
        let mut freed = Vec::new();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (pieces, sum) = &mut *kept;
        *sum += memory.bytes;
        pieces.push_back(memory);
        while *sum > self.most_bytes || pieces.len() > self.most {
            let Some(oldest) = pieces.pop_front() else { break };
            *sum -= oldest.bytes;
            freed.push(oldest);
        }
        // To free memory takes long, so the lock is released first.
        drop(kept);
        drop(freed);
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
            return spares.list(bytes).keep(HostMemory { start, bytes, mapping, spares: None });
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
        assert_eq!(kept(&spares.large), (16, 16 * LEAST_MAPPED));
        drop(spares.memory((256 << 20) + 1));
        assert_eq!(kept(&spares.large), (0, 0), "memory beyond the limit is freed");
        let last = spares.memory(LEAST_MAPPED).unwrap();
        drop(spares);
        drop(last);
    }

    #[test]
    fn small_memory_is_used_again_within_limits() {
        let spares = Arc::new(SpareMemory::default());
        let memory = spares.memory(100).unwrap();
        let address = memory.address();
        drop(memory);
        assert_eq!(kept(&spares.small), (1, 100));
        assert_ne!(spares.memory(101).unwrap().address(), address);
        assert_eq!(spares.memory(100).unwrap().address(), address);
        drop((0..100).map(|_| spares.memory(10).unwrap()).collect::<Vec<_>>());
        assert_eq!(kept(&spares.small), (64, 640));
        drop((0..30).map(|_| spares.memory(200 << 10).unwrap()).collect::<Vec<_>>());
        assert_eq!(kept(&spares.small), (20, 20 * (200 << 10)), "memory beyond the limit is freed");
        assert_eq!(kept(&spares.large), (0, 0));
    }

    /// Returns the number of pieces, and the sum of their bytes.
    fn kept(list: &SpareList) -> (usize, usize) {
        let kept = list.kept.lock().unwrap();
        assert_eq!(kept.0.iter().map(|piece| piece.bytes).sum::<usize>(), kept.1);
        (kept.0.len(), kept.1)
    }
}
