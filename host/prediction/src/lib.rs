//! Predicts the seconds that a plan's kernel will take. fusebox compares predictions when it
//! chooses among emitters, and when it decides about fusion.
//!
//! ```text
//! reached.rs    a visit's values -> operations per point, and places where parameters are read
//! extent.rs     a visit's map -> points, loops, divisions
//! positions.rs  a point, a place -> offset of the accessed byte
//! traffic.rs    a place, the visit's loops -> cache lines per point
//! machine.rs    the questions in which machines differ
//! cpu.rs        the answers for the cores of a cpu
//! gpu.rs        the answers for a GPU, whose blocks have many threads
//! totals.rs     visits, writes and other work, launch, machine -> seconds
//! breakdown.rs  the prediction, split into parts
//! roof.rs       the least time that any kernel of a fusion could take
//! demand.rs     the share of each instruction's elements that the result needs
//! ```
//!
//! Predictions serve to compare plans. Tests check the ratios between predictions; the seconds
//! themselves are not exact. `benches/README.md` compares predictions with measured times: over all
//! kernels of a corpus, half of the predictions differ from the measured time by a factor of less
//! than 1.65, and 86 % of the pairs of plans are in the right order. The comparison assesses the
//! constants of the model together, not each constant by itself. If a constant has no measurement
//! of its own, the comment on the constant says so. If a constant changes, the files in
//! `tests/filetests` show which predictions change.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod breakdown;
mod cpu;
mod demand;
mod extent;
mod gpu;
mod machine;
mod model;
mod order;
mod positions;
mod reached;
mod roof;
mod totals;
mod touched;
mod traffic;

pub use breakdown::{Breakdown, breakdown};
pub use order::order;
pub use roof::{arithmetic_of_computation, bandwidth, peak};
pub use totals::{Amount, Prediction, Times, is_better_alone, predict};
