//! Emitters for transposes. Most kernels move elements through tiles, so that both reads and writes
//! are contiguous. See README.md.
//!
//! ```text
//! claim.rs     claims for transposes
//! problem.rs   fusion -> arrays that move, other operands and results
//! lines.rs     blocks of one thread, results of whole cache lines: units transposed in registers
//! units.rs     the part of a tile that is transposed in registers
//! panels.rs    blocks of one thread: copied by rows, written by panels
//! thin.rs      blocks of one thread, one short dimension: loops along the other
//! tiles.rs     many threads: tiles in shared memory
//! packed.rs    many threads, narrow elements: tiles of 32-bit words
//! rows.rs      the minor dimension stays minor: rows are copied directly from operand to result
//! schedule.rs  loops -> plan
//! emit.rs      loops -> entry function
//! ```

#![forbid(unsafe_code)]

mod claim;
mod emit;
mod grid;
mod index;
mod lines;
mod packed;
mod panels;
mod problem;
mod rows;
mod schedule;
mod thin;
mod tiles;
mod units;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Blocks, Configuration, Decline, EmitError, Kernel, Plan, Strategy, Task};

use fusebox_core::hlo::Opcode;

use crate::problem::TransposeProblem;
use crate::schedule::TransposeSchedule;

fusebox_core::emitters! {
    kind: "transpose",
    heroes: [Opcode::Transpose] => claim::claim,
    "row-transpose" => TransposeEmitter { blocks: Blocks::OfManyThreads, check: rows::check, schedule: rows::spread },
    "tiled-transpose" => TransposeEmitter { blocks: Blocks::OfManyThreads, check: tiles::check, schedule: tiles::schedule },
    "packed-transpose" => TransposeEmitter { blocks: Blocks::OfManyThreads, check: packed::check, schedule: packed::schedule },
    "serial-row-transpose" => TransposeEmitter { blocks: Blocks::OfOneThread, check: rows::check, schedule: rows::looped },
    "thin-transpose" => TransposeEmitter { blocks: Blocks::OfOneThread, check: thin::check, schedule: thin::looped },
    "line-transpose" => TransposeEmitter { blocks: Blocks::OfOneThread, check: lines::check, schedule: lines::looped },
    "panel-transpose" => TransposeEmitter { blocks: Blocks::OfOneThread, check: panels::check, schedule: panels::schedule },
}

/// An emitter for one schedule. The emitter states which blocks and problems the schedule supports,
/// and returns the schedule's loops.
struct TransposeEmitter {
    blocks: Blocks,
    check: fn(&TransposeProblem, &DeviceDescription) -> Result<(), Decline>,
    schedule: fn(&TransposeProblem, &DeviceDescription, &Configuration) -> Result<TransposeSchedule, EmitError>,
}

impl Strategy for TransposeEmitter {
    type Problem = TransposeProblem;

    fn blocks(&self) -> Blocks {
        self.blocks
    }

    fn check(&self, task: &Task<TransposeProblem>) -> Result<(), Decline> {
        (self.check)(task.problem, task.device)
    }

    fn plan(&self, task: &Task<TransposeProblem>, configuration: &Configuration) -> Result<Plan, EmitError> {
        let schedule = (self.schedule)(task.problem, task.device, configuration)?;
        Ok(schedule.check(task.problem, task.device)?.plan(task.problem))
    }

    fn emit(&self, task: &Task<TransposeProblem>, plan: &Plan) -> Result<Kernel, EmitError> {
        let schedule = (self.schedule)(task.problem, task.device, &plan.configuration)?;
        emit::emit(task.fusion, task.problem, &schedule)
    }
}

/// Declines problems whose rows do not become columns. Schedules that transpose rows to columns
/// call this check.
fn rows_turn(problem: &TransposeProblem) -> Result<(), Decline> {
    if problem.form.keeps_minor() {
        Err(Decline::new("the minor dimension does not move: no rows become columns"))
    } else {
        Ok(())
    }
}
