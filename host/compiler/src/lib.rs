//! From a module to an executable: passes, fusion, selection, emission, buffers, thunks.
//!
//! The modules stand in the order in which data passes through them.

pub mod passes;
pub mod fuse;
