//! The machines that execute thunks. A machine consists of the loaded code of a program and the
//! memory of one execution. Each machine implements launches, copies and host operations; the code
//! for loops and branches is common to all machines.
//!
//! ```text
//! thunks     the interface of a machine; sequences, loops and branches of thunks
//! frame      the state of one execution
//! host       kernels on the thread pool or in the simulator
//! repeated   loops and branches of the cpu target
//! devices    code that several devices execute, each with its parts of arrays   parts
//! collectives   exchanges of arrays among devices
//! simt       the simulator
//! cuda       NVIDIA GPUs
//! memory     pieces of memory of the host or of a GPU
//! hardware   host or GPU: allocates memory, loads code
//! options    the caller's choices
//! ```

mod collectives;
mod cuda;
mod devices;
mod frame;
mod hardware;
mod host;
mod memory;
mod options;
mod parts;
mod repeated;
mod simt;
mod thunks;

pub use cuda::describe_gpu;
pub use frame::Frame;
pub use hardware::{Hardware, LoadedCode};
pub use host::{PART_BYTES, even_part};
pub use memory::{DeviceMemory, ForeignMemory};
pub use options::{Graphs, Options};
pub use simt::{LaunchReads, ThreadOrder, trace_reads};
pub use thunks::{Machine, in_order};
