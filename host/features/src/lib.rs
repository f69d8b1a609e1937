//! This crate contains only dependencies. Each dependency has all features that the crates of the
//! workspace enable.
//!
//! For each command, cargo selects the features that the packages of this command enable. If the
//! features of a dependency differ from those of the last command, cargo again compiles the
//! dependency, and all crates that depend on the dependency. So programs and tests depend on this
//! crate, which enables the same features for every command.

#![forbid(unsafe_code)]
