//! Reads StableHLO as text: in the syntax that JAX prints, and in MLIR's generic form.
//!
//! ```text
//! cursor.rs       words, numbers, strings
//! types.rs, constants.rs, attributes.rs, sharding.rs, locations.rs
//! names.rs        values by name
//! reader.rs       operations, regions, the module
//! forms.rs        operations with a syntax of their own; manual.rs: those of the dialect sdy
//! ```

mod attributes;
mod constants;
mod cursor;
mod forms;
mod locations;
mod manual;
mod names;
mod reader;
mod sharding;
mod types;

use self::cursor::Cursor;
use self::reader::Reader;
use crate::StablehloError;
use crate::program::{Attribute, Program};

/// Reads a program from text. `file` is the name of the text's file, for error messages.
///
/// # Errors
/// Returns the first error in the text, with line and column.
pub fn read_text(text: &str, file: &str) -> Result<Program, StablehloError> {
    let mut reader = Reader::new(text, file, forms::operation)?;
    let module = reader.module(&mut Cursor::new(text, file))?;
    Ok(Program { module, values: reader.names.values, file: file.to_owned() })
}

/// Reads one attribute in MLIR's syntax, which HLO text uses in the configurations of custom calls.
pub(crate) fn read_attribute(text: &str) -> Result<Attribute, StablehloError> {
    let mut cursor = Cursor::new(text, "configuration");
    let attribute = attributes::attribute(&mut cursor)?;
    if cursor.is_at_end() { Ok(attribute) } else { Err(cursor.error("the attribute has ended before")) }
}
