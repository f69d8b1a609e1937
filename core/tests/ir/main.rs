//! The kernel IR: its text and its verifier.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod built;
mod parse;
mod round_trip;
mod verify;
