//! The functions written for the calls of a kernel.

mod files;
mod partition;
mod support;
