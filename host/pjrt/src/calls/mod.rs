//! The functions of the interface, by subject. A struct with the arguments precedes each function.
//! Fields have the order of the interface. Fields without results come from the caller.

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
