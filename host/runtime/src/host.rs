//! A program on the host's own processors: cpu kernels on a pool, or GPU kernels in the simulator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::host_op::LoadedHostOp;
use crate::kernel::LoadedKernel;
use crate::loader::LoadedObject;
use crate::memory::Buffer;
use crate::pool::Pool;
use crate::thunks::Machine;
use crate::{
    Allocation, AllocationKind, CodeImage, Executable, LoadError, Options, RunError, Slice, ThreadOrder, Thunk,
};

/// A program in the host's memory.
#[derive(Debug)]
pub struct Host {
    buffers: Vec<Buffer>,
    kernels: Vec<LoadedKernel>,
    host_ops: Vec<LoadedHostOp>,
    /// `None` for the simt target.
    pool: Option<Pool>,
    order: ThreadOrder,
}

impl Host {
    /// Links the code and allocates the buffers. `pool` is the cpu target's; without one, kernels are simulated, their
    /// threads in that `order`.
    ///
    /// # Errors
    /// If the code cannot be linked, or memory is short.
    pub fn load(
        executable: &Executable,
        host_ops: Vec<LoadedHostOp>,
        pool: Option<Pool>,
        order: ThreadOrder,
    ) -> Result<Host, LoadError> {
        let objects = executable.code.iter().map(link).collect::<Result<Vec<_>, _>>()?;
        let kernels = executable.kernels.iter().map(|k| LoadedKernel::new(k, objects[k.code as usize].clone()));
        let kernels = kernels.collect::<Result<Vec<_>, _>>()?;
        let buffers = executable.allocations.iter().map(allocate).collect::<Result<Vec<_>, _>>()?;
        Ok(Host { buffers, kernels, host_ops, pool, order })
    }

    /// The pool of the cpu target.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn pool(options: &Options) -> Result<Pool, LoadError> {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if options.threads == 0 { available() } else { options.threads };
        Pool::new(threads).map_err(|source| LoadError::System { what: "starting threads", source })
    }

    /// Runs thunks; gives the time taken.
    ///
    /// # Errors
    /// If a host operation fails or the simulator finds a fault.
    pub fn execute(&mut self, thunks: &[Thunk]) -> Result<Duration, RunError> {
        let start = Instant::now();
        let mut machine = Machine {
            buffers: &mut self.buffers,
            kernels: &self.kernels,
            host_ops: &self.host_ops,
            pool: self.pool.as_ref(),
            order: self.order,
        };
        machine.run(thunks)?;
        Ok(start.elapsed())
    }

    /// Puts bytes in place.
    pub fn write(&mut self, slice: &Slice, bytes: &[u8]) {
        self.buffers[slice.allocation as usize].as_mut_slice()[range(slice)].copy_from_slice(bytes);
    }

    /// The bytes of a slice.
    pub fn read(&self, slice: &Slice) -> &[u8] {
        &self.buffers[slice.allocation as usize].as_slice()[range(slice)]
    }
}

fn range(slice: &Slice) -> std::ops::Range<usize> {
    slice.offset as usize..(slice.offset + slice.bytes) as usize
}

fn link(code: &CodeImage) -> Result<Arc<LoadedObject>, LoadError> {
    match code {
        CodeImage::Object { bytes, sites } => Ok(Arc::new(LoadedObject::load(bytes, sites)?)),
        CodeImage::Ptx(_) => Err(LoadError::Object("code of a program for the host is PTX".into())),
    }
}

fn allocate(allocation: &Allocation) -> Result<Buffer, LoadError> {
    let buffer = match &allocation.kind {
        AllocationKind::Constant(data) => Buffer::from_bytes(data),
        AllocationKind::Parameter | AllocationKind::Temporary => {
            usize::try_from(allocation.bytes).ok().and_then(Buffer::zeroed)
        }
    };
    buffer.ok_or(LoadError::Memory { bytes: allocation.bytes })
}
