//! Emitter for concatenates. Each operand of a concatenate has a separate loop nest. See README.md.
//!
//! ```text
//! claim.rs         claims for concatenates
//! accept.rs        fusion -> verdict
//! operands.rs      operands of a concatenate
//! concatenates.rs  concatenates and the results computed from them
//! bundles.rs       a loop nest, the values that it computes, and their destinations
//! visits.rs        groups of values that one loop nest computes, and its points
//! row_major.rs     whether instructions keep the row-major order
//! rows.rs          nests that write whole rows of a result
//! plan.rs          visits, device, configuration -> launch and indexing maps
//! emit.rs          visits, device, configuration -> entry function
//! ```

#![forbid(unsafe_code)]

mod accept;
mod bundles;
mod claim;
mod concatenates;
mod emit;
mod operands;
mod plan;
mod row_major;
mod rows;
mod visits;

use fusebox_core::emitter::{Configuration, EmitError, Kernel, Plan, Strategy, Task};

use fusebox_core::hlo::Opcode;

use crate::concatenates::ConcatenateResults;

fusebox_core::emitters! {
    kind: "concatenate",
    heroes: [Opcode::Concatenate] => claim::claim,
    "concatenate" => Concatenate,
}

/// The concatenate emitter.
struct Concatenate;

impl Strategy for Concatenate {
    type Problem = ConcatenateResults;

    fn plan(&self, task: &Task<ConcatenateResults>, configuration: &Configuration) -> Result<Plan, EmitError> {
        plan::plan(task, configuration)
    }

    fn emit(&self, task: &Task<ConcatenateResults>, plan: &Plan) -> Result<Kernel, EmitError> {
        emit::emit(task, plan)
    }
}
