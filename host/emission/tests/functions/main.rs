//! Checks the functions that the host generates for the calls of a kernel.

mod files;
mod partition;
mod support;
