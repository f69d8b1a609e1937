//! Aligned buffers.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::Range;
use std::ptr::NonNull;

use memmap2::MmapMut;

use crate::sweeps;

/// Alignment of every buffer, as kernels may assume.
pub const ALIGNMENT: usize = 64;

/// From this size on a buffer is a mapping of its own: its pages are zeroed when they are first touched, not
/// when the program is loaded, and they may be huge ones.
const LEAST_MAPPED: usize = 256 << 10;

/// Size and alignment of a huge page on most machines. A mapping of so much begins with one.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// What is done with every byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    Read,
    /// A zero is written.
    Write,
    /// It is read, and zero is written in its place.
    Update,
}

/// A way through memory, on all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep {
    pub passage: Passage,
    /// Whether each thread begins with the last of its bytes: those that the caches still hold after a sweep from the first.
    pub is_backward: bool,
    /// From the beginning of the program's memory.
    pub bytes: usize,
}

/// Memory of a program, aligned as kernels may assume.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
    /// Owns the memory of a large buffer; that of a small one comes from the allocator.
    mapping: Option<MmapMut>,
}

// SAFETY: a buffer owns its memory exclusively, like a `Box<[u8]>`.
unsafe impl Send for Buffer {}
// SAFETY: shared references give read access only.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer of so many bytes, all 0; `None` if memory is short.
    pub fn zeroed(bytes: usize) -> Option<Buffer> {
        if bytes >= LEAST_MAPPED {
            let spare = if bytes >= HUGE_PAGE { HUGE_PAGE } else { 0 };
            let mut mapping = MmapMut::map_anon(bytes.checked_add(spare)?).ok()?;
            let skipped = if spare > 0 { mapping.as_ptr().align_offset(HUGE_PAGE).min(spare) } else { 0 };
            // Kernels that walk across memory would miss the TLB on every small page. Where the system has no huge
            // pages, small ones do.
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

    /// A buffer that holds `data`; `None` if memory is short.
    pub fn from_bytes(data: &[u8]) -> Option<Buffer> {
        let mut buffer = Self::zeroed(data.len())?;
        buffer.as_mut_slice().copy_from_slice(data);
        Some(buffer)
    }

    /// Goes through some of its bytes.
    ///
    /// # Safety
    /// The caller has the bytes for itself, if they are written.
    pub(crate) unsafe fn sweep(&self, passage: Passage, bytes: Range<usize>) {
        if passage == Passage::Read {
            return sweeps::read(&self.as_slice()[bytes]);
        }
        // SAFETY: the bytes lie in memory that this buffer owns, and the caller has them for itself.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.address().add(bytes.start), bytes.len()) };
        if passage == Passage::Update { sweeps::update(bytes) } else { sweeps::write(bytes) }
    }

    /// Writes what caches hold of some of its bytes back to memory, and drops them from all caches. Processors other than x86-64
    /// keep them.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "nothing is dropped"))]
    pub(crate) fn evict(&self, bytes: Range<usize>) {
        #[cfg(target_arch = "x86_64")]
        {
            let drops_many_at_once = crate::processor::drops_many_lines_at_once();
            for line in self.as_slice()[bytes].chunks(ALIGNMENT).map(<[u8]>::as_ptr) {
                // SAFETY: the line lies in memory that this buffer owns; dropping it changes no value. The processor has the
                // instruction.
                unsafe {
                    match drops_many_at_once {
                        true => std::arch::asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags)),
                        false => std::arch::x86_64::_mm_clflush(line),
                    }
                }
            }
            // SAFETY: waits until all lines are dropped, and does nothing else.
            unsafe { std::arch::x86_64::_mm_mfence() }
        }
    }

    fn layout(bytes: usize) -> Option<Layout> {
        Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` points to `bytes` initialised bytes owned by this buffer.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The bytes, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Address of the first byte, for kernels.
    pub(crate) fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let (None, Some(layout)) = (&self.mapping, Self::layout(self.bytes)) {
            // SAFETY: not a mapping, so allocated in `zeroed` with this very layout.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}
