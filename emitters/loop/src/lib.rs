//! The loop emitter. The loop emitter supports every fusion of instructions whose elements can be
//! computed one by one. The kernel computes one point of the results at a time. See README.md.
//!
//! ```text
//! accept.rs  fusion -> verdict
//! alignment.rs  reads that cannot be vectors
//! visits.rs  fusion -> loop nests
//! plan.rs    loop nests, device, configuration -> launch and indexing maps
//! emit.rs    loop nests -> entry function
//! ```

#![forbid(unsafe_code)]

mod accept;
mod alignment;
mod emit;
mod factors;
mod plan;
mod roots;
mod visits;

use fusebox_core::emitter::{Configuration, EmitError, Kernel, Plan, Strategy, Task};

use crate::roots::LoopResults;

fusebox_core::emitters! { kind: "loop", "loop" => Loop }

/// The loop emitter.
struct Loop;

impl Strategy for Loop {
    type Problem = LoopResults;

    fn plan(&self, task: &Task<LoopResults>, configuration: &Configuration) -> Result<Plan, EmitError> {
        plan::plan(task, configuration)
    }

    fn emit(&self, task: &Task<LoopResults>, plan: &Plan) -> Result<Kernel, EmitError> {
        emit::emit(task, plan)
    }
}
