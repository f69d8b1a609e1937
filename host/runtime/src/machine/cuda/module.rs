//! Loads PTX code and looks up its kernels.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use super::load_error;
use crate::{KernelImage, LoadError, RunError};

/// Size in bytes of the buffer for the messages of the driver's assembler.
const LOG_BYTES: usize = 8 << 10;

/// A module of PTX code that is loaded into a CUDA context.
#[derive(Debug)]
pub struct LoadedModule {
    module: sys::CUmodule,
    context: Arc<CudaContext>,
}

/// A kernel that is loaded and can be launched.
#[derive(Clone, Debug)]
pub struct LoadedFunction {
    /// The compiler's description of the kernel.
    pub image: KernelImage,
    /// The driver's handle, which is valid while the module is loaded.
    pub handle: sys::CUfunction,
    /// Keeps the module loaded, and so the handle valid.
    _module: Arc<LoadedModule>,
}

// SAFETY: any thread that has bound the context may use the driver's handle of a module.
unsafe impl Send for LoadedModule {}
// SAFETY: as above. No method changes the module through a shared reference.
unsafe impl Sync for LoadedModule {}
// SAFETY: as for `LoadedModule`, to which the handle belongs.
unsafe impl Send for LoadedFunction {}
// SAFETY: as above.
unsafe impl Sync for LoadedFunction {}

impl LoadedFunction {
    /// Returns the number of blocks of a launch. Fails if it is too large for a GPU.
    pub fn blocks(&self) -> Result<u32, RunError> {
        let KernelImage { symbol, blocks, .. } = &self.image;
        u32::try_from(*blocks).map_err(|_| RunError::Device(format!("kernel {symbol} has {blocks} blocks")))
    }
}

impl LoadedModule {
    /// Assembles PTX code for the GPU and loads the result. If the driver rejects the PTX, the
    /// error contains the assembler's messages.
    pub fn load(context: &Arc<CudaContext>, ptx: &str) -> Result<LoadedModule, LoadError> {
        context.bind_to_thread().map_err(|e| load_error("using the GPU", e))?;
        let text = CString::new(ptx).map_err(|_| LoadError::Object("PTX contains a zero byte".into()))?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
        let mut module: sys::CUmodule = std::ptr::null_mut();
        // SAFETY: the text ends with a zero byte. The values of both options have the documented
        // form: an address, and a size that is passed as a pointer. The buffer outlives the call.
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

    /// Returns the driver's handle of a function. Fails if the module lacks the function.
    pub fn handle(&self, name: &str) -> Result<sys::CUfunction, LoadError> {
        let missing = || LoadError::Object(format!("kernel {name} is not in its PTX"));
        let text = CString::new(name).map_err(|_| missing())?;
        // SAFETY: the module is loaded.
        unsafe { result::module::get_function(self.module, text) }.map_err(|_| missing())
    }

    /// Returns the function of a kernel. Fails if the module lacks the function.
    pub fn function(self: &Arc<Self>, image: &KernelImage) -> Result<LoadedFunction, LoadError> {
        Ok(LoadedFunction { image: image.clone(), handle: self.handle(&image.symbol)?, _module: self.clone() })
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the module is loaded once and unloaded once. No kernel of the module is
            // running, because programs end with a synchronisation. An error of this call is
            // ignored, because no caller could handle it.
            _ = unsafe { result::module::unload(self.module) };
        }
    }
}
