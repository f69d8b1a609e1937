//! Nothing but dependencies, with the features that any crate of the workspace enables.
//!
//! For each command, cargo selects the features that the packages of this command enable. With
//! other features it compiles a dependency again, and all crates that depend on it. So programs and
//! tests depend on this crate, which enables the same features for every command.

#![forbid(unsafe_code)]
