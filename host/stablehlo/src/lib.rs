//! Reads StableHLO and converts it to HLO.
//!
//! ```text
//! file of jax.export ──export──> portable artifact ──bytecode──> Program ──import──> HLO module
//! ```
//!
//! StableHLO is the form of programs that JAX passes to compilers. The crate links no MLIR.

#![forbid(unsafe_code)]

mod bytecode;
mod error;
mod export;
mod import;
pub mod program;
mod text;

pub use bytecode::{is_bytecode, read_bytecode};
pub use error::StablehloError;
pub use export::{artifact_in_export, read_export};
pub use import::to_hlo;
pub use text::read_text;
