//! The machines that execute thunks. A machine holds the loaded code and the buffers of one
//! program. It makes launches, copies and host operations; loops and branches are the same for all
//! machines.
//!
//! ```text
//! thunks     the interface of a machine; sequences, loops and branches of thunks
//! host       the host's memory; kernels on the thread pool or in the simulator
//! repeated   loops and branches of the cpu target
//! simt       the simulator
//! cuda       NVIDIA GPUs
//! options    the caller's choices
//! ```

mod cuda;
mod host;
mod options;
mod repeated;
mod simt;
mod thunks;

pub use cuda::{Cuda, describe_gpu};
pub use host::{Host, PART_BYTES};
pub use options::Options;
pub use simt::{LaunchReads, ThreadOrder, trace_reads};
pub use thunks::{Machine, in_order};
