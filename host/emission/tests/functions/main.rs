//! The functions that the host generates for a kernel's calls.

mod files;
mod partition;
mod support;
