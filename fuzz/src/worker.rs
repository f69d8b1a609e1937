//! The process that runs cases one after the other.
//!
//! Before the process runs a case, it prints the number of the case on standard output. So the
//! driver knows which case caused a signal or did not end.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::seeds::Seeds;
use crate::{Outcome, targets};

/// The cases that a worker runs.
#[derive(Clone, Debug)]
pub struct Cases {
    /// Name of the target.
    pub target: String,
    /// The run's seed.
    pub seed: u64,
    /// Number of the first case.
    pub first: u64,
    /// Largest number of cases to run.
    pub most: u64,
    /// Whether the worker's memory is limited.
    pub is_memory_limited: bool,
    /// Approximate time limit.
    pub time: Duration,
}

/// Number of cases between two reports of outcomes. This number is small, so that few outcomes are
/// lost if the process dies.
const REPORTED: u64 = 32;
/// Prefix of the line with the counts of outcomes.
pub const COUNTS: &str = "counts ";
/// Prefix of the line with a finding.
pub const FOUND: &str = "found ";

/// Line that announces that code compiled from damaged text is run. See [`damaged_code_runs`].
pub const RUNS: &str = "runs";

/// Announces that the case now runs code compiled from damaged text. This code may misbehave, for
/// example loop for ever. If such a case hangs or dies, the driver counts it, but does not report
/// it as a finding.
pub fn damaged_code_runs() {
    // An error is ignored, as a worker that was started without a driver may have no reader.
    _ = writeln!(std::io::stdout(), "{RUNS}");
}

/// File to which a target writes the input before it uses the input. The file is set only if a
/// single case is run, because this case may end the process.
static KEPT: OnceLock<PathBuf> = OnceLock::new();

/// Writes the input to the file, if a file was set. A target calls this function before it uses the
/// input.
///
/// # Errors
/// If the file cannot be written.
pub fn feeds(input: &[u8]) -> Result<(), String> {
    let Some(file) = KEPT.get() else { return Ok(()) };
    std::fs::write(file, input).map_err(|error| error.to_string())
}

/// Message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Runs cases until a case is a finding, and then returns `false`. Writes the input of the finding
/// to `input_file`. If there is only one case, the input is written before it is used, even if the
/// case is not a finding.
///
/// # Errors
/// If seeds cannot be read or standard output cannot be written.
pub fn run(cases: &Cases, input_file: Option<&Path>) -> std::io::Result<bool> {
    if cases.is_memory_limited {
        limit_memory();
    }
    if let Some(file) = input_file.filter(|_| cases.most == 1) {
        _ = KEPT.set(file.into());
    }
    std::panic::set_hook(Box::new(|panic| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
    let mut target = targets::open(&cases.target, &Seeds::read()?).map_err(std::io::Error::other)?;
    let (start, mut out) = (Instant::now(), std::io::stdout());
    let mut counts: Vec<(Outcome, u64)> = Vec::new();
    for case in cases.first..cases.first.saturating_add(cases.most) {
        if start.elapsed() >= cases.time {
            break;
        }
        if (case - cases.first).is_multiple_of(REPORTED) {
            report(&mut counts)?;
        }
        writeln!(out, "{case}")?;
        let (mut random, mut input) = (Random::new(cases.seed, case), Vec::new());
        let outcome = catch_unwind(AssertUnwindSafe(|| target.run(&mut random, &mut input)))
            .unwrap_or_else(|_| Err(PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone()));
        match outcome {
            Ok(outcome) => match counts.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, count)) => *count += 1,
                None => counts.push((outcome, 1)),
            },
            Err(what) => {
                if let Some(file) = input_file {
                    std::fs::write(file, &input)?;
                }
                writeln!(out, "{FOUND}{}", what.replace('\n', "\u{2028}"))?;
                return Ok(false);
            }
        }
    }
    report(&mut counts)?;
    Ok(true)
}

/// Prints the counts since the last report.
fn report(counts: &mut Vec<(Outcome, u64)>) -> std::io::Result<()> {
    let counted: Vec<String> = counts.drain(..).map(|(outcome, count)| format!("{outcome}={count}")).collect();
    writeln!(std::io::stdout(), "{COUNTS}{}", counted.join(" "))
}

/// Limits the memory of this process. A case that needs more memory becomes a finding, and does not
/// exhaust the machine.
fn limit_memory() {
    const MOST: Option<u64> = Some(12 << 30);
    // If the system refuses this limit, the system's own limits apply.
    _ = rustix::process::setrlimit(
        rustix::process::Resource::As,
        rustix::process::Rlimit { current: MOST, maximum: MOST },
    );
}
