//! The function with which a caller supplies the content of a file.

use std::fs::File;

/// Writes content into an empty seekable file.
pub(crate) trait Fill<E>: FnOnce(&mut File) -> Result<(), E> {}
impl<E, F: FnOnce(&mut File) -> Result<(), E>> Fill<E> for F {}
