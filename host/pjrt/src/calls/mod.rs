//! The functions of the interface, by subject. The struct with a function's arguments precedes the
//! function. The fields of a struct have the order that the interface requires. The caller sets all
//! fields that are not results.

mod buffer_copies;
mod buffer_creation;
mod buffers;
mod clients;
mod compilation;
mod devices;
mod events;
mod executables;
mod execution;
mod memories;
mod plugin;
mod shardings;
mod topologies;
mod unsupported;

pub use buffer_copies::*;
pub use buffer_creation::*;
pub use buffers::*;
pub use clients::*;
pub use compilation::*;
pub use devices::*;
pub use events::*;
pub use executables::*;
pub use execution::*;
pub use memories::*;
pub use plugin::*;
pub use shardings::*;
pub use topologies::*;
pub use unsupported::*;
