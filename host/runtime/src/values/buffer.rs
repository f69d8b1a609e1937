//! Allocates the buffers of programs, which are aligned.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::Range;
use std::ptr::NonNull;

use memmap2::MmapMut;

use crate::executable::{ALIGNMENT, HUGE_PAGE};
use crate::processor::{SweepAccess, sweeps};

/// Minimum size in bytes of a buffer that has a separate memory mapping. The system zeroes each
/// page of a mapping at the first access, instead of all pages at once when a program is loaded.
/// The system may also use huge pages for a mapping.
const LEAST_MAPPED: usize = 256 << 10;

/// A piece of memory of a program, with the alignment that kernels assume.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
    /// The mapping that owns the memory of a large buffer. `None` for a small buffer. The memory of
    /// a small buffer comes from the allocator.
    mapping: Option<MmapMut>,
}

// SAFETY: a buffer owns its memory exclusively, like a `Box<[u8]>`.
unsafe impl Send for Buffer {}
// SAFETY: safe code can only read the memory through a shared reference.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Returns a buffer of `bytes` zero bytes; `None` if memory is short.
    pub fn zeroed(bytes: usize) -> Option<Buffer> {
        if bytes >= LEAST_MAPPED {
            let spare = if bytes >= HUGE_PAGE { HUGE_PAGE } else { 0 };
            let mut mapping = MmapMut::map_anon(bytes.checked_add(spare)?).ok()?;
            let skipped = if spare > 0 { mapping.as_ptr().align_offset(HUGE_PAGE).min(spare) } else { 0 };
            // With small pages, kernels with large strides would have a TLB miss for every access.
            // If the system has no huge pages, it ignores this request.
            #[cfg(target_os = "linux")]
            let _ = mapping.advise(memmap2::Advice::HugePage);
            let start = NonNull::new(mapping.get_mut(skipped..)?.as_mut_ptr())?;
            return Some(Buffer { start, bytes, mapping: Some(mapping) });
        }
        let layout = Self::layout(bytes)?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Buffer { start, bytes, mapping: None })
    }

    /// Returns a buffer that holds `data`; `None` if memory is short.
    pub fn from_bytes(data: &[u8]) -> Option<Buffer> {
        let mut buffer = Self::zeroed(data.len())?;
        buffer.as_mut_slice().copy_from_slice(data);
        Some(buffer)
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

impl Drop for Buffer {
    fn drop(&mut self) {
        if let (None, Some(layout)) = (&self.mapping, Self::layout(self.bytes)) {
            // SAFETY: the buffer has no mapping, so `zeroed` has allocated its memory with the same
            // layout.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}
