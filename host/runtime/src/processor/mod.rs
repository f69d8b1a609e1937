//! The processor of this machine: its properties, its threads, and the speed that it can reach.
//! This folder does not depend on executables and uses no other folder of this crate.
//!
//! ```text
//! describe           the processor for emitters, and instruction sets that it lacks
//! instruction_sets   names of instruction sets
//! pool               threads that share the blocks of a kernel   affinity
//! shared_pools       the pools of this process
//! subnormals         the mode for subnormal numbers
//! peak               speed of arithmetic in registers
//! sweeps             passes over memory, to measure its speed
//! ```

mod affinity;
mod describe;
mod instruction_sets;
mod peak;
mod pool;
mod shared_pools;
pub mod subnormals;
pub mod sweeps;

pub use affinity::PinnedThread;
#[cfg(target_arch = "x86_64")]
pub use describe::drops_many_lines_at_once;
pub use describe::{describe_cpu, missing};
pub use instruction_sets::{TILES_OF_BF16, TILES_OF_INT8, or_without};
pub use peak::operations_per_second;
pub use pool::{Pool, WithSubnormals, with_short_jobs};
pub use shared_pools::shared_pool;
pub use sweeps::{Sweep, SweepAccess};
