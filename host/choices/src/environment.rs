//! Reads environment variables that name files.

use std::path::PathBuf;

/// Returns the path that a variable contains; `None` if the variable is not set or empty.
pub fn path_in_variable(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
