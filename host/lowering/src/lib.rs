//! From kernel IR (see ARCHITECTURE.md) to machine code.
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
pub use mlir::{check_with_mlir, generic_form};
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
    /// The grid the kernel will be launched with; ids are within it.
    pub launch: fusebox_core::emitter::LaunchDimensions,
    /// Shared memory of a block in bytes: the most its tiles may take.
    pub shared_bytes: u32,
}

/// Result of a compilation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Code {
    /// A relocatable ELF object with one global function per kernel.
    Object {
        bytes: Vec<u8>,
        /// For the simulator: the places that accesses are reported from, by number.
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
    /// Equal operations are merged, subgraph functions put where they are called.
    Inlined,
    /// Tensors are pointers; every access has an address.
    Memory,
    /// Loops over maps are nests of `scf.for`, unrolled or in parts where that decides conditions.
    Loops,
    /// Indices are integers.
    Indices,
    /// Narrow floats are integers, complex numbers two floats, functions calls: what is written as LLVM IR.
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

    /// As users say it.
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

/// Receives the text of stages.
pub trait Stages {
    /// Whether `stage` is wanted; text is made only if so.
    fn wants(&self, stage: Stage) -> bool;
    fn stage(&mut self, stage: Stage, text: &str);

    /// Whether LLVM's passes are run.
    fn optimises(&self) -> bool {
        true
    }

    /// A place for tests to plant a fault behind a stage of the kernel IR.
    #[doc(hidden)]
    fn rewrite(&mut self, _: Stage, _: &mut [fusebox_core::ir::Function]) {}
}

/// Stages that nobody wants.
pub struct NoStages;

impl Stages for NoStages {
    fn wants(&self, _: Stage) -> bool {
        false
    }

    fn stage(&mut self, _: Stage, _: &str) {}
}
