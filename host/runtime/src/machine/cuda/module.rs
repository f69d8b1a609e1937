//! Loads machine code or PTX, and looks up its kernels.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, result, sys};

use super::load_error;
use crate::{Cubin, KernelImage, LoadError, RunError};

/// Size in bytes of the buffer for the messages of the driver's assembler.
const LOG_BYTES: usize = 8 << 10;

/// The driver's errors for machine code that another device or a newer driver can execute.
const OTHER_CODE: [sys::CUresult; 2] =
    [sys::CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, sys::CUresult::CUDA_ERROR_INVALID_IMAGE];

/// The driver's reason for refusing code.
struct Refusal {
    error: DriverError,
    /// The messages of the driver's assembler.
    log: String,
}

/// A module that is loaded into a CUDA context.
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
    /// Returns the number of blocks of a launch. Fails if the number of blocks is too large for a
    /// GPU.
    pub fn blocks(&self) -> Result<u32, RunError> {
        let KernelImage { symbol, blocks, .. } = &self.image;
        u32::try_from(*blocks).map_err(|_| RunError::Device(format!("kernel {symbol} has {blocks} blocks")))
    }
}

impl LoadedModule {
    /// Loads the first machine code that the driver accepts. If the driver accepts no machine code,
    /// assembles the PTX. Also returns a sentence about each machine code that the driver refuses.
    pub fn load_first<'c>(
        context: &Arc<CudaContext>,
        cubins: impl Iterator<Item = &'c Cubin>,
        ptx: &str,
    ) -> Result<(LoadedModule, Vec<String>), LoadError> {
        let mut refusals = Vec::new();
        for Cubin { architecture, bytes } in cubins {
            match load(context, bytes)? {
                Ok(module) => return Ok((module, refusals)),
                // The assembler is newer than the driver, or the device is another one than its
                // compute capability says.
                Err(Refusal { error, .. }) if OTHER_CODE.contains(&error.0) => {
                    refusals.push(format!(
                        "the CUDA driver does not take the machine code for {architecture} ({error}), and assembles \
                         the PTX"
                    ));
                }
                Err(Refusal { error, log }) => {
                    let what = format!("the CUDA driver does not take the machine code for {architecture}");
                    return Err(LoadError::Device(format!("{what}: {error}\n{log}")));
                }
            }
        }
        Ok((LoadedModule::assemble(context, ptx)?, refusals))
    }

    /// Assembles PTX for the GPU and loads the result. If the driver rejects the PTX, the error
    /// contains the assembler's messages.
    pub fn assemble(context: &Arc<CudaContext>, ptx: &str) -> Result<LoadedModule, LoadError> {
        let text = CString::new(ptx).map_err(|_| LoadError::Object("PTX contains a zero byte".into()))?;
        load(context, text.as_bytes_with_nul())?.map_err(|Refusal { error, log }| {
            LoadError::Device(format!("the CUDA driver does not take the PTX: {error}\n{log}"))
        })
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

/// Loads code: PTX with a zero byte at its end, or a whole ELF file. Fails if the GPU cannot be
/// used.
fn load(context: &Arc<CudaContext>, code: &[u8]) -> Result<Result<LoadedModule, Refusal>, LoadError> {
    context.bind_to_thread().map_err(|e| load_error("using the GPU", e))?;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
    let mut module: sys::CUmodule = std::ptr::null_mut();
    // SAFETY: the code ends with a zero byte, or is an ELF file whose parts lie in the slice
    // (checked at load). The values of both options have the documented form: an address, and a
    // size that is passed as a pointer. The buffer outlives the call.
    let loaded = unsafe {
        sys::cuModuleLoadDataEx(&mut module, code.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
    }
    .result();
    Ok(match loaded {
        Ok(()) => Ok(LoadedModule { module, context: context.clone() }),
        Err(error) => {
            let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
            Err(Refusal { error, log: String::from_utf8_lossy(&log[..end]).into_owned() })
        }
    })
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
