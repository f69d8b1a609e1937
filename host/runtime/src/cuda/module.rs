//! Loads PTX and looks up the functions to launch.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use super::load_error;
use crate::{KernelImage, LoadError};

/// Size in bytes of the buffer for the driver's assembler messages.
const LOG_BYTES: usize = 8 << 10;

/// A module loaded into the context.
#[derive(Debug)]
pub struct LoadedModule {
    module: sys::CUmodule,
    context: Arc<CudaContext>,
}

/// A kernel ready to be launched.
#[derive(Clone, Debug)]
pub struct LoadedFunction {
    /// The compiler's description of the kernel.
    pub image: KernelImage,
    /// The driver's handle; valid as long as the module.
    pub handle: sys::CUfunction,
    /// Keeps the handle valid.
    _module: Arc<LoadedModule>,
}

// SAFETY: the driver's handles of modules may be used from any thread that has bound the context.
unsafe impl Send for LoadedModule {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for LoadedModule {}
// SAFETY: as for the module that the handle belongs to.
unsafe impl Send for LoadedFunction {}
// SAFETY: as above.
unsafe impl Sync for LoadedFunction {}

impl LoadedModule {
    /// Assembles PTX for the GPU. Fails with the assembler's messages if the driver rejects the
    /// PTX.
    pub fn load(context: &Arc<CudaContext>, ptx: &str) -> Result<LoadedModule, LoadError> {
        context.bind_to_thread().map_err(|e| load_error("using the GPU", e))?;
        let text = CString::new(ptx).map_err(|_| LoadError::Object("PTX contains a zero byte".into()))?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
        let mut module: sys::CUmodule = std::ptr::null_mut();
        // SAFETY: the text ends in a zero byte; both options have values of the kind that the
        // driver documents (an address, a size in the pointer's bits), and the buffer outlives the
        // call.
        let loaded = unsafe {
            sys::cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        }
        .result();
        loaded.map_err(|error| {
            let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
            let log = String::from_utf8_lossy(&log[..end]);
            LoadError::Device(format!("the CUDA driver does not take the PTX: {error}\n{log}"))
        })?;
        Ok(LoadedModule { module, context: context.clone() })
    }

    /// Returns the function of a kernel. Fails if the module lacks it.
    pub fn function(self: &Arc<Self>, image: &KernelImage) -> Result<LoadedFunction, LoadError> {
        let missing = || LoadError::Object(format!("kernel {} is not in its PTX", image.symbol));
        let name = CString::new(image.symbol.as_str()).map_err(|_| missing())?;
        // SAFETY: the module is loaded.
        let handle = unsafe { result::module::get_function(self.module, name) }.map_err(|_| missing())?;
        Ok(LoadedFunction { image: image.clone(), handle, _module: self.clone() })
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the module is loaded once and unloaded once. No launch is in flight: programs
            // end with a synchronisation. An error at this point is ignored because no caller could
            // handle it.
            _ = unsafe { result::module::unload(self.module) };
        }
    }
}
