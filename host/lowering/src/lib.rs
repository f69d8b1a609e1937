//! Lowering from kernel IR (see ARCHITECTURE.md) to machine code.
//!
//! ```text
//! functions -> verify -> stages -> write -> LLVM -> object | PTX | assembly
//!                        inlined, memory, loops, indices, scalars
//! ```

#![deny(clippy::undocumented_unsafe_blocks)]

mod composite;
mod error;
mod indices;
mod launch;
mod llvm;
pub mod math;
mod mlir;
mod optimize;
mod pipeline;
mod stages;
mod symbols;
mod targets;
mod write;

use serde::{Deserialize, Serialize};

pub use composite::{Batch, Composite, Step};
pub use error::{Diagnostic, LoweringError};
pub use launch::read_kernel;
pub use mlir::{MlirPasses, check_with_mlir, generic_form};
pub use pipeline::{compile, compile_batch, dedicate, kernel_text, lower, parse, read, verify};
pub use targets::{Runner, Target};

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
    /// The entry function and its subgraph functions.
    pub functions: Vec<fusebox_core::ir::Function>,
    /// Parameters, then outputs.
    pub arguments: Vec<Argument>,
    /// The grid that the kernel is launched with. It bounds block and thread ids.
    pub launch: fusebox_core::emitter::LaunchDimensions,
    /// Shared memory of a block in bytes. The block's tiles must fit into it.
    pub shared_bytes: u32,
}

/// Result of a compilation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Code {
    /// A relocatable ELF object with one global function per kernel.
    Object {
        bytes: Vec<u8>,
        /// For the simulator: the operations that report accesses, by number.
        sites: Vec<String>,
    },
    /// PTX text with one entry per kernel.
    Ptx(String),
    Assembly(String),
}

/// A stage whose text is offered to [`Stages::stage`], in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Kernel IR as handed over.
    Kernel,
    /// Equal operations are merged, subgraph functions are inlined.
    Inlined,
    /// Tensors are pointers; every access has an address.
    Memory,
    /// Loops over indexing maps are nests of `scf.for`. Some are unrolled, and some are split where
    /// that decides conditions.
    Loops,
    /// Indices are integers.
    Indices,
    /// Narrow floats are integers, complex numbers are pairs of floats, math functions are calls.
    /// The next stage writes this form as LLVM IR.
    Scalars,
    /// LLVM IR as written.
    LlvmUnoptimized,
    /// LLVM IR after optimisation.
    Llvm,
    /// Assembly or PTX.
    Assembly,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 9] = [
        Stage::Kernel,
        Stage::Inlined,
        Stage::Memory,
        Stage::Loops,
        Stage::Indices,
        Stage::Scalars,
        Stage::LlvmUnoptimized,
        Stage::Llvm,
        Stage::Assembly,
    ];

    /// Returns the name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Kernel => "kernel",
            Stage::Inlined => "inlined",
            Stage::Memory => "memory",
            Stage::Loops => "loops",
            Stage::Indices => "indices",
            Stage::Scalars => "scalars",
            Stage::LlvmUnoptimized => "llvm-unoptimized",
            Stage::Llvm => "llvm",
            Stage::Assembly => "asm",
        }
    }
}

impl KernelSource {
    fn facts(&self) -> stages::Facts<'_> {
        stages::Facts {
            name: &self.entry,
            arguments: &self.arguments,
            blocks: self.launch.blocks,
            threads: self.launch.threads_per_block,
            shared_bytes: u64::from(self.shared_bytes),
        }
    }
}

/// A kernel between two stages.
#[derive(Debug)]
pub struct Rewritten<'k> {
    /// The stage that it has passed.
    pub stage: Stage,
    /// Name of the entry function.
    pub kernel: &'k str,
    /// The entry function first.
    pub functions: &'k mut Vec<fusebox_core::ir::Function>,
}

/// Receives the text of stages, and may change kernels between them.
pub trait Stages {
    /// Whether `stage` is wanted. Lowering prints the text only if it is.
    fn wants(&self, stage: Stage) -> bool;
    fn stage(&mut self, stage: Stage, text: &str);

    /// Whether to run LLVM's passes.
    fn optimises(&self) -> bool {
        true
    }

    /// Rewrites the kernel IR after a stage. The result is verified.
    ///
    /// # Errors
    /// If the rewrite fails; compilation ends.
    fn rewrite(&mut self, _: Rewritten<'_>) -> Result<(), LoweringError> {
        Ok(())
    }
}

/// A receiver that wants no stage.
pub struct NoStages;

impl Stages for NoStages {
    fn wants(&self, _: Stage) -> bool {
        false
    }

    fn stage(&mut self, _: Stage, _: &str) {}
}
