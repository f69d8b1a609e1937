//! Looks up compiled kernels in loaded objects.

use std::ffi::c_void;
use std::sync::Arc;

use super::loader::LoadedObject;
use super::watchdog::{Watch, Watchdog};
use crate::{KernelImage, LoadError};

/// Type of a cpu kernel's function: `void kernel(void *const *args, int64_t first_block, int64_t
/// end_block)`.
pub type CpuFunction = unsafe extern "C" fn(*const *mut c_void, i64, i64);
/// Type of a simulated kernel's function: `void kernel(void *const *args, int64_t block, int64_t
/// thread)`.
pub type SimtFunction = unsafe extern "C" fn(*const *mut c_void, i64, i64);

/// A kernel that is loaded and can be called: its description and the address of its function.
#[derive(Debug)]
pub struct LoadedKernel {
    /// The compiler's description of the kernel.
    pub image: KernelImage,
    /// The registration with a watchdog, if a watchdog observes the kernel's launches.
    pub watch: Option<Watch>,
    address: *const u8,
    /// The object that contains the kernel. The object keeps the code mapped.
    object: Arc<LoadedObject>,
}

// SAFETY: the address points to immutable code that `object` keeps mapped.
unsafe impl Send for LoadedKernel {}
// SAFETY: as above.
unsafe impl Sync for LoadedKernel {}

impl LoadedKernel {
    /// Looks up the kernel's function in `object`. Fails if the object lacks the function.
    pub fn new(
        image: &KernelImage,
        object: Arc<LoadedObject>,
        watchdog: Option<&Watchdog>,
    ) -> Result<LoadedKernel, LoadError> {
        let address = object
            .function(&image.symbol)
            .ok_or_else(|| LoadError::Object(format!("kernel {} is not in its object", image.symbol)))?;
        let watch = watchdog.map(|watchdog| watchdog.watch(image));
        Ok(LoadedKernel { image: image.clone(), watch, address, object })
    }

    /// Returns the description of position number `number` in the kernel's code.
    pub fn site(&self, number: i32) -> String {
        self.object.site(number).map_or_else(|| format!("access {number}"), str::to_owned)
    }

    /// Returns the kernel's function. The executable's target must be cpu.
    pub fn cpu_function(&self) -> CpuFunction {
        // SAFETY: the executable's target is cpu, for which the compiler emits this signature.
        unsafe { std::mem::transmute::<*const u8, CpuFunction>(self.address) }
    }

    /// Returns the kernel's function. The executable's target must be simt.
    pub fn simt_function(&self) -> SimtFunction {
        // SAFETY: the executable's target is simt, for which the compiler emits this signature.
        unsafe { std::mem::transmute::<*const u8, SimtFunction>(self.address) }
    }
}
