//! HLO text: parser and printer.
//!
//! ```text
//! Cursor (words, brackets) -> header, computations, instructions -> Module -> print
//! ```
//!
//! The parser reports every fault that it can find. After a fault, the parser continues at the next
//! line. The parser accepts text from JAX's lowering, optimised text, and computations without a
//! `HloModule` line.

mod attributes;
mod computation;
pub(crate) mod extra;
mod forms;
mod header;
mod instruction;
pub(crate) mod lexer;
mod literals;
mod ops;
mod parser;
pub(crate) mod pieces;
pub(crate) mod print;
mod print_literal;
mod print_op;
mod shapes;
pub(crate) mod source;
mod sugar;

pub use pieces::joined;
pub(crate) use print::print_nameless;
pub use print::{PrintOptions, print_module, print_module_with};

use super::{Diagnostic, Module};

/// Settings of the parser.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions {
    /// Treatment of elided constants (`{...}`).
    pub elided: Elided,
    /// Size, in bytes, of the largest elided constant that the parser may fill.
    pub largest_filler: i64,
    /// Number of faults after which the parser stops.
    pub max_diagnostics: usize,
}

/// Treatment of constants whose value is elided in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elided {
    /// Report an error.
    #[default]
    Refuse,
    /// Fill with zeros.
    Zero,
    /// Fill floats with multiples of 1/16 that are at least -1 and below 1. Fill all other types
    /// with 0 or 1. The parser generates the same values each time that it reads a text.
    Random,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions { elided: Elided::Refuse, largest_filler: 1 << 30, max_diagnostics: 100 }
    }
}

/// Reads a module. `file` is the file name that diagnostics state.
///
/// # Errors
/// Returns all faults of the text. A module that can be read may still be invalid.
/// [`verify`](super::verify) checks whether the module is valid.
pub fn parse_module(text: &str, file: &str) -> Result<Module, Vec<Diagnostic>> {
    parse_module_with(text, file, &ParseOptions::default())
}

/// Reads a module like [`parse_module`], with the settings `options`.
///
/// # Errors
/// The errors of [`parse_module`].
pub fn parse_module_with(text: &str, file: &str, options: &ParseOptions) -> Result<Module, Vec<Diagnostic>> {
    parser::Parser::new(text, file, options)?.module()
}
