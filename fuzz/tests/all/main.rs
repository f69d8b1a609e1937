//! Checks the fuzzer, and runs it for some seconds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod driver;
mod seconds;
