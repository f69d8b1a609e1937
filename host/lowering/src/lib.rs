//! Lowering from kernel IR (see ARCHITECTURE.md) to machine code.
//!
//! ```text
//! functions -> verify -> stages -> write ----> LLVM -> object | PTX | assembly
//!                          |       upstream _/
//!                        inlined, memory, loops, indices, scalars
//! ```

#![deny(clippy::undocumented_unsafe_blocks)]

mod batch;
mod composite;
mod error;
mod hints;
mod indices;
mod launch;
mod llvm;
pub mod math;
mod math_lanes;
mod math_versions;
mod mlir;
mod optimize;
mod pipeline;
mod stages;
mod symbols;
mod targets;
mod upstream;
mod verify;
mod weight;
mod word_products;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use composite::{Batch, Composite, Step};
pub use error::{Diagnostic, LoweringError};
pub use launch::read_kernel;
pub use mlir::{MlirPasses, check_with_mlir, generic_form};
pub use pipeline::{StagedBatch, StagedKernel, compile, compile_batch, compile_staged, dedicate, kernel_text, lower};
pub use targets::{Lowering, Runner, Target};
pub use verify::{parse, read, verify};

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Size of the buffer in bytes.
    pub bytes: u64,
    /// Guaranteed alignment in bytes.
    pub alignment: u32,
    /// Whether the kernel never writes to the buffer.
    pub read_only: bool,
    /// Whether the buffer overlaps no buffer of another argument.
    pub no_alias: bool,
}

/// One kernel to compile.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSource {
    /// Name of the entry function.
    pub entry: String,
    /// The entry function and its subgraph functions.
    pub functions: Vec<fusebox_core::ir::Function>,
    /// The kernel's arguments: first the parameters, then the outputs.
    pub arguments: Vec<Argument>,
    /// The grid that the kernel is launched with. The grid bounds the ids of blocks and threads.
    pub launch: fusebox_core::emitter::LaunchDimensions,
    /// Shared memory of a block in bytes. The block's tiles must fit into this memory.
    pub shared_bytes: u32,
    /// Lines of the user's program from which the HLO instructions come. Code for NVIDIA's GPUs
    /// states these source lines.
    pub origins: Origins,
}

/// The lines of the user's program from which HLO instructions come. The key is the name of an
/// instruction, without `%`.
pub type Origins = Arc<BTreeMap<String, Origin>>;

/// A line of the user's program: a line of the Python program if that line is known, else a line of
/// the HLO text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Name of the file.
    pub file: String,
    /// Number of the line; the first is 1.
    pub line: u32,
}

/// Result of a compilation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Code {
    /// A relocatable ELF object with one global function per kernel.
    Object {
        bytes: Vec<u8>,
        /// Descriptions of the operations that report to the simulator. A report states its
        /// operation by the operation's number in this list.
        sites: Vec<String>,
    },
    /// PTX text with one entry per kernel.
    Ptx(String),
    Assembly(String),
}

/// A stage of lowering. [`Stages::stage`] receives the text of each kernel after each stage of
/// kernel IR, in this order, and then the texts of the module that contains the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Kernel IR as the caller passes it.
    Kernel,
    /// Equal operations are merged, subgraph functions are inlined.
    Inlined,
    /// Tensors are pointers; every access has an address.
    Memory,
    /// Loops over indexing maps are nests of `scf.for`. Some of these loops are unrolled. Some
    /// loops are split into parts, so that a condition has the same outcome in all iterations of a
    /// part.
    Loops,
    /// Indices are integers.
    Indices,
    /// Narrow floats are integers, complex numbers are pairs of floats, math functions are calls.
    /// The next stage writes kernel IR of this form as LLVM IR.
    Scalars,
    /// MLIR's dialect `llvm`. Only the lowering [`Lowering::Mlir`] has the stage `LlvmDialect`.
    LlvmDialect,
    /// LLVM IR before optimisation.
    LlvmUnoptimized,
    /// LLVM IR after optimisation.
    Llvm,
    /// Assembly or PTX.
    Assembly,
}

impl Stage {
    /// The stages whose result is kernel IR, in order.
    pub const OF_KERNEL_IR: [Stage; 6] =
        [Stage::Kernel, Stage::Inlined, Stage::Memory, Stage::Loops, Stage::Indices, Stage::Scalars];

    /// All stages, in order.
    pub const ALL: [Stage; 10] = [
        Stage::Kernel,
        Stage::Inlined,
        Stage::Memory,
        Stage::Loops,
        Stage::Indices,
        Stage::Scalars,
        Stage::LlvmDialect,
        Stage::LlvmUnoptimized,
        Stage::Llvm,
        Stage::Assembly,
    ];

    /// Returns the name by which users refer to the stage.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Kernel => "kernel",
            Stage::Inlined => "inlined",
            Stage::Memory => "memory",
            Stage::Loops => "loops",
            Stage::Indices => "indices",
            Stage::Scalars => "scalars",
            Stage::LlvmDialect => "llvm-dialect",
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
            origins: Some(&self.origins),
        }
    }
}

/// A kernel between two stages.
#[derive(Debug)]
pub struct Rewritten<'k> {
    /// The last stage that the kernel has passed.
    pub stage: Stage,
    /// Name of the entry function.
    pub kernel: &'k str,
    /// Functions of the kernel. The entry function comes first.
    pub functions: &'k mut Vec<fusebox_core::ir::Function>,
}

/// Receives the text of kernels after each stage, and may change kernels between stages.
pub trait Stages {
    /// Whether the receiver wants the text of `stage`. If the receiver does not want the text,
    /// lowering does not print it.
    fn wants(&self, stage: Stage) -> bool;
    fn stage(&mut self, stage: Stage, text: &str);

    /// Whether to run LLVM's passes.
    fn optimises(&self) -> bool {
        true
    }

    /// Rewrites the kernel IR after a stage. The result must be valid kernel IR.
    ///
    /// # Errors
    /// If the rewrite fails. Compilation then ends.
    fn rewrite(&mut self, _: Rewritten<'_>) -> Result<(), LoweringError> {
        Ok(())
    }
}

/// A receiver that wants the text of no stage.
pub struct NoStages;

impl Stages for NoStages {
    fn wants(&self, _: Stage) -> bool {
        false
    }

    fn stage(&mut self, _: Stage, _: &str) {}
}
