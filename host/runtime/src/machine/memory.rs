//! Pieces of a device's memory.

use std::any::Any;
use std::fmt;
use std::ops::Range;

use super::cuda::GpuMemory;
use crate::values::HostMemory;

/// A piece of a device's memory. The address of the piece does not change.
#[derive(Debug)]
pub enum DeviceMemory {
    /// Memory of the host that this crate has allocated.
    Host(HostMemory),
    /// Memory of the host that someone else has allocated.
    Foreign(ForeignMemory),
    /// Memory of a GPU.
    Gpu(GpuMemory),
}

/// Memory of the host that someone else has allocated, and its owner. The owner is dropped when
/// nothing uses the memory any more.
pub struct ForeignMemory {
    address: *mut u8,
    bytes: usize,
    is_writable: bool,
    _owner: Box<dyn Any + Send>,
}

// SAFETY: the creator of the value guarantees that the memory may be used on every thread.
unsafe impl Send for ForeignMemory {}
// SAFETY: as above. The owner is never accessed through a shared reference.
unsafe impl Sync for ForeignMemory {}

impl fmt::Debug for ForeignMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForeignMemory { address, bytes, is_writable, .. } = self;
        write!(f, "ForeignMemory {{ {bytes} bytes at {address:p}, writable: {is_writable} }}")
    }
}

impl ForeignMemory {
    /// Returns memory that programs only read. If this memory holds an input that a program would
    /// overwrite, the program overwrites a copy of the input instead.
    ///
    /// # Safety
    /// The memory must consist of `bytes` initialised bytes. Until `owner` is dropped, the memory
    /// must stay valid on every thread, and no code may write to it.
    pub unsafe fn read_only(address: *const u8, bytes: usize, owner: impl Send + 'static) -> ForeignMemory {
        ForeignMemory { address: address.cast_mut(), bytes, is_writable: false, _owner: Box::new(owner) }
    }

    /// Returns memory that a program may overwrite if the caller donates it.
    ///
    /// # Safety
    /// The caller must guarantee the same as for [`ForeignMemory::read_only`]. In addition, no
    /// other code may read the memory after it was donated.
    pub unsafe fn writable(address: *mut u8, bytes: usize, owner: impl Send + 'static) -> ForeignMemory {
        ForeignMemory { address, bytes, is_writable: true, _owner: Box::new(owner) }
    }

    /// Returns the address of the first byte.
    pub(crate) fn address(&self) -> *mut u8 {
        self.address
    }

    /// Returns the size in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }
}

impl DeviceMemory {
    /// Returns the address of the first byte, on the device.
    pub fn address(&self) -> *mut u8 {
        match self {
            DeviceMemory::Host(memory) => memory.address(),
            DeviceMemory::Foreign(memory) => memory.address,
            DeviceMemory::Gpu(memory) => memory.address(),
        }
    }

    /// Whether a program may overwrite the memory, if nothing else uses it.
    pub fn is_writable(&self) -> bool {
        !matches!(self, DeviceMemory::Foreign(ForeignMemory { is_writable: false, .. }))
    }

    /// Returns a range of bytes. Returns `None` if the memory is not in the host.
    pub fn in_host(&self, range: Range<usize>) -> Option<&[u8]> {
        match self {
            DeviceMemory::Host(memory) => memory.as_slice().get(range),
            // Memory of no bytes may have any address.
            DeviceMemory::Foreign(memory) if memory.bytes == 0 => [].get(range),
            DeviceMemory::Foreign(memory) => {
                // SAFETY: the memory has this size and is initialised, and nothing writes to it
                // while it is shared.
                let bytes = unsafe { std::slice::from_raw_parts(memory.address, memory.bytes) };
                bytes.get(range)
            }
            DeviceMemory::Gpu(_) => None,
        }
    }

    /// Returns the host's memory that this crate has allocated. Returns `None` for other memory.
    pub fn as_host(&self) -> Option<&HostMemory> {
        if let DeviceMemory::Host(memory) = self { Some(memory) } else { None }
    }
}
