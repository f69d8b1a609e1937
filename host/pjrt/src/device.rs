//! Allocates arrays and executes programs, by calls of the runtime.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fusebox_core::hlo::{ArrayShape, BinaryOp, ElementType, Tiling};
use fusebox_routines::combine;
pub use fusebox_runtime::HostBytes;
use fusebox_runtime::{
    Buffer, BufferState, Device, Executable, ExecuteOptions, ExecutionThread, ForeignMemory, LoadError,
    LoadedExecutable, Options, ResultMemory, RunError, Target,
};
use fusebox_workshop::profile::StepFacts;

use crate::error::{Answer, Error};
use crate::recorder;
use crate::tiles;

/// Target of the custom call by which a program calls Python.
const PYTHON_CALLBACK: &str = "fusebox_python_callback";

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Error {
        match error {
            LoadError::Memory { bytes } => Error::memory(bytes),
            LoadError::Processor { .. } | LoadError::Device(_) => Error::precondition(error.to_string()),
            _ => Error::internal(error.to_string()),
        }
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        match error {
            RunError::Memory { bytes } => Error::memory(bytes),
            RunError::InputCount { .. }
            | RunError::InputShape { .. }
            | RunError::DeletedInput { .. }
            | RunError::DonatedTwice { .. }
            | RunError::Deleted => Error::invalid(error.to_string()),
            _ => Error::internal(error.to_string()),
        }
    }
}

/// The processor, which executes programs, and a count of the bytes that arrays use. All arrays are
/// in the host's memory.
pub struct Machine {
    device: Device,
    usage: Arc<Usage>,
}

/// Bytes of the arrays of a machine.
#[derive(Debug, Default)]
pub struct Usage {
    now: AtomicI64,
    peak: AtomicI64,
}

impl Usage {
    /// Returns the bytes in use, and the largest number of bytes so far.
    pub fn bytes(&self) -> (i64, i64) {
        (self.now.load(Ordering::Relaxed), self.peak.load(Ordering::Relaxed))
    }

    /// Sets the largest number of bytes so far to the number of bytes that are now in use.
    pub fn forget_peak(&self) {
        self.peak.store(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn add(&self, bytes: i64) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }
}

impl Machine {
    /// Starts the threads. In a collective operation, a device waits for other devices at most for
    /// the time `collective_limit`.
    pub fn start(threads: usize, collective_limit: Option<Duration>) -> Answer<Machine> {
        let options = Options { threads, collective_limit, ..Options::default() };
        Ok(Machine { device: Device::open(Target::Cpu, &options)?, usage: Arc::default() })
    }

    /// Returns the count of the bytes that arrays use.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Loads an executable.
    pub fn load(&self, executable: Executable, facts: Arc<[StepFacts]>) -> Answer<LoadedProgram> {
        let calls_python = executable.host_ops.iter().any(|op| op.hlo.contains(PYTHON_CALLBACK));
        let device = match executable.target {
            Target::Cpu => self.device.clone(),
            other => Device::open(other, self.device.options())?,
        };
        let program = LoadedExecutable::load(&device, executable)?;
        fusebox_run::print_remarks(&program);
        Ok(LoadedProgram { program, calls_python, facts })
    }

    /// Returns an array with these elements.
    pub fn copied(&self, element: ElementType, dims: &[i64], bytes: &[u8]) -> Answer<Array> {
        Ok(self.array(Buffer::from_bytes(&self.device, element, dims, bytes)?))
    }

    /// Returns an array in memory that belongs to the caller. Drops `owner` when nothing uses the
    /// memory any more.
    ///
    /// # Safety
    /// `start` points to `bytes` bytes, and nothing writes to these bytes until `owner` is dropped.
    pub unsafe fn viewed(
        &self,
        element: ElementType,
        dims: &[i64],
        (start, bytes): (*const u8, usize),
        owner: impl Send + 'static,
    ) -> Answer<Array> {
        // SAFETY: the caller's promise.
        let memory = unsafe { ForeignMemory::read_only(start, bytes, owner) };
        Ok(self.array(Buffer::from_foreign(&self.device, element, dims, memory)?))
    }

    /// Returns a copy of an array, without waiting for the array. The copy is ready when the array
    /// has been computed and copied.
    pub fn copy_of(&self, array: &Array) -> Array {
        let shape = array.buffer.shape();
        let (copy, promise) = Buffer::pending(&self.device, shape.element_type, &shape.dims);
        let source = array.buffer.share();
        array.buffer.on_ready(move |outcome| match outcome.and_then(|()| source.bytes()) {
            // If the copy fails, so does the buffer.
            Ok(bytes) => drop(promise.set(&bytes)),
            Err(error) => promise.fail(error),
        });
        self.array(copy)
    }

    /// Returns another array with the same elements in the same memory. Deleting or donating one of
    /// the two arrays does not delete the other array.
    pub fn shared(&self, array: &Array) -> Array {
        Array { buffer: array.buffer.share(), _counted: Arc::clone(&array._counted) }
    }

    /// Returns an array that consists of the tiles of all devices. The resulting array is ready
    /// after all tiles are ready. If every device has the whole array, the result shares the memory
    /// of the first device's array.
    pub fn joined(&self, tiles: &[Array], tiling: &Tiling, shape: &ArrayShape) -> Answer<Array> {
        if let (true, Some(first)) = (tiling.is_whole(), tiles.first()) {
            return Ok(self.shared(first));
        }
        let (whole, promise) = Buffer::pending(&self.device, shape.element_type, &shape.dims);
        let sources: Vec<Buffer> = tiles.iter().map(|it| it.buffer.share()).collect();
        let (tiling, terms) = (tiling.clone(), tiling.terms());
        let (dims, bytes) = (shape.dims.clone(), shape.byte_size() as usize);
        let (ty, element) = (shape.element_type, shape.element_type.byte_size());
        let term = move |sources: &[Buffer], number: i64| {
            let mut memory = Vec::new();
            memory.try_reserve_exact(bytes).map_err(|_| RunError::Memory { bytes: bytes as u64 })?;
            memory.resize(bytes, 0);
            let is_part = |device: usize| tiling.is_first(device) && tiling.term(device) == number;
            for (device, source) in sources.iter().enumerate().filter(|(device, _)| is_part(*device)) {
                tiles::join(&mut memory, &dims, element, &tiling.part(device, &dims), &source.bytes()?);
            }
            Ok::<Vec<u8>, RunError>(memory)
        };
        let join = move |sources: &[Buffer]| {
            let mut sum = term(sources, 0)?;
            for number in 1..terms {
                let other = term(sources, number)?;
                let add = combine(BinaryOp::Add, ty);
                let refused = || RunError::Device(format!("parts of a sum of {ty} are not supported"));
                add.ok_or_else(refused)?(BinaryOp::Add, ty, &mut sum, &other);
            }
            Ok(sum)
        };
        when_all(sources, move |outcome| match outcome.and_then(|sources| join(&sources)) {
            // If this fails, so does the buffer.
            Ok(bytes) => drop(promise.set(&bytes)),
            Err(error) => promise.fail(error),
        });
        Ok(self.array(whole))
    }

    /// Returns the tile that a device gets of an array. The tile is ready after the array is ready.
    /// If every device gets the whole array, the tile shares the memory of the array.
    pub fn tile(&self, whole: &Array, tiling: &Tiling, device: usize) -> Array {
        if tiling.is_whole() {
            return self.shared(whole);
        }
        let ArrayShape { element_type, dims, .. } = whole.buffer.shape().clone();
        let part = tiling.part(device, &dims);
        let own: Vec<i64> = part.iter().map(|range| range.end - range.start).collect();
        let (tile, promise) = Buffer::pending(&self.device, element_type, &own);
        let (source, is_zero) = (whole.buffer.share(), tiling.term(device) > 0);
        whole.buffer.on_ready(move |outcome| match outcome.and_then(|()| source.bytes()) {
            Ok(_) if is_zero => drop(promise.set(&vec![0; tiles::byte_size(element_type.byte_size(), &part)])),
            Ok(bytes) => drop(promise.set(&tiles::cut(&bytes, &dims, element_type.byte_size(), &part))),
            Err(error) => promise.fail(error),
        });
        self.array(tile)
    }

    /// Returns an array whose elements are the bytes of another array, interpreted as elements of
    /// type `element`. Both arrays share the memory. Waits until the other array is computed.
    pub fn reinterpreted(&self, array: &Array, element: ElementType, dims: &[i64]) -> Answer<Array> {
        let bytes = array.bytes()?;
        let place = (bytes.as_ptr(), bytes.len());
        // SAFETY: the owner keeps the bytes, and keeps programs from writing to them.
        unsafe { self.viewed(element, dims, place, bytes) }
    }

    fn array(&self, buffer: Buffer) -> Array {
        let bytes = buffer.byte_size() as i64;
        self.usage.add(bytes);
        Array { buffer, _counted: Arc::new(Counted { bytes, usage: Arc::clone(&self.usage) }) }
    }
}

/// Calls `callback` when all buffers are ready: now, or later from another thread. If buffers fail,
/// `callback` gets the error of the buffer that fails first.
fn when_all(buffers: Vec<Buffer>, callback: impl FnOnce(Result<Vec<Buffer>, RunError>) + Send + 'static) {
    type Callback = Box<dyn FnOnce(Result<Vec<Buffer>, RunError>) + Send>;
    struct Waiting {
        missing: usize,
        failure: Option<RunError>,
        callback: Option<(Callback, Vec<Buffer>)>,
    }
    let listened: Vec<Buffer> = buffers.iter().map(Buffer::share).collect();
    let (missing, callback) = (buffers.len(), Some((Box::new(callback) as Callback, buffers)));
    let waiting = Arc::new(Mutex::new(Waiting { missing, failure: None, callback }));
    for buffer in listened {
        let waiting = Arc::clone(&waiting);
        buffer.on_ready(move |outcome| {
            let mut state = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            state.missing -= 1;
            state.failure = state.failure.take().or(outcome.err());
            let ready = if state.missing == 0 { state.callback.take() } else { None };
            let failure = state.failure.clone();
            drop(state);
            if let Some((callback, buffers)) = ready {
                callback(failure.map_or(Ok(buffers), Err));
            }
        });
    }
}

/// The elements of an array, which may not be computed yet. Clones of this value refer to the same
/// array.
#[derive(Clone, Debug)]
pub struct Array {
    buffer: Buffer,
    _counted: Arc<Counted>,
}

/// Bytes in use.
#[derive(Debug)]
struct Counted {
    bytes: i64,
    usage: Arc<Usage>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.usage.add(-self.bytes);
    }
}

impl Array {
    /// Waits for the elements, and returns their bytes in row-major order. As long as the returned
    /// value exists, no program writes to the memory of the elements.
    pub fn bytes(&self) -> Answer<HostBytes> {
        Ok(self.buffer.bytes()?)
    }

    /// Returns the outcome of the computation of the elements, or `None` if the elements are not
    /// computed yet.
    pub fn outcome(&self) -> Option<Answer> {
        match self.buffer.state() {
            BufferState::Pending => None,
            BufferState::Ready => Some(Ok(())),
            BufferState::Failed(error) => Some(Err(error.into())),
            BufferState::Deleted => Some(Err(RunError::Deleted.into())),
        }
    }

    /// Whether the elements are computed, without an error.
    pub fn is_ready(&self) -> bool {
        matches!(self.buffer.state(), BufferState::Ready)
    }

    /// Calls a function when the elements are computed: now, or later from another thread.
    pub fn when_ready(&self, callback: impl FnOnce(Answer) + Send + 'static) {
        self.buffer.on_ready(move |outcome| callback(outcome.map_err(Error::from)));
    }

    /// Calls a function with the bytes of the elements when the elements are computed, even if the
    /// array is deleted or donated before.
    pub fn when_computed(&self, callback: impl FnOnce(Answer<HostBytes>) + Send + 'static) {
        let source = self.buffer.share();
        self.when_ready(move |outcome| callback(outcome.and_then(|()| Ok(source.bytes()?))));
    }

    /// Whether the array was donated to an execution, which now owns the array's memory.
    pub fn is_deleted(&self) -> bool {
        self.buffer.is_deleted()
    }
}

/// A loaded executable.
#[derive(Debug)]
pub struct LoadedProgram {
    program: LoadedExecutable,
    calls_python: bool,
    /// Facts about the steps of the executable, which profiles show.
    facts: Arc<[StepFacts]>,
}

impl LoadedProgram {
    /// Returns the bytes of the executable, for [`Executable::from_bytes`].
    pub fn bytes(&self) -> Answer<Vec<u8>> {
        self.program.executable().to_bytes().map_err(|error| Error::internal(error.to_string()))
    }

    /// Executes the program with one argument for each array of its parameters. The program does
    /// not overwrite the arguments whose numbers are in `kept`. Returns an array for each array of
    /// the result. If the program is `ordered`, or calls Python, the calling thread executes it.
    /// Executions with effects therefore have the order of the calls. In addition, if a Python
    /// function itself executes programs, it never waits for a thread that waits for the Python
    /// function.
    pub fn execute(&self, machine: &Machine, arguments: &[Array], kept: &[usize], ordered: bool) -> Answer<Vec<Array>> {
        let thread = if ordered || self.calls_python { ExecutionThread::Caller } else { ExecutionThread::Automatic };
        let options = ExecuteOptions { keep: kept, thread, results: ResultMemory::Separate };
        if self.program.device().is_same(&machine.device) {
            let buffers: Vec<&Buffer> = arguments.iter().map(|it| &it.buffer).collect();
            let results = self.results(&buffers, &options)?;
            return Ok(results.into_iter().map(|buffer| machine.array(buffer)).collect());
        }
        let to_device = |array: &Array| {
            let ArrayShape { element_type, dims, .. } = array.buffer.shape();
            Ok(Buffer::from_bytes(self.program.device(), *element_type, dims, &array.bytes()?)?)
        };
        let copies = arguments.iter().map(to_device).collect::<Answer<Vec<Buffer>>>()?;
        let results = self.results(&copies.iter().collect::<Vec<_>>(), &options)?;
        let to_host = |result: Buffer| {
            let ArrayShape { element_type, dims, .. } = result.shape();
            machine.copied(*element_type, dims, &result.bytes()?)
        };
        results.into_iter().map(to_host).collect()
    }

    /// Executes the program. If this process records a profile, adds the times of the program's
    /// thunks to the profile.
    fn results(&self, arguments: &[&Buffer], options: &ExecuteOptions<'_>) -> Answer<Vec<Buffer>> {
        if recorder::is_active() {
            return Ok(recorder::execute(&self.program, &self.facts, arguments, options)?);
        }
        Ok(self.program.execute(arguments, options)?)
    }
}
