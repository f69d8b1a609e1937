//! The GPU that executes programs.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use super::load_error;
use crate::LoadError;

/// The first GPU of the machine and a stream on this GPU.
#[derive(Debug)]
pub struct Device {
    pub context: Arc<CudaContext>,
    /// The stream that executes all work of a program, in order.
    pub stream: Arc<CudaStream>,
}

impl Device {
    /// Loads the driver and opens the first GPU. Fails if there is no driver or no GPU. The error
    /// tells the user what to do.
    pub fn open() -> Result<Device, LoadError> {
        // SAFETY: the function only asks the dynamic linker to load the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(LoadError::Device(
                "no CUDA driver here: libcuda.so.1 cannot be loaded. Run where an NVIDIA driver is installed, \
                 or use --target cpu or --target simt"
                    .into(),
            ));
        }
        let context = CudaContext::new(0).map_err(|e| load_error("opening the first GPU", e))?;
        // One stream executes all work in order. The crate cudarc can record events that order the
        // uses of a buffer on several streams. With one stream, these events would only cost time.
        // SAFETY: no buffer is used on two streams.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(|e| load_error("making a stream", e))?;
        let device = Device { context, stream };
        device.keep_freed_memory()?;
        Ok(device)
    }

    /// Configures the driver's memory pool to keep freed memory. By default, the pool returns freed
    /// memory to the system at every synchronisation.
    fn keep_freed_memory(&self) -> Result<(), LoadError> {
        if !self.context.has_async_alloc() {
            return Ok(());
        }
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let mut threshold = u64::MAX;
        // SAFETY: the device belongs to a live context, and the value of this attribute is a `u64`.
        unsafe {
            let pool = result::device::get_default_mem_pool(self.context.cu_device());
            pool.and_then(|pool| {
                sys::cuMemPoolSetAttribute(pool, attribute, std::ptr::from_mut(&mut threshold).cast()).result()
            })
        }
        .map_err(|e| load_error("setting the memory pool up", e))
    }

    /// Returns the GPU's compute capability as one number, for example 90 for 9.0. Fails if the
    /// driver does not report the compute capability.
    pub fn capability(&self) -> Result<u32, LoadError> {
        let (major, minor) =
            self.context.compute_capability().map_err(|e| load_error("reading the compute capability", e))?;
        Ok((major * 10 + minor).unsigned_abs())
    }
}
