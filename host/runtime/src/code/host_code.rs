//! The loaded code of a program in the host's memory.

use std::sync::Arc;

use super::host_op::LoadedHostOp;
use super::kernel::LoadedKernel;
use super::loader::{LoadedObject, ProvidedSymbols};
use super::watchdog::Watchdog;
use crate::{CodeImage, Executable, KernelImage, LoadError};

/// The kernels and the host operations of a program.
#[derive(Debug)]
pub struct HostCode {
    kernels: Vec<LoadedKernel>,
    host_ops: Vec<LoadedHostOp>,
}

impl HostCode {
    /// Links the code. The kernels may call the functions `provided`, and the watchdog observes the
    /// launches of the kernels. Fails if the code cannot be linked.
    pub fn load(
        executable: &Executable,
        host_ops: Vec<LoadedHostOp>,
        watchdog: Option<&Watchdog>,
        provided: &ProvidedSymbols,
    ) -> Result<HostCode, LoadError> {
        let objects = executable.code.iter().map(|code| link(code, provided)).collect::<Result<Vec<_>, _>>()?;
        let load = |kernel: &KernelImage| LoadedKernel::new(kernel, objects[kernel.code as usize].clone(), watchdog);
        let kernels = executable.kernels.iter().map(load).collect::<Result<Vec<_>, _>>()?;
        Ok(HostCode { kernels, host_ops })
    }

    /// Returns the kernel with this number. The numbers in thunks are valid, because they were
    /// checked when the executable was loaded.
    pub fn kernel(&self, number: u32) -> &LoadedKernel {
        &self.kernels[number as usize]
    }

    /// Returns the host operation with this number. The numbers in thunks are valid, because they
    /// were checked when the executable was loaded.
    pub fn host_op(&self, number: u32) -> &LoadedHostOp {
        &self.host_ops[number as usize]
    }
}

fn link(code: &CodeImage, provided: &ProvidedSymbols) -> Result<Arc<LoadedObject>, LoadError> {
    match code {
        CodeImage::Object { bytes, sites } => Ok(Arc::new(LoadedObject::load(bytes, sites, provided)?)),
        CodeImage::Ptx { .. } => Err(LoadError::Object("code of a program for the host is PTX".into())),
    }
}
