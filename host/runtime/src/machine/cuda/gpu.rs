//! The GPU that executes programs, and its memory.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr, DriverError, result, sys};

use super::condition::ConditionSetters;
use super::pinned::PinnedWord;
use super::spares::Spares;
use super::streams::Streams;
use super::{load_error, run_error};
use crate::{LoadError, RunError};

/// The first GPU of the machine and a stream on this GPU.
#[derive(Debug)]
pub struct Gpu {
    pub context: Arc<CudaContext>,
    /// The first stream of every execution. This stream executes all work that is not divided among
    /// streams.
    pub stream: Arc<CudaStream>,
    /// The stream for copies of buffers that no execution uses. So the GPU can copy the arguments
    /// of the next execution while it executes a program.
    pub transfers: Arc<CudaStream>,
    /// All streams on which executions run.
    pub streams: Mutex<Streams>,
    /// The kernels that set conditions in graphs, loaded for the first program with loops or
    /// branches.
    setters: Mutex<Option<Arc<ConditionSetters>>>,
    /// The word of host memory to which the GPU copies a value that decides about a loop or a
    /// branch.
    pub word: Mutex<PinnedWord>,
    /// Lock that a thread holds while it executes a program on this GPU. The handles of libraries
    /// may be used by only one thread at a time.
    pub turn: Mutex<()>,
    /// The events at the start and the end of an execution whose time is measured.
    timer: [CudaEvent; 2],
    spares: Arc<Spares>,
}

/// A piece of a GPU's memory. When the piece is dropped, its memory is kept for later results.
#[derive(Debug)]
pub struct GpuMemory {
    address: CUdeviceptr,
    /// Owns the memory. `None` only while the piece is dropped.
    slice: Option<CudaSlice<u8>>,
    spares: Arc<Spares>,
}

/// The size of every piece of memory is a multiple of this number of bytes. LLVM may read the last
/// elements of an array together with the bytes behind the array: for example, it reads three
/// elements of two bytes as four elements.
const GRANULE: usize = 16;

impl GpuMemory {
    /// Returns the address on the GPU.
    pub fn address(&self) -> *mut u8 {
        self.address as *mut u8
    }
}

impl Drop for GpuMemory {
    fn drop(&mut self) {
        self.slice.take().into_iter().for_each(|slice| self.spares.keep(slice));
    }
}

impl Gpu {
    /// Loads the driver and opens the first GPU. Fails if there is no driver or no GPU. The error
    /// tells the user what to do.
    pub fn open() -> Result<Gpu, LoadError> {
        // SAFETY: the function only asks the dynamic linker to load the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(LoadError::Device(
                "no CUDA driver here: libcuda.so.1 cannot be loaded. Run where an NVIDIA driver is installed, \
                 or use --target cpu or --target simt"
                    .into(),
            ));
        }
        let context = CudaContext::new(0).map_err(|e| load_error("opening the first GPU", e))?;
        // The crate cudarc can record events that order the uses of a buffer on several streams.
        // SAFETY: this module orders all uses itself. Executions order their streams by events, and
        // wait for their end. Copies on the stream for transfers are waited for, too.
        unsafe { context.disable_event_tracking() };
        let new_stream = || context.new_stream().map_err(|e| load_error("making a stream", e));
        let (stream, transfers) = (new_stream()?, new_stream()?);
        let streams = Mutex::new(Streams::new(&stream));
        let event = || context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        let timer = event().and_then(|start| Ok([start, event()?])).map_err(|e| load_error("making events", e))?;
        let word = PinnedWord::new(&context).map_err(|e| load_error("allocating memory of the host", e))?;
        let (turn, spares, setters) = (Mutex::default(), Arc::default(), Mutex::default());
        let word = Mutex::new(word);
        let device = Gpu { context, stream, transfers, streams, setters, word, turn, timer, spares };
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

    /// Returns the kernels that set conditions in graphs. Loads the kernels at the first call.
    /// Returns `None` if the driver is too old for conditions.
    pub fn setters(&self) -> Result<Option<Arc<ConditionSetters>>, LoadError> {
        let mut setters = self.setters.lock().unwrap_or_else(PoisonError::into_inner);
        if setters.is_none() {
            *setters = ConditionSetters::load(&self.context)?.map(Arc::new);
        }
        Ok(setters.clone())
    }

    /// Allocates memory that holds zeros. Returns `None` if memory is short.
    pub fn zeroed(&self, bytes: u64) -> Option<GpuMemory> {
        let memory = self.memory(bytes)?;
        let size = memory.slice.as_ref()?.len();
        self.clear(memory.address, size).ok()?;
        // Executions use other streams.
        self.transfers.synchronize().ok()?;
        Some(memory)
    }

    /// Allocates memory with any content. Returns `None` if memory is short.
    pub fn memory(&self, bytes: u64) -> Option<GpuMemory> {
        // Allocate at least one granule: the driver refuses empty allocations, and an empty value
        // needs an address, too.
        let bytes = usize::try_from(bytes).ok()?.max(1);
        let size = bytes.checked_next_multiple_of(GRANULE)?;
        let piece = |slice: CudaSlice<u8>| {
            let address = slice.device_ptr(&self.stream).0;
            GpuMemory { address, slice: Some(slice), spares: self.spares.clone() }
        };
        if let Some(spare) = self.spares.take(size) {
            return Some(piece(spare));
        }
        // SAFETY: as for spare memory, the content is written before it is read.
        let allocate = || unsafe { self.transfers.alloc::<u8>(size) };
        let slice = allocate().or_else(|error| if self.spares.clear() { allocate() } else { Err(error) }).ok()?;
        let memory = piece(slice);
        if bytes < size {
            // Kernels may read the bytes behind the value, but do not use them.
            self.clear(memory.address + (size - GRANULE) as CUdeviceptr, GRANULE).ok()?;
        }
        // Executions use other streams. They find spare memory in the steady state.
        self.transfers.synchronize().ok()?;
        Some(memory)
    }

    /// Fills memory with zeros.
    fn clear(&self, address: CUdeviceptr, bytes: usize) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: callers pass an address of live memory of at least this size.
        unsafe { result::memset_d8_async(address, 0, bytes, self.transfers.cu_stream()) }
    }

    /// Calls a function that starts work, and waits for the end of the work. Returns the time that
    /// the work took, measured by the GPU. The caller has bound the context and holds the lock
    /// `turn`.
    pub fn timed(&self, work: impl FnOnce() -> Result<(), RunError>) -> Result<Duration, RunError> {
        let failed = |e| run_error("running on the GPU", e);
        let stream = self.stream.cu_stream();
        let [start, end] = [0, 1].map(|number| self.timer[number].cu_event());
        // SAFETY: both events and the stream belong to the bound context.
        unsafe { result::event::record(start, stream) }.map_err(failed)?;
        let done = work().and_then(|()| {
            // SAFETY: as above.
            unsafe { result::event::record(end, stream) }.map_err(failed)
        });
        self.finish(done)?;
        // SAFETY: as above.
        let milliseconds = unsafe { result::event::elapsed(start, end) };
        Ok(Duration::from_secs_f64(f64::from(milliseconds.map_err(failed)?.max(0.0)) / 1e3))
    }

    /// Waits for the end of an execution. If the execution has failed, waits for all streams, so
    /// that no stream uses the memory of the execution any more. The caller has bound the context.
    pub fn finish(&self, execution: Result<(), RunError>) -> Result<(), RunError> {
        if execution.is_err() {
            // The error of the execution says more than an error of this call.
            _ = self.context.synchronize();
            return execution;
        }
        // SAFETY: the stream belongs to the bound context.
        unsafe { result::stream::synchronize(self.stream.cu_stream()) }.map_err(|e| run_error("running on the GPU", e))
    }

    /// Uses a stream to copy bytes to an address on the GPU, and waits until the driver has read
    /// the bytes.
    pub fn write(&self, stream: &CudaStream, to: CUdeviceptr, bytes: &[u8]) -> Result<(), RunError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let failed = |e| run_error("copying to the GPU", e);
        self.context.bind_to_thread().map_err(failed)?;
        // SAFETY: callers pass an address of live memory of at least this size. The synchronisation
        // ensures that `bytes` is alive until the driver has read it.
        unsafe { result::memcpy_htod_async(to, bytes, stream.cu_stream()) }
            .and_then(|()| stream.synchronize())
            .map_err(failed)
    }

    /// Uses a stream to copy bytes from an address on the GPU, and waits for the end of the copy.
    pub fn read(&self, stream: &CudaStream, from: CUdeviceptr, bytes: &mut [u8]) -> Result<(), RunError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let failed = |e| run_error("copying from the GPU", e);
        self.context.bind_to_thread().map_err(failed)?;
        // SAFETY: as in `write`.
        unsafe { result::memcpy_dtoh_async(bytes, from, stream.cu_stream()) }
            .and_then(|()| stream.synchronize())
            .map_err(failed)
    }

    /// Copies a range of one piece of the GPU's memory to the start of another piece. The range
    /// must lie in the source, and must not be longer than the target.
    pub fn copy(&self, from: &GpuMemory, range: Range<usize>, to: &GpuMemory) -> Result<(), RunError> {
        if range.is_empty() {
            return Ok(());
        }
        let failed = |e| run_error("copying on the GPU", e);
        self.context.bind_to_thread().map_err(failed)?;
        let source = from.address + range.start as u64;
        // SAFETY: callers pass a range that lies in both pieces, which are alive.
        unsafe { result::memcpy_dtod_async(to.address, source, range.len(), self.transfers.cu_stream()) }
            .and_then(|()| self.transfers.synchronize())
            .map_err(failed)
    }

    /// Evicts all memory from the GPU's cache by writing twice as many other bytes as the cache
    /// holds.
    pub fn evict(&self) -> Result<(), RunError> {
        let failed = |e| run_error("clearing the GPU's cache", e);
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
        let cache = self.context.attribute(attribute).map_err(failed)?;
        let zeros = self.stream.alloc_zeros::<u8>(2 * cache.unsigned_abs() as usize).map_err(failed)?;
        drop(zeros);
        self.stream.synchronize().map_err(failed)
    }

    /// Returns the GPU's compute capability as one number, for example 90 for 9.0. Fails if the
    /// driver does not report the compute capability.
    pub fn capability(&self) -> Result<u32, LoadError> {
        let (major, minor) =
            self.context.compute_capability().map_err(|e| load_error("reading the compute capability", e))?;
        Ok((major * 10 + minor).unsigned_abs())
    }
}
