//! Checks the results of the interpreter against values from the definitions of operations.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod contraction;
mod control_flow;
mod conversions;
mod floats;
mod fourier;
mod indexing;
mod integers;
mod kernels;
mod limits;
mod linear_algebra;
mod messages;
mod movement;
mod products;
mod random;
mod reductions;
mod sorting;
mod special_values;
mod support;
