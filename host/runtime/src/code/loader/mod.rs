//! Links and loads the objects that the compiler writes.
//!
//! Kernels are pure functions of their arguments. The objects of kernels hold code and read-only
//! data, and refer to a few runtime symbols. So this small linker copies an object into one
//! writable mapping, applies the relocations, and makes the mapping read-only and executable.
//! Kernels need no other features of a linker.

mod image;
mod loaded_object;
mod relocate;
mod symbols;

pub use loaded_object::LoadedObject;
pub use symbols::ProvidedSymbols;
