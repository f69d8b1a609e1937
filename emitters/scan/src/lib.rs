//! Emitters for scans: running sums, products and maxima. A kernel computes a scan in one pass over
//! the elements. See README.md.
//!
//! ```text
//! problem.rs  fusion -> [outer, steps, inner], combiner and results
//! claim.rs    the cost of a scan in the kernel of another operation; no claim for scans better split first
//! plan.rs     blocks, knobs, indexing maps
//! body.rs     elements, combinations, writes of results
//! lines.rs    a few lines at a time, step by step
//! columns.rs  one step of many lines at a time
//! ```

#![forbid(unsafe_code)]

mod body;
mod claim;
mod columns;
mod lines;
mod plan;
mod problem;

use fusebox_core::emitter::{Blocks, Configuration, Decline, EmitError, Kernel, Plan, Strategy, Task};
use fusebox_core::hlo::Opcode;

use crate::body::ScanBody;
use crate::plan::{ColumnPlan, LinePlan};
use crate::problem::Scan;

fusebox_core::emitters! {
    kind: "scan",
    heroes: [Opcode::ReduceWindow] => claim::claim,
    "line-scan" => LineScan,
    "column-scan" => ColumnScan,
}

/// The emitter that scans a few lines at a time, step by step.
struct LineScan;

/// The emitter that processes one step of many lines at a time.
struct ColumnScan;

impl Strategy for LineScan {
    type Problem = Scan;

    fn blocks(&self) -> Blocks {
        Blocks::OfOneThread
    }

    fn plan(&self, task: &Task<Scan>, configuration: &Configuration) -> Result<Plan, EmitError> {
        Ok(LinePlan::new(task, configuration)?.plan(task))
    }

    fn emit(&self, task: &Task<Scan>, plan: &Plan) -> Result<Kernel, EmitError> {
        let cut = LinePlan::new(task, &plan.configuration)?;
        ScanBody::kernel(task, |body, b, block, outputs| body.lines(b, &cut, block, outputs))
    }
}

impl Strategy for ColumnScan {
    type Problem = Scan;

    fn blocks(&self) -> Blocks {
        Blocks::OfOneThread
    }

    fn check(&self, task: &Task<Scan>) -> Result<(), Decline> {
        match task.problem.lines() {
            1 => Err(Decline::new("there is only one line")),
            _ => Ok(()),
        }
    }

    fn plan(&self, task: &Task<Scan>, configuration: &Configuration) -> Result<Plan, EmitError> {
        Ok(ColumnPlan::new(task, configuration)?.plan(task))
    }

    fn emit(&self, task: &Task<Scan>, plan: &Plan) -> Result<Kernel, EmitError> {
        let cut = ColumnPlan::new(task, &plan.configuration)?;
        ScanBody::kernel(task, |body, b, block, outputs| body.columns(b, &cut, block, outputs))
    }
}
