//! Tests of the functions of the C interface, called as a C program calls them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cuda;

mod captures;
mod conditions;
mod contexts;
mod copies;
mod graphs;
mod kernels;
mod planted;
mod streams;
