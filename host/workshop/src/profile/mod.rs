//! Measures the time of each step of a program.
//!
//! ```text
//! compilation -> run step by step, many times -> Row per step: time, bytes, roof, emitter
//! facts.rs       a compilation -> facts that executables lack: work, predictions, lines
//! timed.rs       times of the runs of one program -> rows
//! report.rs      the rows and the executed steps as data
//! recording.rs   runs of several programs, as they come -> rows and a trace
//! table.rs       rows as text
//! trace.rs       runs as a trace that Perfetto opens
//! ```

mod facts;
mod recording;
mod report;
mod table;
mod timed;
mod trace;

use fusebox_compiler::Compilation;
use fusebox_core::device::DeviceDescription;
use fusebox_runtime::Options;
use fusebox_runtime::measurement::{Effort, Session};

use crate::WorkshopError;
use crate::measure::Cache;
use crate::roof::{MachineSpeeds, Roof, WorkAmount};
use timed::{Summary, TimedRuns};

pub use facts::{PredictedLaunch, StepFacts};
pub use recording::Recording;
pub use report::{Execution, Profile, ProfiledStep, Slice};
pub use table::write;
pub use trace::trace;

/// Measures a program that is loaded and has its inputs. `made` is the compilation of the program
/// for `device`.
///
/// # Errors
/// If a run fails.
pub fn profile(
    session: &mut Session,
    made: &Compilation,
    device: &DeviceDescription,
    options: &Options,
    effort: Effort,
) -> Result<Profile, WorkshopError> {
    let measured = measure(session, effort)?;
    let executable = session.executable();
    let mut machine = MachineSpeeds::new(executable.target, options);
    let facts = StepFacts::of(made, device);
    let rows = measured.rows(executable, &facts, Summary::MedianRun, |_, work| measured_roof(&mut machine, work))?;
    Ok(measured.profile(rows))
}

fn measure(session: &mut Session, effort: Effort) -> Result<TimedRuns, WorkshopError> {
    let mut measured = TimedRuns::default();
    let begin = std::time::Instant::now();
    session.execute()?;
    while !effort.is_reached(measured.runs, begin.elapsed()) {
        // The executable does not move in memory.
        measured.add(session.execute_in_steps()?);
    }
    Ok(measured)
}

/// Returns the roof for some work. Measures the time for memory only for numbers of bytes that are
/// powers of two, and scales the measured time to the number of bytes of the work.
fn measured_roof(machine: &mut MachineSpeeds<'_>, work: WorkAmount) -> Result<Roof, WorkshopError> {
    let size = work.bytes.max(1).checked_next_power_of_two().unwrap_or(work.bytes);
    let roof = machine.roof(WorkAmount { bytes: size, ..work }, Cache::Warm)?;
    Ok(Roof { memory_us: roof.memory_us * work.bytes as f64 / size as f64, ..roof })
}
