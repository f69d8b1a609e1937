//! Checks lowering to machine code, stage by stage and as a whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod atomics;
mod cpu;
mod errors;
mod filetests;
mod gpu;
mod jit;
mod limits;
mod math;
mod mlir_lowering;
mod mlir_passes;
mod narrow_floats;
mod operations;
mod simt;
mod splitting;
mod threads;
mod tiles;
mod unrolling;
mod vectors;
mod words;
