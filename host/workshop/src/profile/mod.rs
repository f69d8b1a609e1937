//! Measures the time of each step of a program.
//!
//! ```text
//! compilation ─> run step by step, many times ─> Row per step: time, bytes, share of the roof, emitter
//! table.rs   rows as text
//! trace.rs   one run as a trace that Perfetto opens
//! ```

mod table;
mod trace;

use std::collections::HashMap;
use std::time::Duration;

use fusebox_compiler::Selected;
use fusebox_core::device::DeviceDescription;
use fusebox_runtime::measurement::{Effort, Session};
use fusebox_runtime::{Executable, Options, Thunk, bytes_moved};
use serde::Serialize;

use crate::WorkshopError;
use crate::measure::Cache;
use crate::roof::{Bound, MachineSpeeds, Roof, WorkAmount};
use crate::statistics::median;

pub use table::write;
pub use trace::trace;

/// The times of a program's steps.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// Number of measured runs.
    pub runs: usize,
    /// The steps of the program. The step with the longest time comes first.
    pub rows: Vec<ProfiledStep>,
    /// The steps of one run, in the order of execution. Each entry contains the index of the step's
    /// row, and microseconds.
    #[serde(skip)]
    pub steps: Vec<(usize, f64)>,
}

/// A step of a program: a kernel, a copy, or an operation of the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfiledStep {
    pub name: String,
    /// Name and version of the kernel's emitter. If the step is not a kernel, the part of the
    /// runtime that executes it.
    pub by: String,
    /// Number of executions of the step in one run.
    pub times: usize,
    /// Microseconds that one run spends in this step, as the median over all runs.
    pub us: f64,
    /// Predicted microseconds of the kernel, for all executions in one run; `None` for other steps.
    pub predicted_us: Option<f64>,
    /// Work of one execution. For a kernel, this is the number of bytes that the plan states, and
    /// the number of operations. For another step, this is the number of bytes of all its buffers.
    #[serde(flatten)]
    pub work: WorkAmount,
    /// Least time for the work of one execution.
    #[serde(flatten)]
    pub roof: Roof,
    /// The resource that limits the speed of the step.
    pub bound: Bound,
    /// The roof of all executions in one run, as a fraction of the measured time `us`.
    pub of_roof: f64,
}

/// Measures a program that is loaded and has its inputs. `kernels` are the kernels of the program,
/// planned for `device`.
///
/// # Errors
/// If a run fails.
pub fn profile(
    session: &mut Session,
    kernels: &[Selected],
    device: &DeviceDescription,
    options: &Options,
    effort: Effort,
) -> Result<Profile, WorkshopError> {
    let measured = measure(session, effort)?;
    let executable = session.executable();
    let mut machine = MachineSpeeds::new(executable.target, options);
    let mut rows = Vec::new();
    for step in measured.steps {
        let kernel = kernel(&step.thunk, executable, kernels);
        let work = kernel.map_or_else(
            || WorkAmount { bytes: bytes_moved(&step.thunk), operations: 0.0 },
            |it| WorkAmount::of(it, device),
        );
        let us = median(step.us_of_runs);
        let (name, by) = executable.name_and_maker(&step.thunk);
        let predicted_us = kernel.map(|it| it.prediction.seconds * 1e6 * step.times as f64);
        let roof = roof(&mut machine, work)?;
        let of_roof = if us > 0.0 { step.times as f64 * roof.us() / us } else { 0.0 };
        rows.push(ProfiledStep {
            name,
            by,
            times: step.times,
            us,
            predicted_us,
            work,
            roof,
            bound: roof.bound(),
            of_roof,
        });
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| rows[b].us.total_cmp(&rows[a].us));
    let mut place = vec![0; rows.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
    let steps = measured.last.into_iter().map(|(row, us)| (place[row], us)).collect();
    let rows = order.into_iter().map(|row| rows[row].clone()).collect();
    Ok(Profile { runs: measured.runs, rows, steps })
}

/// Measured times of many runs of a program.
struct TimedRuns {
    runs: usize,
    steps: Vec<TimedThunk>,
    /// The steps of the last run, as indices into `steps` with microseconds.
    last: Vec<(usize, f64)>,
}

struct TimedThunk {
    thunk: Thunk,
    times: usize,
    us_of_runs: Vec<f64>,
}

fn measure(session: &mut Session, effort: Effort) -> Result<TimedRuns, WorkshopError> {
    // The address of a step identifies the step, because the executable does not move in memory.
    let mut numbers: HashMap<*const Thunk, usize> = HashMap::new();
    let mut measured = TimedRuns { runs: 0, steps: Vec::new(), last: Vec::new() };
    let begin = std::time::Instant::now();
    session.execute()?;
    while !effort.is_reached(measured.runs, begin.elapsed()) {
        let run = session.execute_in_steps()?;
        let mut of_run: Vec<(usize, f64)> = vec![(0, 0.0); measured.steps.len()];
        measured.last.clear();
        for (thunk, time) in run {
            let number = *numbers.entry(std::ptr::from_ref(thunk)).or_insert_with(|| {
                measured.steps.push(TimedThunk {
                    thunk: thunk.clone(),
                    times: 0,
                    us_of_runs: vec![0.0; measured.runs],
                });
                measured.steps.len() - 1
            });
            of_run.resize(measured.steps.len(), (0, 0.0));
            of_run[number].0 += 1;
            of_run[number].1 += microseconds(time);
            measured.last.push((number, microseconds(time)));
        }
        for (step, (times, us)) in measured.steps.iter_mut().zip(of_run) {
            step.times = times;
            step.us_of_runs.push(us);
        }
        measured.runs += 1;
    }
    Ok(measured)
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns the roof for some work. Measures the time for memory only for powers of two, and scales
/// the measured time to the number of bytes.
fn roof(machine: &mut MachineSpeeds<'_>, work: WorkAmount) -> Result<Roof, WorkshopError> {
    let size = work.bytes.max(1).checked_next_power_of_two().unwrap_or(work.bytes);
    let roof = machine.roof(WorkAmount { bytes: size, ..work }, Cache::Warm)?;
    Ok(Roof { memory_us: roof.memory_us * work.bytes as f64 / size as f64, ..roof })
}

fn kernel<'k>(thunk: &Thunk, executable: &Executable, kernels: &'k [Selected]) -> Option<&'k Selected> {
    let Thunk::Kernel { kernel, .. } = thunk else { return None };
    let symbol = &executable.kernels[*kernel as usize].symbol;
    kernels.iter().find(|it| it.unit.fusion.name == *symbol)
}
