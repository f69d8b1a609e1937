//! Counts of the software driver: the work of each kernel, next to the predicted times.
//!
//! ```text
//! kernel   the counts of a kernel, as the driver writes them
//! rows     counts, registers, predicted time -> one row per kernel
//! table    rows -> text
//! ```

mod kernel;
mod rows;
mod table;

pub use kernel::{Executed, KernelCounts, Traffic};
pub use rows::{Busiest, CountRow, rows};
pub use table::{per_launch, write};
