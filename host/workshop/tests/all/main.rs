//! Checks the tools for authors of emitters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bisect;
mod damaged_database;
mod stages;
