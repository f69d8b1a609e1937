//! Reads StableHLO as text: in the syntax that JAX prints, and in MLIR's generic form.
//!
//! ```text
//! cursor.rs       words, numbers, strings
//! types.rs, constants.rs, attributes.rs, locations.rs
//! names.rs        values by name
//! reader.rs       operations, regions, the module
//! forms.rs        operations with a syntax of their own
//! ```

mod attributes;
mod constants;
mod cursor;
mod forms;
mod locations;
mod names;
mod reader;
mod types;

use self::cursor::Cursor;
use self::reader::Reader;
use crate::StablehloError;
use crate::program::Program;

/// Reads a program from text. `file` is the name of the text's file, for error messages.
///
/// # Errors
/// The first fault, with line and column.
pub fn read_text(text: &str, file: &str) -> Result<Program, StablehloError> {
    let mut reader = Reader::new(text, file, forms::operation)?;
    let module = reader.module(&mut Cursor::new(text, file))?;
    Ok(Program { module, values: reader.names.values, file: file.to_owned() })
}
