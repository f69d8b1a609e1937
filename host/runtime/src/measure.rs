//! Timing of repeated executions.

use std::time::{Duration, Instant};

use crate::{Program, RunError};

/// Times of single executions.
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
    /// Executions enough for a median, once `settle` has passed.
    pub runs: usize,
    /// Time below which short programs go on.
    pub settle: Duration,
    /// Time after which long programs stop, even with fewer executions.
    pub limit: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { runs: 20, settle: Duration::from_millis(500), limit: Duration::from_secs(2) }
    }
}

impl Effort {
    /// Whether so many executions in that time are enough.
    pub fn is_reached(&self, runs: usize, elapsed: Duration) -> bool {
        (runs >= self.runs && elapsed >= self.settle) || elapsed >= self.limit
    }

    fn warm_up(&self) -> Effort {
        Effort { runs: self.runs / 10 + 1, settle: self.settle / 5, limit: self.limit / 5 }
    }
}

/// Executes the program on its resident inputs, first to warm up, then to measure.
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

/// Durations of at least one execution.
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
