//! A word of the host's memory to which a GPU copies without the help of the host.

use std::sync::Arc;

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cudarc::driver::{CudaContext, DriverError, result};

/// Eight bytes of the host's memory that do not move. The GPU copies the value that decides about a
/// loop or a branch to this memory.
#[derive(Debug)]
pub struct PinnedWord {
    address: *mut u8,
    context: Arc<CudaContext>,
}

const BYTES: usize = 8;

// SAFETY: any thread may use the memory, which only methods with an exclusive reference access.
unsafe impl Send for PinnedWord {}

impl PinnedWord {
    /// Allocates the memory. Fails if the driver refuses the allocation.
    pub fn new(context: &Arc<CudaContext>) -> Result<PinnedWord, DriverError> {
        context.bind_to_thread()?;
        // SAFETY: the memory is written before it is read.
        let address = unsafe { result::malloc_host(BYTES, 0) }?;
        Ok(PinnedWord { address: address.cast(), context: context.clone() })
    }

    /// Uses a stream to copy up to eight bytes from an address on the GPU, and waits for the end of
    /// the copy. The caller has bound the context.
    pub fn read(&mut self, from: CUdeviceptr, bytes: usize, stream: CUstream) -> Result<&[u8], DriverError> {
        // SAFETY: the memory has eight bytes, lives as long as `self`, and the driver has written
        // the first bytes when the stream is synchronised. The caller passes an address of live
        // memory.
        unsafe {
            let word = std::slice::from_raw_parts_mut(self.address, bytes.min(BYTES));
            result::memcpy_dtoh_async(word, from, stream)?;
            result::stream::synchronize(stream)?;
            Ok(word)
        }
    }
}

impl Drop for PinnedWord {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the memory is freed once. No copy is running, because `read` waits. No caller
            // could handle an error.
            _ = unsafe { result::free_host(self.address.cast()) };
        }
    }
}
