//! Drives the library through the pointers of its table, as JAX does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod buffers;
mod caller;
mod errors;
mod events;
mod executables;
mod objects;
mod pending;
mod sequences;
mod workshop;
