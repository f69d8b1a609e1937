//! Measurement of programs. A [`Session`] executes a program repeatedly in the same memory. A
//! session can time each thunk, control the content of the caches, and let two programs use the
//! same memory.
//!
//! Programs that only need results use [`LoadedExecutable`](crate::LoadedExecutable).
//!
//! ```text
//! session    repeated executions in the same memory
//! donation   inputs that an execution may overwrite
//! exchange   memory that two programs can exchange
//! caches     evicts memory from caches, passes over memory
//! timing     times of repeated executions
//! ```

mod caches;
mod donation;
mod exchange;
mod session;
mod timing;

pub use session::Session;
pub use timing::{Effort, Timing, measure};
