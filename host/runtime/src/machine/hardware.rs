//! The hardware that executes programs: memory, transfers, and loading of code.

use std::ops::Range;
use std::sync::Arc;

use super::cuda::{Gpu, GpuProgram, GpuRun};
use super::frame::Frame;
use super::host::{HostExecutor, HostProgram, HostRun};
use super::memory::DeviceMemory;
use super::options::Options;
use super::thunks::Machine;
use crate::code::LoadedHostOp;
use crate::processor::{Pool, shared_pool};
use crate::values::{HostMemory, SpareMemory, copy};
use crate::{Executable, LoadError, RunError, Target};

/// The hardware that executes programs.
#[derive(Debug)]
pub enum Hardware {
    /// The host, and spare memory that earlier results used. The host executes programs of the
    /// targets cpu and simt.
    Host(HostExecutor, Arc<SpareMemory>),
    /// An NVIDIA GPU.
    Gpu(Arc<Gpu>),
}

/// The loaded code of a program.
#[derive(Debug)]
pub enum LoadedCode {
    /// A program for the host.
    Host(HostProgram),
    /// A program for a GPU.
    Gpu(GpuProgram),
}

impl Hardware {
    /// Opens the hardware of a target. Fails if there is no such hardware, or if the system refuses
    /// to start threads.
    pub fn open(target: Target, options: &Options) -> Result<Hardware, LoadError> {
        Ok(match target {
            Target::Cpu => {
                let pool = shared_pool(options.thread_count())
                    .map_err(|source| LoadError::System { what: "starting threads", source })?;
                Hardware::Host(HostExecutor::Pool(pool), Arc::default())
            }
            Target::Simt => Hardware::Host(HostExecutor::Simulator(options.order), Arc::default()),
            Target::Cuda(_) => Hardware::Gpu(Arc::new(Gpu::open()?)),
        })
    }

    /// Whether this hardware executes programs for a target.
    pub fn executes(&self, target: Target) -> bool {
        match self {
            Hardware::Host(HostExecutor::Pool(_), _) => target == Target::Cpu,
            Hardware::Host(HostExecutor::Simulator(_), _) => target == Target::Simt,
            Hardware::Gpu(_) => matches!(target, Target::Cuda(_)),
        }
    }

    /// Whether buffers are in the host's memory.
    pub fn is_host(&self) -> bool {
        matches!(self, Hardware::Host(..))
    }

    /// Returns the GPU; `None` for the host.
    pub fn gpu(&self) -> Option<&Gpu> {
        if let Hardware::Gpu(gpu) = self { Some(gpu) } else { None }
    }

    /// Returns the thread pool that executes kernels. Returns `None` for targets other than cpu.
    pub fn pool(&self) -> Option<&Arc<Pool>> {
        if let Hardware::Host(executor, _) = self { executor.pool() } else { None }
    }

    /// Loads the code of an executable for this hardware. Fails if the code cannot be linked.
    pub fn load(
        &self,
        executable: &Executable,
        host_ops: Vec<LoadedHostOp>,
        options: &Options,
    ) -> Result<LoadedCode, LoadError> {
        Ok(match (self, executable.target) {
            (Hardware::Gpu(_), _) if executable.host_ops.iter().any(|op| op.per_device.is_some()) => {
                return Err(LoadError::Device(
                    "a GPU does not execute manual computations of several devices: compile for cpu".into(),
                ));
            }
            (Hardware::Gpu(gpu), Target::Cuda(wanted)) => {
                LoadedCode::Gpu(GpuProgram::load(gpu, executable, wanted, host_ops, options)?)
            }
            (Hardware::Host(executor, _), target) if self.executes(target) => {
                LoadedCode::Host(HostProgram::load(executable, host_ops, executor.clone(), options)?)
            }
            (_, target) => {
                return Err(LoadError::Device(format!(
                    "the executable is for {target}, which is not the target of this device: open a device of the \
                     executable's target"
                )));
            }
        })
    }

    /// Allocates memory that holds zeros. Fails if memory is short.
    pub fn zeroed(&self, bytes: u64) -> Result<DeviceMemory, RunError> {
        let memory = match self {
            Hardware::Host(..) => usize::try_from(bytes).ok().and_then(HostMemory::zeroed).map(DeviceMemory::Host),
            Hardware::Gpu(gpu) => gpu.zeroed(bytes).map(DeviceMemory::Gpu),
        };
        memory.ok_or(RunError::Memory { bytes })
    }

    /// Allocates memory with any content, for a result. Fails if memory is short.
    pub fn for_result(&self, bytes: u64) -> Result<DeviceMemory, RunError> {
        match self {
            Hardware::Host(_, spares) => {
                let memory = usize::try_from(bytes).ok().and_then(|bytes| spares.memory(bytes));
                memory.map(DeviceMemory::Host).ok_or(RunError::Memory { bytes })
            }
            Hardware::Gpu(gpu) => gpu.memory(bytes).map(DeviceMemory::Gpu).ok_or(RunError::Memory { bytes }),
        }
    }

    /// Allocates memory with any content, for temporary values. Fails if memory is short.
    pub fn for_temporary(&self, bytes: u64) -> Result<DeviceMemory, RunError> {
        match self {
            // New memory of the host holds zeros anyway.
            Hardware::Host(..) => self.zeroed(bytes),
            Hardware::Gpu(_) => self.for_result(bytes),
        }
    }

    /// Allocates memory that holds these bytes. Fails if memory is short or the GPU fails.
    pub fn holding(&self, bytes: &[u8]) -> Result<DeviceMemory, RunError> {
        let short = RunError::Memory { bytes: bytes.len() as u64 };
        match self {
            Hardware::Host(_, spares) => {
                let mut memory = spares.memory(bytes.len()).ok_or(short)?;
                memory.as_mut_slice().copy_from_slice(bytes);
                Ok(DeviceMemory::Host(memory))
            }
            Hardware::Gpu(gpu) => {
                let memory = gpu.memory(bytes.len() as u64).ok_or(short)?;
                gpu.write(&gpu.transfers, memory.address() as u64, bytes)?;
                Ok(DeviceMemory::Gpu(memory))
            }
        }
    }

    /// Copies a range of memory to new memory. Fails if memory is short or the GPU fails.
    pub fn copied(&self, memory: &DeviceMemory, range: Range<usize>) -> Result<DeviceMemory, RunError> {
        match (self, memory) {
            (Hardware::Gpu(gpu), DeviceMemory::Gpu(memory)) => {
                let copy = self.for_result(range.len() as u64)?;
                if let DeviceMemory::Gpu(to) = &copy {
                    gpu.copy(memory, range, to)?;
                }
                Ok(copy)
            }
            _ => self.holding(memory.in_host(range).unwrap_or_default()),
        }
    }

    /// Copies a range of memory to the host. Fails if memory is short or the GPU fails.
    pub fn fetched(&self, memory: &DeviceMemory, range: Range<usize>) -> Result<Vec<u8>, RunError> {
        match (self, memory) {
            (Hardware::Gpu(gpu), DeviceMemory::Gpu(memory)) => {
                let mut bytes = Vec::new();
                let short = |_| RunError::Memory { bytes: range.len() as u64 };
                bytes.try_reserve_exact(range.len()).map_err(short)?;
                bytes.resize(range.len(), 0);
                gpu.read(&gpu.transfers, memory.address() as u64 + range.start as u64, &mut bytes)?;
                Ok(bytes)
            }
            _ => copy(memory.in_host(range).unwrap_or_default()),
        }
    }
}

impl LoadedCode {
    /// Returns remarks for users about the loaded code. Each remark is a sentence.
    pub fn remarks(&self) -> &[String] {
        match self {
            LoadedCode::Host(_) => &[],
            LoadedCode::Gpu(program) => program.remarks(),
        }
    }

    /// Calls `f` with a machine that executes this code with the state `frame`.
    ///
    /// # Safety
    /// For each allocation of the program, the frame must hold the address of memory of the
    /// allocation's size on the hardware that has loaded the code. The memory must stay valid
    /// during the call. No other code may write to the memory of the allocations, and no other code
    /// may access memory that the program writes.
    pub unsafe fn with_machine<R>(&self, frame: &mut Frame, f: impl FnOnce(&mut dyn Machine) -> R) -> R {
        match self {
            // SAFETY: the caller guarantees the same.
            LoadedCode::Host(program) => f(&mut unsafe { HostRun::new(program, frame) }),
            // SAFETY: as above.
            LoadedCode::Gpu(program) => f(&mut unsafe { GpuRun::new(program, frame) }),
        }
    }
}
