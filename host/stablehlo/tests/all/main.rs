//! Tests of the readers, the conversions between StableHLO and HLO, and the printer.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod export;
mod library;
mod polymorphic;
mod programs;
mod sharded;
mod structure;
