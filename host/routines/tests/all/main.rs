//! Checks routines whose results are rounded: by residuals, and against the definition.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod fft;
mod linalg;
mod support;
