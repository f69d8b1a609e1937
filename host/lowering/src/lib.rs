//! From kernel IR (see ARCHITECTURE.md) to machine code.
//!
//! ```text
//! textual MLIR -> parse, verify -> inline -> simplify indices -> loops -> tensors to pointers -> LLVM -> object | PTX
//! ```

pub mod math;

/// The machine to compile for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The processor this runs on.
    Cpu,
    /// The GPU form of the kernel, as code for this processor that calls the simulator.
    Simt,
    /// NVIDIA: compute capability (80, 90), PTX version as two or three digits (`83`), `None` for LLVM's choice.
    Nvptx { capability: u32, ptx_version: Option<u32> },
    /// AMD: `gfx942` … Compiles to assembly only.
    Amdgpu { processor: String },
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Size of the buffer in bytes.
    pub bytes: u64,
    /// Guaranteed alignment in bytes.
    pub alignment: u32,
    /// Whether the kernel never writes it.
    pub read_only: bool,
    /// Whether no other argument overlaps it.
    pub no_alias: bool,
}

/// One kernel to compile.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSource {
    /// Name of the entry function.
    pub entry: String,
    /// The entry function and its subgraph functions: `func.func` operations one after the other.
    pub functions: String,
    /// Parameters, then outputs.
    pub arguments: Vec<Argument>,
    /// The grid the kernel will be launched with; ids are within it.
    pub launch: fusebox_core::emitter::LaunchDimensions,
}

/// Result of a compilation.
#[derive(Clone, Debug, PartialEq)]
pub enum Code {
    /// A relocatable ELF object with one global function per kernel.
    Object(Vec<u8>),
    /// PTX text with one entry per kernel.
    Ptx(String),
    /// Assembly text.
    Assembly(String),
}

/// A stage whose text is offered to [`Stages::stage`], in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// As handed over.
    Mlir,
    /// After fusebox's own lowering, before conversion to the LLVM dialect.
    MlirLowered,
    /// LLVM IR after optimisation.
    Llvm,
    /// Assembly or PTX.
    Assembly,
}

/// Receives the text of stages.
pub trait Stages {
    /// Whether `stage` is wanted; text is made only if so.
    fn wants(&self, stage: Stage) -> bool;
    /// Takes the text.
    fn stage(&mut self, stage: Stage, text: &str);
}
