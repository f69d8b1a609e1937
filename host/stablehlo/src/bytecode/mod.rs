//! Reads portable artifacts: programs in VHLO, the dialect with versions, as MLIR bytecode.
//!
//! ```text
//! cursor.rs       numbers of variable length, checked against the end of their section
//! container.rs    sections, strings, names, and where attributes and types are stored
//! entities.rs     attributes and types, decoded when needed:
//!                 builtin.rs, vhlo.rs, sharding.rs by dialect, scalars.rs for all
//! operations.rs   operations, blocks, regions
//! ```
//!
//! Bytes may come from anywhere: a damaged artifact gives an error and never needs more memory than
//! a multiple of its size, or a deep stack. The format is MLIR's
//! (<https://mlir.llvm.org/docs/BytecodeFormat>), the dialect StableHLO's
//! (<https://openxla.org/stablehlo/vhlo>).

mod builtin;
mod container;
mod cursor;
mod entities;
mod operation_table;
mod operations;
mod scalars;
mod sharding;
mod vhlo;

use self::container::{Container, MAGIC};
use self::cursor::Artifact;
use self::operations::Reader;
use crate::StablehloError;
use crate::program::Program;

/// Whether bytes begin like MLIR bytecode.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Reads an artifact. `file` is the name of its file in errors.
pub fn read_bytecode(bytes: &[u8], file: &str) -> Result<Program, StablehloError> {
    let artifact = Artifact { bytes, file };
    let container = Container::read(&artifact)?;
    let mut reader = Reader::new(&container);
    let module = reader.module()?;
    Ok(Program { module, values: reader.values, file: file.to_owned() })
}
