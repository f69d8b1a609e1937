//! Environment variables that name files.

use std::path::PathBuf;

/// Returns the path in a variable, if the variable is set and not empty.
pub fn path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
