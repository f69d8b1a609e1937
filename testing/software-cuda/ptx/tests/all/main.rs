//! Conformance tests, written from the PTX manual, and planted faults.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod approximations;
mod atomics;
mod bits;
mod calls;
mod compare;
mod conditions;
mod control;
mod convert;
mod copies;
mod doubles;
mod faults;
mod float;
mod generated;
mod group;
mod half;
mod harness;
mod integer;
mod lanes;
mod matrix;
mod memory;
mod modules;
mod phases;
mod races;
mod streams;
