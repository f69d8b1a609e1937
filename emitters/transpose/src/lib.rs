//! The transpose emitters: elements move through tiles, so that both reads and writes run along memory. See
//! README.md.
//!
//! ```text
//! problem.rs   fusion -> what moves, what is read and written beside it
//! lines.rs     blocks of one thread, results of whole cache lines: units turned in registers
//! panels.rs    blocks of one thread: copied by rows, written by panels
//! tiles.rs     many threads: tiles in shared memory
//! packed.rs    many threads, narrow elements: tiles of 32-bit words
//! thin.rs      blocks of one thread, one of the dimensions short: points along the other
//! rows.rs      the minor dimension stays: rows go straight from operand to result
//! schedule.rs  loops -> plan
//! emit.rs      loops -> entry function
//! ```

mod emit;
mod grid;
mod index;
mod knobs;
mod lines;
mod packed;
mod panels;
mod problem;
mod rows;
mod schedule;
mod thin;
mod tiles;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict,
};

use crate::lines::Unit;
use crate::packed::Packed;
use crate::panels::Panels;
use crate::problem::Problem;
use crate::schedule::Schedule;
use crate::tiles::Tiles;

/// Moves elements of any type.
pub struct Transpose;

/// Moves elements of one or two bytes as words of 32 bits.
pub struct PackedTranspose;

fusebox_core::export_emitters!(Transpose, PackedTranspose);

/// Better than any kernel that reads or writes across memory.
const SCORE: u32 = 600;
/// Better still, where it applies.
const PACKED_SCORE: u32 = 700;
/// Rows up to this many bytes go through tiles even if they stay rows: moved one by one, each costs a transaction.
const SHORT_ROW_BYTES: i64 = 16;

impl Emitter for Transpose {
    fn descriptor(&self) -> Descriptor {
        descriptor("transpose")
    }

    fn consider(&self, fusion: &Fusion, _device: &DeviceDescription) -> Verdict {
        match Problem::new(fusion) {
            Ok(_) => Verdict::Accept { score: SCORE },
            Err(decline) => Verdict::Decline(decline),
        }
    }

    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        let problem = problem(fusion)?;
        Ok(schedule(&problem, device, configuration)?.plan(&problem))
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let problem = problem(fusion)?;
        emit::emit(fusion, &problem, &schedule(&problem, device, &plan.configuration)?)
    }
}

impl Emitter for PackedTranspose {
    fn descriptor(&self) -> Descriptor {
        descriptor("packed-transpose")
    }

    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict {
        match packable(fusion, device) {
            Ok(_) => Verdict::Accept { score: PACKED_SCORE },
            Err(decline) => Verdict::Decline(decline),
        }
    }

    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        let problem = packable(fusion, device).map_err(error)?;
        Ok(Packed::new(&problem, device, configuration)?.schedule().check(&problem, device)?.plan(&problem))
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let problem = packable(fusion, device).map_err(error)?;
        emit::emit(fusion, &problem, &Packed::new(&problem, device, &plan.configuration)?.schedule())
    }
}

fn descriptor(name: &str) -> Descriptor {
    Descriptor { kind: KernelKind("transpose".into()), name: name.into(), version: env!("CARGO_PKG_VERSION").into() }
}

fn problem(fusion: &Fusion) -> Result<Problem, EmitError> {
    Problem::new(fusion).map_err(error)
}

fn packable(fusion: &Fusion, device: &DeviceDescription) -> Result<Problem, Decline> {
    let problem = Problem::new(fusion)?;
    if device.is_single_threaded_block() {
        return Err(Decline { reason: "blocks of one thread have no banks to spare".into(), instruction: None });
    }
    match packed::in_the_way(&problem) {
        Some(decline) => Err(decline),
        None => Ok(problem),
    }
}

fn error(decline: Decline) -> EmitError {
    EmitError { message: decline.reason, instruction: decline.instruction }
}

fn schedule(
    problem: &Problem,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<Schedule, EmitError> {
    let rows = problem.form.keeps_minor();
    let short_rows = problem.form.dims.last().is_some_and(|&row| row * problem.widest() <= SHORT_ROW_BYTES);
    if device.is_single_threaded_block() {
        return match Unit::of(problem, device) {
            _ if rows => rows::looped(problem, device, configuration),
            _ if thin::applies(problem) => thin::looped(problem, device, configuration),
            Some(unit) => lines::looped(problem, unit, device, configuration)?.check(problem, device),
            None => Panels::new(problem, device, configuration)?.schedule(problem).check(problem, device),
        };
    }
    match rows && !short_rows {
        true => rows::spread(problem, device, configuration),
        false => Tiles::new(problem, device, configuration)?.schedule(problem).check(problem, device),
    }
}
