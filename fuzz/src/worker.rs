//! One process that runs case after case.
//!
//! It says the number of each case on standard output before it begins it, so whoever started it knows which one
//! ended in a signal or never ended.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::seeds::Seeds;
use crate::{Outcome, targets};

/// Which cases a worker runs.
#[derive(Clone, Debug)]
pub struct Cases {
    /// Name of the target.
    pub target: String,
    /// The run's seed.
    pub seed: u64,
    /// Number of the first case.
    pub first: u64,
    /// At most so many.
    pub most: u64,
    /// For about so long.
    pub time: Duration,
}

/// Cases after which outcomes are reported, so that few are lost with a process.
const REPORTED: u64 = 32;
/// Begins the line that counts outcomes.
pub const COUNTS: &str = "counts ";
/// Begins the line that tells a finding.
pub const FOUND: &str = "found ";

/// Says that code made from damaged text is about to run. See [`damaged_code_runs`].
pub const RUNS: &str = "runs";

/// From here on the case runs code that was made of damaged text. It may do what the text says, for instance turn for ever:
/// how such a case ends is counted, and is no finding.
pub fn damaged_code_runs() {
    // Nobody listens where the worker is not one of a driver.
    _ = writeln!(std::io::stdout(), "{RUNS}");
}

/// Where the input of every case is written before it is fed, if anywhere: for one case that ends its process.
static KEPT: OnceLock<PathBuf> = OnceLock::new();

/// Called by a target before it feeds the input.
///
/// # Errors
/// If it was to be written and could not be.
pub fn feeds(input: &[u8]) -> Result<(), String> {
    let Some(file) = KEPT.get() else { return Ok(()) };
    std::fs::write(file, input).map_err(|error| error.to_string())
}

/// What the last panic said.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Runs cases until one is a finding. The input of a finding is written to `input_file`; that of a single case in any
/// event, before it is fed.
///
/// # Errors
/// If seeds cannot be read or standard output cannot be written.
pub fn run(cases: &Cases, input_file: Option<&Path>) -> std::io::Result<bool> {
    limit_memory();
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

/// Says what was counted since the last time.
fn report(counts: &mut Vec<(Outcome, u64)>) -> std::io::Result<()> {
    let counted: Vec<String> = counts.drain(..).map(|(outcome, count)| format!("{outcome}={count}")).collect();
    writeln!(std::io::stdout(), "{COUNTS}{}", counted.join(" "))
}

/// What wants more memory than any case should ends in a finding, not in a machine without memory.
fn limit_memory() {
    const MOST: Option<u64> = Some(12 << 30);
    // Where the system refuses, its own limits hold.
    _ = rustix::process::setrlimit(
        rustix::process::Resource::As,
        rustix::process::Rlimit { current: MOST, maximum: MOST },
    );
}
