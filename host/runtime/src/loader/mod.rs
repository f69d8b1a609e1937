//! A small linker for the objects that the compiler makes.
//!
//! Kernels are pure functions of their arguments: their objects hold code and read-only data, and refer
//! to a handful of runtime symbols. So one read-write mapping is filled, relocated, and turned into
//! read-execute; there is nothing else to support.

mod image;
mod relocate;
mod symbols;

pub use image::LoadedObject;
