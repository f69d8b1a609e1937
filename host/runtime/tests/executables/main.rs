//! Executables made by hand, without a compiler: what runs, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod assembler;
mod hostile;
mod program;
