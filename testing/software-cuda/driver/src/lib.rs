//! A library that replaces NVIDIA's driver `libcuda.so.1`, so that programs for GPUs run on
//! machines without a GPU. The library executes kernels with the interpreter of the crate
//! `fusebox-ptx`, and reports behaviour that NVIDIA's documentation leaves undefined.
//!
//! ```text
//! status    results of the driver's functions
//! settings  the environment variables
//! device    properties of the devices
//! engine    executes the work of all streams in any order that is allowed
//! space     the memory of a context and its first error
//! module    loaded modules
//! signal    the state of an event, which streams and graphs share
//! work      launches, copies, fills and calls of the host
//! graph     graphs of work
//! capture   streams that add their work to a graph
//! event, stream, context
//! pinned    pinned memory of the host
//! driver    all objects of the process
//! abi       types of the C interface
//! entries   functions of the C interface
//! ```

mod abi;
mod calls;
mod capture;
mod context;
mod counts;
mod device;
mod driver;
mod engine;
mod entries;
mod event;
mod graph;
mod handles;
mod module;
mod pinned;
mod reporter;
mod settings;
mod signal;
mod space;
mod status;
mod stream;
mod work;

pub use entries::*;
pub use status::Status;
