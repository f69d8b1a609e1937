//! Executables constructed by hand, without a compiler: those that run, and those that the runtime
//! refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod assembler;
mod hostile;
mod program;
