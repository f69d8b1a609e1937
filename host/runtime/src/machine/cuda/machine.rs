//! Executes thunks on a GPU.

use std::borrow::Cow;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUstream};

use fusebox_routines::{CallingThread, Context, Product};

use super::condition::ConditionSetters;
use super::gpu::Gpu;
use super::graph::GraphCode;
use super::module::{LoadedFunction, LoadedModule};
use super::node::pointers;
use super::order::Place;
use super::product::{CublasLibrary, LoadedProduct};
use super::run_error;
use super::sequence::Sequences;
use crate::code::LoadedHostOp;
use crate::executable::DeviceStep;
use crate::machine::frame::Frame;
use crate::machine::options::{Graphs, Options};
use crate::machine::thunks::{Machine, branch_taken};
use crate::values::HostMemory;
use crate::{CodeImage, Executable, LoadError, RunError, Slice, Thunk};

/// A program that is loaded on a GPU. The loaded program does not change. Several threads can
/// execute the program, one after the other.
#[derive(Debug)]
pub struct GpuProgram {
    kernels: Vec<LoadedFunction>,
    host_ops: Vec<LoadedHostOp>,
    /// For each host operation, the matrix product that the GPU computes instead of the host.
    /// `None` if the host executes the operation.
    products: Vec<Option<LoadedProduct>>,
    when: Graphs,
    /// The kernels for loops and branches in graphs. `None` if the program has no loops or
    /// branches, or if the host decides about them.
    setters: Option<Arc<ConditionSetters>>,
    /// Maximum number of launches and copies that the GPU executes at the same time.
    streams: usize,
    sequences: Sequences,
    device: Arc<Gpu>,
    remarks: Vec<String>,
}

/// Maximum number of thunks in a sequence that becomes one graph.
const MOST_NODES: usize = 1024;

/// An execution of a program on a GPU. Other executions on the same GPU wait until this value is
/// dropped.
pub struct GpuRun<'e> {
    program: &'e GpuProgram,
    frame: &'e mut Frame,
    _turn: MutexGuard<'e, ()>,
}

impl GpuProgram {
    /// Loads the code on the GPU. The code is compiled for the compute capability `wanted`. Fails
    /// if the GPU is older than `wanted`.
    pub fn load(
        device: &Arc<Gpu>,
        executable: &Executable,
        wanted: u32,
        host_ops: Vec<LoadedHostOp>,
        options: &Options,
    ) -> Result<GpuProgram, LoadError> {
        let capability = device.capability()?;
        check_capability(wanted, capability)?;
        let modules = executable.code.iter().map(|code| module(device, code, capability));
        let (modules, remarks) = modules.collect::<Result<(Vec<_>, Vec<_>), _>>()?;
        let products = products(device, &host_ops)?;
        let kernel = |image: &crate::KernelImage| modules[image.code as usize].function(image);
        let kernels = executable.kernels.iter().map(kernel).collect::<Result<Vec<_>, _>>()?;
        let (when, streams, sequences) = (options.graphs, options.stream_count(), Sequences::default());
        let has_control = fusebox_thunks::all(&executable.thunks).any(is_control);
        let setters = if has_control && when != Graphs::Never { device.setters()? } else { None };
        let device = device.clone();
        let remarks = remarks.concat();
        Ok(GpuProgram { kernels, host_ops, products, when, setters, streams, sequences, device, remarks })
    }

    /// Returns remarks for users about the loaded code. Each remark is a sentence.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Whether a graph can contain a thunk.
    fn is_node(&self, thunk: &Thunk) -> bool {
        let is_possible =
            |thunk: &Thunk| DeviceStep::of(thunk).is_some() || is_control(thunk) && self.setters.is_some();
        fusebox_thunks::all(std::slice::from_ref(thunk)).all(is_possible)
    }

    fn graph_code(&self) -> GraphCode<'_> {
        GraphCode { kernels: &self.kernels, setters: self.setters.as_deref() }
    }
}

impl<'e> GpuRun<'e> {
    /// Waits until no other execution on the GPU is running, then returns an execution of a
    /// program.
    ///
    /// # Safety
    /// For each allocation of the program, the frame must hold the address of GPU memory of the
    /// allocation's size. The memory must stay valid during the execution. No other code may write
    /// to the memory of the allocations, and no other code may access memory that the program
    /// writes.
    pub unsafe fn new(program: &'e GpuProgram, frame: &'e mut Frame) -> GpuRun<'e> {
        let turn = program.device.turn.lock().unwrap_or_else(PoisonError::into_inner);
        GpuRun { program, frame, _turn: turn }
    }

    fn address(&self, slice: &Slice) -> CUdeviceptr {
        self.frame.address(slice) as CUdeviceptr
    }

    /// Executes a sequence of thunks that a graph can contain. If the sequence is executed
    /// repeatedly, one call launches all its thunks as a graph.
    fn run_sequence(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        let program = self.program;
        let (mut sequence, is_new) = program.sequences.take(thunks, &program.kernels, program.streams);
        // The body of a loop is repeated.
        let is_loop = matches!(thunks, [Thunk::While { .. }]);
        let is_graph = match program.when {
            Graphs::Never => false,
            Graphs::Repeated => is_loop || !is_new && (thunks.len() > 1 || is_control(&thunks[0])),
            Graphs::Always => true,
        };
        match sequence.places() {
            _ if is_graph => {
                let (code, device) = (program.graph_code(), &program.device);
                let graph = sequence.graph(&device.context, code, program.streams, self.frame)?;
                graph.launch(code, self.frame, device.stream.cu_stream())?;
            }
            Some(places) => self.run_on_streams(thunks, places)?,
            None => self.run_in_pieces(thunks)?,
        }
        program.sequences.keep(sequence);
        Ok(())
    }

    /// Executes a sequence with loops or branches piece by piece. A piece is one loop, one
    /// conditional, or a sequence of other thunks.
    fn run_in_pieces(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        let pieces = thunks.chunk_by(|one, next| !is_control(one) && !is_control(next));
        pieces.into_iter().try_for_each(|piece| match piece {
            [Thunk::While { .. }] if thunks.len() > 1 => self.run_sequence(piece),
            [thunk] if is_control(thunk) => self.run_alone(thunk),
            piece => self.run_sequence(piece),
        })
    }

    /// Executes a thunk that is not in a graph. The host decides about loops and branches.
    fn run_alone(&mut self, thunk: &Thunk) -> Result<(), RunError> {
        match thunk {
            Thunk::While { body, iterations: Some(number), .. } => (0..*number).try_for_each(|_| self.run(body)),
            Thunk::While { condition, predicate, body, .. } => loop {
                self.run(condition)?;
                if self.decided(predicate, |value| value.first() == Some(&0))? {
                    return Ok(());
                }
                self.run(body)?;
            },
            Thunk::Conditional { index, branches, .. } => {
                let taken = self.decided(index, |value| branch_taken(value, branches.len()))?;
                self.run(&branches[taken])
            }
            other => self.step(other),
        }
    }

    /// Waits for a value that decides about a loop or a branch.
    fn decided<R>(&self, slice: &Slice, decide: impl FnOnce(&[u8]) -> R) -> Result<R, RunError> {
        let device = &self.program.device;
        let mut word = device.word.lock().unwrap_or_else(PoisonError::into_inner);
        let value = word.read(self.address(slice), slice.bytes as usize, device.stream.cu_stream());
        value.map(decide).map_err(|e| run_error("reading a condition", e))
    }

    /// Executes launches and copies on the streams that `places` states.
    fn run_on_streams(&mut self, thunks: &[Thunk], places: &[Place]) -> Result<(), RunError> {
        let failed = |e| run_error("using streams", e);
        let mut streams = self.program.device.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let division = streams.divided(places).map_err(failed)?;
        division.begin().map_err(failed)?;
        for (number, step) in thunks.iter().filter_map(DeviceStep::of).enumerate() {
            let stream = division.before(number).map_err(failed)?;
            self.start(&step, stream)?;
            division.after(number).map_err(failed)?;
        }
        division.end().map_err(failed)
    }

    /// Starts a launch or a copy on a stream.
    fn start(&self, step: &DeviceStep, stream: CUstream) -> Result<(), RunError> {
        match *step {
            DeviceStep::Launch { kernel, arguments } => self.launch_on(stream, kernel, arguments),
            DeviceStep::Copy { from, to } => self.copy_on(stream, from, to),
        }
    }

    fn launch_on(&self, stream: CUstream, kernel: u32, arguments: &[Slice]) -> Result<(), RunError> {
        let function = &self.program.kernels[kernel as usize];
        let image = &function.image;
        let mut addresses: Vec<CUdeviceptr> = arguments.iter().map(|s| self.address(s)).collect();
        let mut parameters = pointers(&mut addresses);
        let blocks = function.blocks()?;
        if blocks == 0 {
            return Ok(());
        }
        // SAFETY: the arguments are the buffers that the compiler has assigned, in the order of the
        // kernel's parameters. The buffers live as long as the execution, which waits for its
        // kernels. Shared memory is static, so the launch requests none.
        unsafe {
            result::launch_kernel(
                function.handle,
                (blocks, 1, 1),
                (image.threads_per_block, 1, 1),
                0,
                stream,
                &mut parameters,
            )
        }
        .map_err(|e| run_error(&format!("launching kernel {}", image.symbol), e))
    }

    fn copy_on(&self, stream: CUstream, from: &Slice, to: &Slice) -> Result<(), RunError> {
        let (source, target) = (self.address(from), self.address(to));
        // SAFETY: both slices lie in their allocations, have equal sizes and do not overlap
        // (checked at load).
        unsafe { result::memcpy_dtod_async(target, source, from.bytes as usize, stream) }
            .map_err(|e| run_error("copying on the GPU", e))
    }

    /// Copies the bytes of a slice to new host memory, which has the alignment that routines need.
    fn fetched(&self, slice: &Slice) -> Result<HostMemory, RunError> {
        let mut bytes = buffer(slice)?;
        let device = &self.program.device;
        device.read(&device.stream, self.address(slice), bytes.as_mut_slice())?;
        Ok(bytes)
    }
}

impl Machine for GpuRun<'_> {
    /// Executes thunks and waits for their end. Returns the elapsed time, measured by the GPU.
    fn execute(&mut self, thunks: &[Thunk]) -> Result<Duration, RunError> {
        let device = &self.program.device;
        device.context.bind_to_thread().map_err(|e| run_error("using the GPU", e))?;
        device.timed(|| self.run(thunks))
    }

    fn execute_untimed(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        let device = &self.program.device;
        device.context.bind_to_thread().map_err(|e| run_error("using the GPU", e))?;
        let done = self.run(thunks);
        device.finish(done)
    }

    fn run(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        let program = self.program;
        let chunks = thunks.chunk_by(|one, next| program.is_node(one) && program.is_node(next));
        chunks.flat_map(|chunk| chunk.chunks(MOST_NODES)).try_for_each(|chunk| match chunk {
            [thunk] if !program.is_node(thunk) => self.run_alone(thunk),
            chunk => self.run_sequence(chunk),
        })
    }

    fn launch(&mut self, kernel: u32, arguments: &[Slice]) -> Result<(), RunError> {
        self.launch_on(self.program.device.stream.cu_stream(), kernel, arguments)
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), RunError> {
        self.copy_on(self.program.device.stream.cu_stream(), from, to)
    }

    fn read(&self, slice: &Slice) -> Result<Cow<'_, [u8]>, RunError> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(slice.bytes as usize).map_err(|_| RunError::Memory { bytes: slice.bytes })?;
        bytes.resize(slice.bytes as usize, 0);
        let device = &self.program.device;
        device.read(&device.stream, self.address(slice), &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    fn write(&mut self, slice: &Slice, bytes: &[u8]) -> Result<(), RunError> {
        let device = &self.program.device;
        device.write(&device.stream, self.address(slice), bytes)
    }

    fn host_op(&mut self, op: u32, arguments: &[Slice], results: &[Slice]) -> Result<(), RunError> {
        let program = self.program;
        if let (Some(product), [left, right], [to]) = (&program.products[op as usize], arguments, results) {
            return product.run(&program.device, [self.address(left), self.address(right)], self.address(to));
        }
        let inputs = arguments.iter().map(|slice| self.fetched(slice)).collect::<Result<Vec<_>, _>>()?;
        let inputs: Vec<&[u8]> = inputs.iter().map(HostMemory::as_slice).collect();
        let mut outputs = results.iter().map(buffer).collect::<Result<Vec<_>, _>>()?;
        let mut written: Vec<&mut [u8]> = outputs.iter_mut().map(HostMemory::as_mut_slice).collect();
        let context = Context { workers: &CallingThread, generator: self.frame.generator(), collectives: None };
        program.host_ops[op as usize].execute(&inputs, &mut written, &context)?;
        results.iter().zip(&outputs).try_for_each(|(slice, output)| self.write(slice, output.as_slice()))
    }
}

/// Whether a thunk is a loop or a branch.
fn is_control(thunk: &Thunk) -> bool {
    matches!(thunk, Thunk::While { .. } | Thunk::Conditional { .. })
}

/// Loads a cuBLASLt product for each host operation that is a matrix product. Omits products
/// without elements and products with a contracted dimension of size 0, because the host executes
/// these products.
fn products(device: &Gpu, ops: &[LoadedHostOp]) -> Result<Vec<Option<LoadedProduct>>, LoadError> {
    let all: Vec<Option<&Product>> = ops.iter().map(|op| op.product().filter(|product| !product.is_empty())).collect();
    if all.iter().all(Option::is_none) {
        return Ok(all.into_iter().map(|_| None).collect());
    }
    let library = CublasLibrary::open(device)?;
    let load = |product: Option<&Product>| product.map(|product| LoadedProduct::load(&library, product.clone()));
    all.into_iter().map(|product| load(product).transpose()).collect()
}

/// Allocates host memory with the size of a slice.
fn buffer(slice: &Slice) -> Result<HostMemory, RunError> {
    let bytes = usize::try_from(slice.bytes).ok();
    bytes.and_then(HostMemory::zeroed).ok_or(RunError::Memory { bytes: slice.bytes })
}

/// Checks that the code was compiled for this GPU or an older GPU. Code for an older GPU can run.
fn check_capability(wanted: u32, card: u32) -> Result<(), LoadError> {
    if wanted <= card {
        return Ok(());
    }
    Err(LoadError::Device(format!(
        "the executable is for sm_{wanted}, this GPU is sm_{card}: compile for --target sm_{card} or older"
    )))
}

/// Loads code on the GPU. Also returns the driver's reasons for refusing machine code that should
/// run on this GPU.
fn module(device: &Gpu, code: &CodeImage, capability: u32) -> Result<(Arc<LoadedModule>, Vec<String>), LoadError> {
    match code {
        CodeImage::Ptx { text, cubins } => {
            let cubins = cubins.iter().filter(|cubin| cubin.runs_on(capability));
            let (module, refusals) = LoadedModule::load_first(&device.context, cubins, text)?;
            Ok((Arc::new(module), refusals))
        }
        CodeImage::Object { .. } => Err(LoadError::Object("code of a GPU program is no PTX".into())),
    }
}
