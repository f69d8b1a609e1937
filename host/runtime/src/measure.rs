//! Timing of repeated executions.

use std::time::{Duration, Instant};

use crate::{Program, RunError};

/// Statistics of the durations of executions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Median in microseconds.
    pub median_us: f64,
    /// Smallest in microseconds.
    pub min_us: f64,
    /// Number of executions measured.
    pub runs: usize,
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Number of executions that suffices for a median, once `settle` has passed.
    pub runs: usize,
    /// Minimum time: short programs are repeated at least this long.
    pub settle: Duration,
    /// Time after which measuring stops, even with fewer executions.
    pub limit: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { runs: 20, settle: Duration::from_millis(500), limit: Duration::from_secs(2) }
    }
}

impl Effort {
    /// Whether `runs` executions in the time `elapsed` suffice.
    pub fn is_reached(&self, runs: usize, elapsed: Duration) -> bool {
        (runs >= self.runs && elapsed >= self.settle) || elapsed >= self.limit
    }

    fn warm_up(&self) -> Effort {
        Effort { runs: self.runs / 10 + 1, settle: self.settle / 5, limit: self.limit / 5 }
    }
}

/// Executes the program repeatedly on its resident inputs, first to warm up, then to measure.
///
/// # Errors
/// If an execution fails.
pub fn measure(program: &mut Program, effort: Effort) -> Result<Timing, RunError> {
    repeat(program, effort.warm_up())?;
    let mut samples = repeat(program, effort)?;
    samples.sort();
    let us = |d: Duration| d.as_secs_f64() * 1e6;
    Ok(Timing { median_us: us(samples[samples.len() / 2]), min_us: us(samples[0]), runs: samples.len() })
}

/// Executes the program at least once. Returns the durations.
fn repeat(program: &mut Program, effort: Effort) -> Result<Vec<Duration>, RunError> {
    let begin = Instant::now();
    let mut samples = Vec::with_capacity(effort.runs);
    loop {
        samples.push(program.execute()?);
        if effort.is_reached(samples.len(), begin.elapsed()) {
            return Ok(samples);
        }
    }
}
