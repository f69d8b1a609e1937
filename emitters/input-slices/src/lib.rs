//! Emitter for fusions whose results are slices. If several slices contain an element, the kernel
//! computes the element only once. See README.md.
//!
//! ```text
//! accept.rs    fusion -> verdict
//! slices.rs    the results: boxes of arrays
//! reshapes.rs  the instruction below a chain of reshapes
//! visits.rs    groups of boxes that one loop nest visits
//! plan.rs      visits, device, configuration -> launch and indexing maps
//! emit.rs      visits, device, configuration -> entry function
//! ```

#![forbid(unsafe_code)]

mod accept;
mod emit;
mod plan;
mod reshapes;
mod slices;
mod visits;

use fusebox_core::emitter::{Configuration, EmitError, Kernel, Plan, Strategy, Task};

use crate::slices::Slices;

fusebox_core::emitters! { kind: "input-slices", "input-slices" => InputSlices }

/// The emitter for slices.
struct InputSlices;

impl Strategy for InputSlices {
    type Problem = Slices;

    fn plan(&self, task: &Task<Slices>, configuration: &Configuration) -> Result<Plan, EmitError> {
        plan::plan(task, configuration)
    }

    fn emit(&self, task: &Task<Slices>, plan: &Plan) -> Result<Kernel, EmitError> {
        emit::emit(task, plan)
    }
}
