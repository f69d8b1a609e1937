//! What the kernels of a program execute, as the software driver counts it, beside the predictions.
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
