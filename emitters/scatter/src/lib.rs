//! The scatter emitters: updates combined into an output that starts from the operand's value. See README.md.
//!
//! ```text
//! claim.rs     claims for scatters
//! problem.rs   fusion -> its scatter, or the reason to decline
//! schedule.rs  schedule, problem, device, configuration -> launch and indexing maps, entry function
//! updates.rs   schedule: a thread applies a few neighbouring updates
//! runs.rs      schedule: a thread applies the same updates of several consecutive slices
//! gathered.rs  schedule: a block owns rows of the output and applies the slices for them in order
//! owned.rs     schedule: a thread owns an element of the output and walks all slices
//! slabs.rs     schedule: a block of one thread owns a part of the output and walks all slices
//! filter.rs    how such a block skips the slices of other blocks
//! in_order.rs  the best schedule that keeps the order of updates
//! body.rs      code common to all schedules: index vectors, bounds, combining
//! ```

#![forbid(unsafe_code)]

mod body;
mod claim;
mod filter;
mod gathered;
mod in_order;
mod owned;
mod problem;
mod runs;
mod schedule;
mod slabs;
mod updates;

use fusebox_core::hlo::Opcode;

use crate::gathered::Gathered;
use crate::in_order::InOrder;
use crate::owned::Owned;
use crate::runs::Runs;
use crate::schedule::Scatter;
use crate::slabs::Slabs;
use crate::updates::Updates;

fusebox_core::emitters! {
    kind: "scatter",
    heroes: [Opcode::Scatter] => claim::claim,
    "slab-scatter" => Scatter::<Slabs>::EMITTER,
    "atomic-scatter" => Scatter::<Updates>::EMITTER,
    "run-scatter" => Scatter::<Runs>::EMITTER,
    "gathered-scatter" => Scatter::<Gathered>::EMITTER,
    "owned-scatter" => Scatter::<Owned>::EMITTER,
    "scatter-in-order" => InOrder,
}
