//! Checks the text and the verifier of the kernel IR.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod built;
mod parse;
mod round_trip;
mod verify;
