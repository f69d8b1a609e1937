//! Reads portable artifacts. An artifact is a program in VHLO, the dialect with versions, and is
//! encoded as MLIR bytecode.
//!
//! ```text
//! cursor.rs       numbers of variable length, checked against the end of their section
//! container.rs    sections, strings, names, and where attributes and types are stored
//! entities.rs     attributes and types, decoded when needed:
//!                 builtin.rs, vhlo.rs, sharding.rs by dialect, scalars.rs for all
//! operations.rs   operations, blocks, regions
//! ```
//!
//! An artifact is untrusted input: for a damaged artifact the reader returns an error. The reader
//! needs no deep stack, and no more memory than a fixed multiple of the artifact's size. MLIR
//! defines the format (<https://mlir.llvm.org/docs/BytecodeFormat>), and StableHLO defines the
//! dialect (<https://openxla.org/stablehlo/vhlo>).

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
use self::entities::Dialects;
use self::operations::Reader;
use crate::StablehloError;
use crate::program::Program;

const DIALECTS: Dialects = Dialects {
    attributes: &[("vhlo", vhlo::attribute), ("builtin", builtin::attribute), ("sdy", sharding::attribute)],
    types: &[("vhlo", vhlo::r#type), ("builtin", builtin::r#type)],
    locations: &[("builtin", builtin::location)],
};

/// Whether bytes begin like MLIR bytecode.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Reads an artifact. `file` is the name of the artifact's file, for error messages.
pub fn read_bytecode(bytes: &[u8], file: &str) -> Result<Program, StablehloError> {
    let artifact = Artifact { bytes, file };
    let container = Container::read(&artifact)?;
    let mut reader = Reader::new(&container, &DIALECTS);
    let module = reader.module()?;
    Ok(Program { module, values: reader.values, file: file.to_owned() })
}
