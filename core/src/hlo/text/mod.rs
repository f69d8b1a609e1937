//! HLO text: parser and printer.
//!
//! ```text
//! Cursor (words, brackets) -> header, computations, instructions -> Module -> print
//! ```
//!
//! The parser reports every fault it can find and goes on at the next line after one. It accepts
//! what JAX lowers to, optimised text, and computations without a `HloModule` line.

mod attributes;
mod computation;
pub(crate) mod extra;
mod forms;
mod header;
mod instruction;
pub(crate) mod lexer;
mod literals;
mod ops;
pub(crate) mod print;
mod print_literal;
mod print_op;
mod shapes;
pub(crate) mod source;
mod sugar;

pub(crate) use print::print_nameless;
pub use print::{PrintOptions, print_module, print_module_with};

use super::{Diagnostic, Module};

/// Settings of the parser.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions {
    /// What becomes of constants whose value was left out (`{...}`).
    pub elided: Elided,
    /// Largest such constant that is filled, in bytes.
    pub largest_filler: i64,
    /// After so many faults the parser gives up.
    pub max_diagnostics: usize,
}

/// What becomes of constants whose value was left out of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elided {
    /// They are an error.
    #[default]
    Refuse,
    /// All elements are 0.
    Zero,
    /// Floats are multiples of 1/16 from -1 to below 1, all else is 0 or 1; the same whenever the text is read.
    Random,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions { elided: Elided::Refuse, largest_filler: 1 << 30, max_diagnostics: 100 }
    }
}

/// Reads a module. `file` is its name in diagnostics.
///
/// # Errors
/// Returns all faults of the text. A module that was read may still be invalid: see
/// [`verify`](super::verify).
pub fn parse_module(text: &str, file: &str) -> Result<Module, Vec<Diagnostic>> {
    parse_module_with(text, file, &ParseOptions::default())
}

/// Like [`parse_module`], with settings.
///
/// # Errors
/// See [`parse_module`].
pub fn parse_module_with(text: &str, file: &str, options: &ParseOptions) -> Result<Module, Vec<Diagnostic>> {
    computation::Parser::new(text, file, options)?.module()
}
