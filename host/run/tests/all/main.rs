//! Checks the program that runs executables.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod run;
mod streams;
