//! Checks the symbols that an object refers to.

use object::{Object, ObjectSymbol};

use crate::error::LoweringError;

/// Functions that every loader of objects provides. Loaders also provide functions whose names
/// start with `fusebox_simt_`.
const PROVIDED: [&str; 3] = ["memcpy", "memset", "memmove"];

/// Checks that the object refers only to functions that the runtime's loader provides. If the
/// target has no instruction for an operation, LLVM may turn the operation into a library call,
/// which is visible only in the object.
pub(crate) fn check(bytes: &[u8]) -> Result<(), LoweringError> {
    let file = object::File::parse(bytes).map_err(|error| LoweringError::Llvm(error.to_string()))?;
    let foreign: Vec<String> = file
        .symbols()
        .filter(|symbol| symbol.is_undefined())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| !name.is_empty() && !PROVIDED.contains(&name.as_str()) && !name.starts_with("fusebox_simt_"))
        .collect();
    if foreign.is_empty() { Ok(()) } else { Err(LoweringError::ForeignSymbols(foreign)) }
}
