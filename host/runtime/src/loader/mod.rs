//! A small linker for the objects that the compiler writes.
//!
//! Kernels are pure functions of their arguments. Their objects hold code and read-only data, and
//! refer to a few runtime symbols. So the linker fills one read-write mapping, relocates it, and
//! makes it read-execute. No other features are needed.

mod image;
mod relocate;
mod symbols;

pub use image::LoadedObject;
