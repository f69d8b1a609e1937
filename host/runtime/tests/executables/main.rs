//! Checks executables that are constructed by hand, without a compiler. Some of them run, and the
//! runtime refuses the others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod assembler;
mod buffers;
mod builder;
mod hostile;
mod program;
mod sharing;
