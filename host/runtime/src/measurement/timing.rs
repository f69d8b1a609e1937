//! Measures the time of repeated executions.

use std::time::{Duration, Instant};

use super::session::Session;
use crate::RunError;

/// Statistics of the execution times of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Median of the execution times in microseconds.
    pub median_us: f64,
    /// Minimum of the execution times in microseconds.
    pub min_us: f64,
    /// Number of measured executions.
    pub runs: usize,
}

/// Limits of the duration of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Number of executions after which the measurement ends, if the measurement has taken at least
    /// the time `settle`.
    pub runs: usize,
    /// Minimum duration of the measurement. Short programs are executed more than `runs` times
    /// until this time has passed.
    pub settle: Duration,
    /// Maximum duration of the measurement. After this time, the measurement ends even with fewer
    /// than `runs` executions.
    pub limit: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { runs: 20, settle: Duration::from_millis(500), limit: Duration::from_secs(2) }
    }
}

impl Effort {
    /// Whether the measurement can end after `runs` executions, which took the time `elapsed`.
    pub fn is_reached(&self, runs: usize, elapsed: Duration) -> bool {
        (runs >= self.runs && elapsed >= self.settle) || elapsed >= self.limit
    }

    fn warm_up(&self) -> Effort {
        Effort { runs: self.runs / 10 + 1, settle: self.settle / 5, limit: self.limit / 5 }
    }
}

/// Executes the program repeatedly on its current inputs, first to warm up and then to measure the
/// execution times.
///
/// # Errors
/// Fails if an execution fails.
pub fn measure(session: &mut Session, effort: Effort) -> Result<Timing, RunError> {
    repeat(session, effort.warm_up())?;
    let mut samples = repeat(session, effort)?;
    samples.sort();
    let us = |d: Duration| d.as_secs_f64() * 1e6;
    Ok(Timing { median_us: us(samples[samples.len() / 2]), min_us: us(samples[0]), runs: samples.len() })
}

/// Executes the program until `effort` is reached, but at least once. Returns the execution times.
fn repeat(session: &mut Session, effort: Effort) -> Result<Vec<Duration>, RunError> {
    let begin = Instant::now();
    let mut samples = Vec::with_capacity(effort.runs);
    loop {
        samples.push(session.execute()?);
        if effort.is_reached(samples.len(), begin.elapsed()) {
            return Ok(samples);
        }
    }
}
