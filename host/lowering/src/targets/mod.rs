//! What distinguishes targets: one value for each, in a file of its own, and their list.

mod amdgpu;
mod cpu;
mod nvptx;
mod simt;
mod tiles;

use std::fmt;
use std::sync::Arc;

use fusebox_core::builder::Abilities;
use fusebox_core::device::{DeviceDescription, NarrowProducts};
use fusebox_core::ir::{Float, MatrixProduct};

use crate::Code;
use crate::error::LoweringError;
use crate::llvm::{self, Module, Val};

/// All targets there are, each as its file tells of it.
const FAMILIES: [Family; 4] = [cpu::FAMILY, simt::FAMILY, nvptx::FAMILY, amdgpu::FAMILY];

/// Targets that differ in a number only.
struct Family {
    /// Their names, for messages.
    names: &'static str,
    /// The target of a name.
    named: fn(&str) -> Option<TargetInfo>,
}

/// The machine to compile for.
#[derive(Clone, Debug)]
pub struct Target(Arc<TargetInfo>);

/// What executes a target's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// This processor.
    Cpu,
    /// This processor as a simulator of a GPU.
    Simulator,
    /// NVIDIA GPUs from this compute capability on, 90 for 9.0.
    Cuda(u32),
}

impl Target {
    /// The processor this runs on.
    pub fn cpu() -> Target {
        Target(Arc::new(cpu::info()))
    }

    /// The GPU form of kernels, as code for this processor that calls the simulator.
    pub fn simt() -> Target {
        Target(Arc::new(simt::info()))
    }

    /// NVIDIA's GPUs of a compute capability (80, 90).
    pub fn nvptx(capability: u32) -> Target {
        Target(Arc::new(nvptx::info(capability)))
    }

    /// The target of a name: one of [`Target::names`].
    pub fn named(name: &str) -> Option<Target> {
        FAMILIES.iter().find_map(|family| (family.named)(name)).map(|info| Target(Arc::new(info)))
    }

    /// Names of targets, for messages.
    pub fn names() -> Vec<&'static str> {
        FAMILIES.iter().map(|family| family.names).collect()
    }

    /// The same with code in this version of PTX, as two or three digits (`83`), instead of LLVM's choice. It means
    /// nothing to targets without PTX.
    pub fn with_ptx_version(self, version: u32) -> Target {
        Target(Arc::new(nvptx::in_version(Arc::unwrap_or_clone(self.0), version)))
    }

    /// All that code depends on besides the kernels and this build of fusebox: the target, LLVM, and the processor of the machine
    /// where that is compiled for.
    pub fn identity(&self) -> String {
        let Backend { triple, processor, features, without, .. } = &self.0.backend;
        let ptx = self.0.ptx.as_ref().and_then(|ptx| ptx.version);
        let machine = match triple {
            None => llvm::host_identity(without),
            Some(triple) => format!("{triple} {processor} {features}"),
        };
        format!("{self} {ptx:?} LLVM {} {machine}", llvm::version())
    }

    /// Instruction sets that its code may use and that not every processor of the architecture has, by LLVM's names; none where code is
    /// not for the machine this runs on. Tile registers are not among them: a kernel says itself whether it uses those.
    pub fn instruction_sets(&self) -> Vec<&'static str> {
        let Backend { triple, without, .. } = self.0.backend;
        if triple.is_none() { llvm::host_instruction_sets(without) } else { Vec::new() }
    }

    /// A usual machine of the target, for where none can be asked.
    pub fn device(&self) -> &DeviceDescription {
        &self.0.device
    }

    /// This machine without what the target leaves out of it.
    pub fn described(&self, machine: DeviceDescription) -> DeviceDescription {
        let TargetInfo { device, tile_products, word_products, .. } = &*self.0;
        let is_narrow = !self.0.backend.without.is_empty() && machine.register_bytes > device.register_bytes;
        let (register_bytes, registers) = if is_narrow {
            (device.register_bytes, device.registers)
        } else {
            (machine.register_bytes, machine.registers)
        };
        DeviceDescription {
            register_bytes,
            registers,
            tile_products: machine.tile_products.and(*tile_products),
            word_products: machine.word_products.and(*word_products),
            ..machine
        }
    }

    /// Buffers that a kernel may have, operands and results together.
    pub fn most_buffers(&self) -> usize {
        self.0.ptx.as_ref().map_or(usize::MAX, nvptx::Ptx::most_buffers)
    }

    /// What it multiplies in tile registers.
    pub fn tile_products(&self) -> NarrowProducts {
        self.0.tile_products
    }

    /// What it multiplies in vector registers, words at a time.
    pub fn word_products(&self) -> NarrowProducts {
        self.0.word_products
    }

    /// What executes its code; `None` if nothing here does, and it compiles to assembly only.
    pub fn runner(&self) -> Option<Runner> {
        self.0.runner
    }

    /// Whether its code is PTX.
    pub fn writes_ptx(&self) -> bool {
        self.0.ptx.is_some()
    }

    /// Alignment of every buffer in bytes.
    pub fn buffer_alignment(&self) -> u64 {
        self.0.buffer_alignment
    }

    /// Whether loops of kernels may be compiled as functions.
    pub fn takes_composites(&self) -> bool {
        self.0.is_cpu()
    }

    /// Whether a program's kernels may be compiled in several batches.
    pub fn takes_several_modules(&self) -> bool {
        self.0.several_modules
    }

    pub(crate) fn info(&self) -> &TargetInfo {
        &self.0
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.device.name)
    }
}

/// Everything about a target that decides how kernels are lowered.
#[derive(Clone, Debug)]
pub(crate) struct TargetInfo {
    /// Of the name that users say.
    pub(crate) device: DeviceDescription,
    pub(crate) runner: Option<Runner>,
    pub(crate) form: Form,
    pub(crate) backend: Backend,
    /// Where it is code in PTX.
    pub(crate) ptx: Option<nvptx::Ptx>,
    /// What kernels of a GPU are made with.
    pub(crate) gpu: Option<GpuCode>,
    /// LLVM's passes, in its notation.
    pub(crate) passes: String,
    /// Alignment of buffers in bytes.
    pub(crate) buffer_alignment: u64,
    /// Whether several modules can be loaded as one program.
    pub(crate) several_modules: bool,
    /// Bits of an index where 32 would do.
    pub(crate) index_bits: u32,
    /// Whether every memory access is reported to the simulator.
    pub(crate) reports_accesses: bool,
    /// Whether loads from read-only buffers are marked, so that they may go through the read-only cache.
    pub(crate) marks_invariant_loads: bool,
    /// LLVM's number of the address space of buffers.
    pub(crate) global_space: u32,
    /// LLVM's number of the address space that a block's threads share.
    pub(crate) shared_space: u32,
    /// Alignment of tiles in bytes: that of the widest access.
    pub(crate) tile_alignment: u32,
    /// Whether conversions between f16 and f32 are instructions.
    pub(crate) converts_f16: bool,
    /// Whether conversions from f32 to bf16 are instructions that round to nearest even.
    pub(crate) converts_bf16: bool,
    /// Whether the NaN that arithmetic makes of numbers has zeros in the lower half of its bits.
    pub(crate) makes_short_nans: bool,
    /// What it multiplies in tile registers.
    pub(crate) tile_products: NarrowProducts,
    /// What it multiplies in vector registers of 64 bytes, words at a time.
    pub(crate) word_products: NarrowProducts,
    /// What its math functions may count on.
    pub(crate) math: Abilities,
    /// Most copies of a body that unrolling the loops around it makes. Short loops in the way of one that can be
    /// vectorised are worth it; where threads do that, copies of branches take registers and gain little.
    pub(crate) most_copies: i64,
    /// Most operations that unrolling a loop around other loops may leave: beyond it, all that is gained is code.
    pub(crate) most_nested: i64,
    /// Most copies of a loop of more turns that unrolling the loops around it may make. Of each LLVM makes a loop over vectors and others
    /// for what remains.
    pub(crate) most_long_loops: i64,
    /// Most reads at places that were read before, in a loop that is made vectors of. Where a
    /// processor has no fast gathers, each is taken apart into reads and inserts of single
    /// elements: many of them take long to compile and no less time than single elements.
    pub(crate) most_gathers: usize,
    /// Most operations that all but the first copies of math functions in a kernel have together; beyond it they are called. `None`
    /// where calls cost more than code.
    pub(crate) most_copied_math: Option<usize>,
    /// Threads that exchange values directly.
    pub(crate) warp: u32,
    pub(crate) atomics: Atomics,
    /// Whether loops too long to be unrolled as a whole are kept as one body, or left to LLVM's passes.
    pub(crate) keeps_long_loops: bool,
    /// Whether loops are written in parts where that decides conditions on their variables.
    pub(crate) splits_loops: bool,
}

/// How a kernel becomes a function of LLVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One call runs several blocks, one after the other.
    Blocks,
    /// One call is one thread of the simulator.
    Thread,
    /// A kernel of a GPU, which knows its own block and thread.
    Kernel,
}

/// Checks assembly and says what code it is.
pub(crate) type Assembled = fn(&TargetInfo, String) -> Result<Code, LoweringError>;

/// What LLVM generates code with.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    /// What is wrong with what is asked of LLVM, which would only warn and take something else.
    pub(crate) check: fn(&TargetInfo) -> Result<(), String>,
    /// Code of what LLVM wrote, if that is assembly and not an object.
    pub(crate) assembled: Option<Assembled>,
    /// Makes the back end known to LLVM.
    pub(crate) initialize: fn(),
    /// `None` for the machine this runs on.
    pub(crate) triple: Option<&'static str>,
    pub(crate) processor: String,
    pub(crate) features: String,
    /// Features of this machine are left out if LLVM's names of them begin with one of these.
    pub(crate) without: &'static [&'static str],
}

/// Writes a product of matrices: of words and sums it makes sums.
pub(crate) type WrittenProduct = fn(&Module, MatrixProduct, &[Val]) -> Vec<Val>;

/// How tiles of shared memory are multiplied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileCode {
    /// Has what this thread wrote ready for products after the next barrier.
    pub(crate) ready: fn(&Module),
    /// Of places and sums it makes sums.
    pub(crate) product: fn(&Module, &TileProduct, [Val; 2], &[Val]) -> Vec<Val>,
}

/// A product of tiles in shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileProduct {
    pub(crate) element: Float,
    pub(crate) columns: i64,
    pub(crate) steps: i64,
    /// Bytes from squares of steps to the next ones.
    pub(crate) strides: [i64; 2],
    /// Whether steps lie side by side; else lines do.
    pub(crate) along_steps: [bool; 2],
}

/// What differs between the kernels of GPUs in LLVM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuCode {
    /// LLVM's number.
    pub(crate) calling_convention: u32,
    /// The attribute that says how many threads a block has.
    pub(crate) block_size: fn(u32) -> (&'static str, String),
    /// The attribute of kernels of which a core need not hold several blocks: threads may have all registers.
    pub(crate) many_registers: Option<(&'static str, &'static str)>,
    /// The intrinsics that give the ids of block and thread.
    pub(crate) block_id: &'static str,
    pub(crate) thread_id: &'static str,
    /// Waits for all threads of the block.
    pub(crate) barrier: fn(&Module),
    /// A word of 32 bits of the lane so far above this one, where so many lanes take part.
    pub(crate) word_of_lane: fn(&Module, Val, i64, i64) -> Val,
    /// A warp's product of matrices, of words and sums, where the target has one.
    pub(crate) matrix_product: Option<WrittenProduct>,
    /// Products of tiles in shared memory, where the target has them.
    pub(crate) tiles: Option<TileCode>,
}

/// What the target does to memory in one instruction that no other thread interrupts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atomics {
    /// Most bytes that are replaced in one piece.
    pub(crate) bytes: u32,
    /// Formats of which a sum is one instruction.
    pub(crate) adds: Vec<Float>,
    /// What the target calls the threads of a block, and of the grid.
    pub(crate) scopes: [&'static str; 2],
}

impl TargetInfo {
    pub(crate) fn is_cpu(&self) -> bool {
        self.form == Form::Blocks
    }

    pub(crate) fn is_gpu(&self) -> bool {
        self.form == Form::Kernel
    }

    /// What the target calls the threads that may update memory: those of the grid, or of a block.
    pub(crate) fn threads_around(&self, grid: bool) -> &'static str {
        self.atomics.scopes[usize::from(grid)]
    }
}

/// What GPUs have in common; `form` and `backend` are each one's own.
fn gpu() -> TargetInfo {
    TargetInfo {
        runner: None,
        form: Form::Kernel,
        passes: "default<O3>".into(),
        buffer_alignment: 256,
        several_modules: false,
        index_bits: 32,
        marks_invariant_loads: true,
        global_space: 1,
        shared_space: 3,
        tile_alignment: 16,
        converts_f16: true,
        makes_short_nans: false,
        tile_products: NarrowProducts::default(),
        word_products: NarrowProducts::default(),
        math: Abilities { fma: true, branches: false, flushes: false },
        most_copies: 8,
        most_nested: 512,
        most_long_loops: i64::MAX,
        most_gathers: usize::MAX,
        most_copied_math: None,
        warp: 32,
        keeps_long_loops: true,
        splits_loops: false,
        ..cpu::info()
    }
}
