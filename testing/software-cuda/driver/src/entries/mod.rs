//! The functions of the C interface.
//!
//! ```text
//! entry.rs    the part that all functions share
//! system.rs   the driver itself and its devices
//! context.rs  contexts
//! memory.rs   allocations of devices and of the host
//! copy.rs     copies and fills
//! module.rs   modules and functions
//! launch.rs   launches of kernels and calls of the host
//! stream.rs   streams
//! capture.rs  captures of streams
//! event.rs    events
//! graph.rs    graphs that a caller builds
//! condition.rs   conditions of graphs
//! execute.rs  graphs that can be launched
//! refused.rs  functions that the driver refuses
//! ```

mod capture;
mod condition;
mod context;
mod copy;
mod entry;
mod event;
mod execute;
mod graph;
mod launch;
mod memory;
mod module;
mod refused;
mod stream;
mod system;

pub use capture::*;
pub use condition::*;
pub use context::*;
pub use copy::*;
pub use event::*;
pub use execute::*;
pub use graph::*;
pub use launch::*;
pub use memory::*;
pub use module::*;
pub use refused::*;
pub use stream::*;
pub use system::*;
