//! Tests of routines through the crate's public interface: against the interpreter, against
//! definitions, and by residuals.
//!
//! The crate has no tests in `src`. For such tests, cargo would compile the crate a second time,
//! with all that it instantiates of libraries.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod attributes;
mod callback;
mod collectives;
mod dot;
mod fft;
mod foreign;
mod identity;
mod linalg;
mod random;
mod random_bits;
mod sort;
mod support;
mod top_k;
