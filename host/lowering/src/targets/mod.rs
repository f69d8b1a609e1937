//! Targets. Each family of targets has a separate file. The file of a family describes each target
//! of the family by a [`TargetInfo`]. The file `mod.rs` lists the families.

mod amdgpu;
mod cpu;
mod lowering;
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
use crate::optimize::Passes;

pub use lowering::Lowering;

/// All targets, by family.
const FAMILIES: [Family; 4] = [cpu::FAMILY, simt::FAMILY, nvptx::FAMILY, amdgpu::FAMILY];

/// Targets that one file describes, for example targets whose names differ only in a number.
struct Family {
    /// Names of the targets, for messages.
    names: &'static str,
    /// Returns the target with this name.
    named: fn(&str) -> Option<TargetInfo>,
}

/// The machine to compile for.
#[derive(Clone, Debug)]
pub struct Target(Arc<TargetInfo>);

/// Executor of a target's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// This processor.
    Cpu,
    /// The simulator of a GPU on this processor.
    Simulator,
    /// NVIDIA GPUs with at least this compute capability. 90 stands for capability 9.0.
    Cuda(u32),
}

impl Target {
    /// Returns this machine's processor as a target.
    pub fn cpu() -> Target {
        Target(Arc::new(cpu::info()))
    }

    /// Returns the simulator as a target. Kernels for the simulator have the form of GPU kernels,
    /// but lowering compiles them to code for this processor. The compiled code calls the
    /// simulator.
    pub fn simt() -> Target {
        Target(Arc::new(simt::info()))
    }

    /// Returns NVIDIA's GPUs of a compute capability (80, 90) as a target.
    pub fn nvptx(capability: u32) -> Target {
        Target(Arc::new(nvptx::info(capability)))
    }

    /// Returns the target with this name, which is one of [`Target::names`].
    pub fn named(name: &str) -> Option<Target> {
        FAMILIES.iter().find_map(|family| (family.named)(name)).map(|info| Target(Arc::new(info)))
    }

    /// Returns the names of targets, for messages.
    pub fn names() -> Vec<&'static str> {
        FAMILIES.iter().map(|family| family.names).collect()
    }

    /// Sets the version of PTX, as two or three digits (`83`), instead of LLVM's choice. Has no
    /// effect on targets without PTX.
    pub fn with_ptx_version(self, version: u32) -> Target {
        Target(Arc::new(nvptx::in_version(Arc::unwrap_or_clone(self.0), version)))
    }

    /// Sets the lowering of the kernels.
    pub fn with_lowering(self, lowering: Lowering) -> Target {
        Target(Arc::new(TargetInfo { lowering, ..Arc::unwrap_or_clone(self.0) }))
    }

    /// Returns the lowering of the kernels.
    pub fn lowering(&self) -> Lowering {
        self.0.lowering
    }

    /// Returns a text with everything that generated code depends on, except the kernels and this
    /// build of fusebox. The text has the target, LLVM's version, and this machine's processor if
    /// the code is for this machine.
    pub fn identity(&self) -> String {
        let Backend { triple, processor, features, without, .. } = &self.0.backend;
        let ptx = self.0.ptx.as_ref().and_then(|ptx| ptx.version);
        let machine = match triple {
            None => llvm::host_identity(without),
            Some(triple) => format!("{triple} {processor} {features}"),
        };
        format!("{self} {ptx:?} {} LLVM {} {machine}", self.0.lowering.name(), llvm::version())
    }

    /// Returns LLVM's names of the instruction sets that the target's code may use. Omits
    /// instruction sets that every processor of the architecture has. Also omits tile registers,
    /// because each kernel states whether it uses tile registers. Returns an empty list if the code
    /// is not for this machine.
    pub fn instruction_sets(&self) -> Vec<&'static str> {
        let Backend { triple, without, .. } = self.0.backend;
        if triple.is_none() { llvm::host_instruction_sets(without) } else { Vec::new() }
    }

    /// Returns the description of a typical machine of the target. Callers use this description if
    /// they have no description of a real machine.
    pub fn device(&self) -> &DeviceDescription {
        &self.0.device
    }

    /// Returns the description of `machine` without the features that the target excludes.
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

    /// Returns the maximum number of buffers of a kernel, operands plus results.
    pub fn most_buffers(&self) -> usize {
        self.0.ptx.as_ref().map_or(usize::MAX, nvptx::Ptx::most_buffers)
    }

    /// Returns the element types that tile registers can multiply.
    pub fn tile_products(&self) -> NarrowProducts {
        self.0.tile_products
    }

    /// Returns the element types for which vector registers can multiply words of adjacent
    /// elements.
    pub fn word_products(&self) -> NarrowProducts {
        self.0.word_products
    }

    /// Returns the executor of the target's code. `None` if fusebox cannot run the code and only
    /// compiles to assembly.
    pub fn runner(&self) -> Option<Runner> {
        self.0.runner
    }

    /// Whether the target's code is PTX.
    pub fn writes_ptx(&self) -> bool {
        self.0.ptx.is_some()
    }

    /// Returns the alignment of every buffer in bytes.
    pub fn buffer_alignment(&self) -> u64 {
        self.0.buffer_alignment
    }

    /// Whether the generated code states the source locations of its instructions.
    pub fn states_origins(&self) -> bool {
        self.0.states_origins
    }

    /// Whether composites can be compiled as functions.
    pub fn takes_composites(&self) -> bool {
        self.0.is_cpu()
    }

    /// Whether a program's kernels can be compiled in several batches.
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

/// All properties of a target that affect lowering.
#[derive(Clone, Debug)]
pub(crate) struct TargetInfo {
    /// A typical machine of the target. The name of this machine is the target's name that users
    /// write.
    pub(crate) device: DeviceDescription,
    pub(crate) runner: Option<Runner>,
    /// The code that turns kernels into LLVM IR.
    pub(crate) lowering: Lowering,
    pub(crate) form: Form,
    pub(crate) backend: Backend,
    /// Properties of PTX, if the target's code is PTX.
    pub(crate) ptx: Option<nvptx::Ptx>,
    /// Properties of GPU kernels in LLVM, `None` for other targets.
    pub(crate) gpu: Option<GpuCode>,
    /// LLVM's passes.
    pub(crate) passes: Passes,
    /// Alignment of buffers in bytes.
    pub(crate) buffer_alignment: u64,
    /// Whether several modules can be loaded as one program.
    pub(crate) several_modules: bool,
    /// Width, in bits, of the integers that represent an index if the range of the index fits 32
    /// bits.
    pub(crate) index_bits: u32,
    /// Whether the generated code states the source locations of its instructions.
    pub(crate) states_origins: bool,
    /// Whether every memory access is reported to the simulator.
    pub(crate) reports_accesses: bool,
    /// Whether loads from read-only buffers are marked, so that they may use the read-only cache.
    pub(crate) marks_invariant_loads: bool,
    /// LLVM's number of the address space of buffers.
    pub(crate) global_space: u32,
    /// LLVM's number of the address space that a block's threads share.
    pub(crate) shared_space: u32,
    /// Alignment of tiles in bytes. The widest access to a tile needs this alignment.
    pub(crate) tile_alignment: u32,
    /// Whether the target has instructions that convert between f16 and f32.
    pub(crate) converts_f16: bool,
    /// Whether the target has an instruction that converts f32 to bf16 with rounding to nearest
    /// even.
    pub(crate) converts_bf16: bool,
    /// Whether arithmetic on numbers that are not NaN produces only NaNs with zeros in the lower
    /// half of their bits.
    pub(crate) makes_short_nans: bool,
    /// Element types that tile registers can multiply.
    pub(crate) tile_products: NarrowProducts,
    /// Element types for which vector registers of 64 bytes can multiply words of adjacent
    /// elements.
    pub(crate) word_products: NarrowProducts,
    /// Abilities of the target that math functions use.
    pub(crate) math: Abilities,
    /// Maximum number of copies of a loop's body that result from unrolling the loop and the loops
    /// around it. Unrolling short inner loops pays if an outer loop can then be vectorised. On
    /// GPUs, copies of branches take registers and gain little.
    pub(crate) most_copies: i64,
    /// Maximum number of operations that result from unrolling a loop that contains other loops.
    /// Beyond this number, unrolling makes the code longer but not faster.
    pub(crate) most_nested: i64,
    /// Maximum number of copies of a long loop that result from unrolling the loops around it. LLVM
    /// turns each copy of the long loop into a vector loop and remainder loops.
    pub(crate) most_long_loops: i64,
    /// Maximum number of indirect reads in a loop that LLVM may vectorise. The address of an
    /// indirect read depends on another read. On processors without fast gathers, LLVM vectorises
    /// an indirect read as loads and inserts of single elements. Without fast gathers, a vectorised
    /// loop with many indirect reads takes long to compile and runs no faster than scalar code.
    pub(crate) most_gathers: usize,
    /// Maximum number of operations that a kernel may have in all extra inlined copies of math
    /// functions together. Beyond this number, the kernel calls its math functions. `None` if calls
    /// always cost more than inlined copies.
    pub(crate) most_copied_math: Option<usize>,
    /// Number of threads of a warp. The threads of a warp can exchange values directly.
    pub(crate) warp: u32,
    pub(crate) atomics: Atomics,
    /// Whether loops that are too long for full unrolling keep one copy of the body. If not, LLVM's
    /// passes decide how many copies to make.
    pub(crate) keeps_long_loops: bool,
    /// Whether loops are split so that conditions on their variables are known in each part.
    pub(crate) splits_loops: bool,
}

/// Form of a kernel as an LLVM function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One call runs several blocks, one after the other.
    Blocks,
    /// One call runs one thread of the simulator.
    Thread,
    /// A GPU kernel, which reads the ids of its block and thread from registers.
    Kernel,
}

/// Checks assembly and wraps it as code.
pub(crate) type Assembled = fn(&TargetInfo, String) -> Result<Code, LoweringError>;

/// Settings of LLVM's code generator.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    /// Checks the settings. LLVM itself would only warn about wrong settings and use other
    /// settings.
    pub(crate) check: fn(&TargetInfo) -> Result<(), String>,
    /// Converts LLVM's output to code, if the output is assembly. `None` if the output is an
    /// object.
    pub(crate) assembled: Option<Assembled>,
    /// Registers the back end with LLVM.
    pub(crate) initialize: fn(),
    /// LLVM's target triple, or `None` for this machine.
    pub(crate) triple: Option<&'static str>,
    pub(crate) processor: String,
    pub(crate) features: String,
    /// Prefixes of feature names in LLVM's notation. Code for the target uses no feature of this
    /// machine whose name has one of these prefixes.
    pub(crate) without: &'static [&'static str],
}

/// Writes a product of matrices. Takes the words of both matrices, and also the sums; returns the
/// new sums.
pub(crate) type WrittenProduct = fn(&Module, MatrixProduct, &[Val]) -> Vec<Val>;

/// Code for products of tiles in shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileCode {
    /// Writes an operation by which a thread makes its stores visible to the products of tiles that
    /// come after the next barrier.
    pub(crate) ready: fn(&Module),
    /// Writes a product. Takes the addresses of two tiles, and also the sums; returns the new sums.
    pub(crate) product: fn(&Module, &TileProduct, [Val; 2], &[Val]) -> Vec<Val>,
}

/// A product of tiles in shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileProduct {
    pub(crate) element: Float,
    pub(crate) columns: i64,
    pub(crate) steps: i64,
    /// For each operand, the distance in bytes between squares that are adjacent along the
    /// contracted dimension. A square is a part of a tile, see `tiles.rs`.
    pub(crate) strides: [i64; 2],
    /// For each operand, whether elements along the contracted dimension are contiguous in memory.
    /// If not, elements along the other dimension are contiguous.
    pub(crate) along_steps: [bool; 2],
}

/// Properties of GPU kernels in LLVM that differ between targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuCode {
    /// LLVM's number of the calling convention.
    pub(crate) calling_convention: u32,
    /// Returns the attribute for the number of threads of a block.
    pub(crate) block_size: fn(u32) -> (&'static str, String),
    /// Attribute of kernels whose threads may use all registers of a core, because the core need
    /// not hold several blocks.
    pub(crate) many_registers: Option<(&'static str, &'static str)>,
    /// Intrinsics that return the ids of block and thread.
    pub(crate) block_id: &'static str,
    pub(crate) thread_id: &'static str,
    /// Writes a barrier for all threads of the block.
    pub(crate) barrier: fn(&Module),
    /// Writes the exchange of words of 32 bits between lanes. The third argument is a distance:
    /// each lane receives the word of the lane whose number is larger by this distance. The fourth
    /// argument is the number of lanes that exchange words.
    pub(crate) word_of_lane: fn(&Module, Val, i64, i64) -> Val,
    /// Writes a warp's product of matrices, if the target has one.
    pub(crate) matrix_product: Option<WrittenProduct>,
    /// Products of tiles in shared memory, if the target has them.
    pub(crate) tiles: Option<TileCode>,
}

/// Atomic instructions of the target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atomics {
    /// Maximum number of bytes of memory that one atomic instruction can replace.
    pub(crate) bytes: u32,
    /// Float formats for which the target has an atomic addition.
    pub(crate) adds: Vec<Float>,
    /// The target's names of the sync scopes of a block and of the grid.
    pub(crate) scopes: [&'static str; 2],
}

impl TargetInfo {
    pub(crate) fn is_cpu(&self) -> bool {
        self.form == Form::Blocks
    }

    pub(crate) fn is_gpu(&self) -> bool {
        self.form == Form::Kernel
    }

    /// Returns the target's name of the sync scope of the grid or of a block.
    pub(crate) fn threads_around(&self, grid: bool) -> &'static str {
        self.atomics.scopes[usize::from(grid)]
    }
}

/// Returns the common properties of GPUs. Each family sets at least its own `device`, `backend`,
/// `atomics` and `gpu`.
fn gpu() -> TargetInfo {
    TargetInfo {
        runner: None,
        form: Form::Kernel,
        passes: Passes::of_modules("default<O3>"),
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
