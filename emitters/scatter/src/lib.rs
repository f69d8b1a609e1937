//! Emitters for scatters. A kernel combines updates into an output. The output's initial value is
//! the operand. See README.md.
//!
//! ```text
//! claim.rs     claims for scatters
//! problem.rs   fusion -> its scatter, or the reason to decline
//! schedule.rs  schedule, problem, device, configuration -> launch and indexing maps, entry function
//! atomic.rs    schedule: a thread applies a few neighbouring updates
//! runs.rs      schedule: a thread applies the same updates of several consecutive slices
//! gathered.rs  schedule: a block owns rows of the output and applies the slices for them in order
//! owned.rs     schedule: a thread owns an element of the output and walks all slices
//! slabs.rs     schedule: a block of one thread owns a part of the output and walks all slices
//! filter.rs    how such a block skips the slices of other blocks
//! in_order.rs  the best schedule that keeps the order of updates
//! body.rs      code common to all schedules: index vectors, bounds, combining
//! ```

#![forbid(unsafe_code)]

mod atomic;
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

use fusebox_core::hlo::Opcode;

use crate::atomic::AtomicScatter;
use crate::gathered::GatheredScatter;
use crate::in_order::InOrder;
use crate::owned::OwnedScatter;
use crate::runs::RunScatter;
use crate::schedule::ScatterEmitter;
use crate::slabs::SlabScatter;

fusebox_core::emitters! {
    kind: "scatter",
    heroes: [Opcode::Scatter] => claim::claim,
    "slab-scatter" => ScatterEmitter::<SlabScatter>::EMITTER,
    "atomic-scatter" => ScatterEmitter::<AtomicScatter>::EMITTER,
    "run-scatter" => ScatterEmitter::<RunScatter>::EMITTER,
    "gathered-scatter" => ScatterEmitter::<GatheredScatter>::EMITTER,
    "owned-scatter" => ScatterEmitter::<OwnedScatter>::EMITTER,
    "scatter-in-order" => InOrder,
}
