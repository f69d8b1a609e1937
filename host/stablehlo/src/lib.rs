//! Reads StableHLO and converts it to HLO. Also converts HLO to StableHLO and prints it.
//!
//! ```text
//! file of jax.export ──jax_export──> portable artifact ──bytecode──> Program ──import──> HLO module
//!                                                  text <──text, print──> Program <──export── HLO module
//! ```
//!
//! StableHLO is the language in which JAX passes programs to compilers. The crate does not link
//! MLIR.

#![forbid(unsafe_code)]

mod bytecode;
mod error;
mod export;
mod import;
mod jax_export;
mod print;
pub mod program;
mod tables;
mod text;

pub use bytecode::{is_bytecode, read_bytecode};
pub use error::StablehloError;
pub use export::from_hlo;
pub use import::{has_unknown_arguments, to_hlo, to_hlo_for};
pub use jax_export::{artifact_in_export, read_export};
pub use print::print_text;
pub use text::read_text;
