//! The functions written for the calls of a kernel.

mod partition;
mod support;
mod text;
