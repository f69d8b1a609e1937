//! The times of the steps of programs, as data.

use serde::Serialize;

use crate::lines::SourceLines;
use crate::roof::{Bound, Roof, WorkAmount};

/// The times of the steps of one or several programs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Profile {
    /// Number of measured runs.
    pub runs: usize,
    /// The steps. The step with the longest time comes first.
    pub rows: Vec<ProfiledStep>,
    /// The steps of one run, or of all recorded runs, in the order of execution.
    #[serde(skip)]
    pub steps: Vec<Slice>,
    /// The recorded runs as a whole; empty for the profile of one run.
    #[serde(skip)]
    pub executions: Vec<Execution>,
    /// Number of executed steps that `steps` lacks, because a recording keeps a limited number.
    #[serde(skip_serializing_if = "is_zero")]
    pub untraced: usize,
}

/// A step of a program: a kernel, a copy, or an operation of the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfiledStep {
    /// Name of the program; empty for the profile of one program.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    pub name: String,
    /// Name and version of the kernel's emitter. If the step is not a kernel, `by` is the part of
    /// the runtime that executes the step.
    pub by: String,
    /// Number of executions of the step in one run, or in all runs of a recording.
    pub times: usize,
    /// Microseconds that one run spends in this step, as the median over all runs. In a recording,
    /// the sum of the microseconds over all runs.
    pub us: f64,
    /// Predicted microseconds of the kernel, for the same number of executions; `None` for other
    /// steps.
    pub predicted_us: Option<f64>,
    /// Work of one execution. The work of a kernel is the number of bytes that the plan states, and
    /// the number of operations. The work of another step is the number of bytes of all its
    /// buffers.
    #[serde(flatten)]
    pub work: WorkAmount,
    /// Least time for the work of one execution.
    #[serde(flatten)]
    pub roof: Roof,
    /// The resource that limits the speed of the step.
    pub bound: Bound,
    /// The roof of all executions, as a fraction of the measured time `us`.
    pub of_roof: f64,
    /// Lines of the user's program that the step computes, if the program states them.
    #[serde(skip_serializing_if = "SourceLines::is_empty")]
    pub lines: SourceLines,
}

/// An executed step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// Index of the step's row.
    pub row: usize,
    /// Microseconds from the beginning of the measurement to the beginning of the step.
    pub begin_us: f64,
    pub us: f64,
}

/// A recorded run of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    pub program: String,
    /// Microseconds from the beginning of the recording to the beginning of the run.
    pub begin_us: f64,
    pub us: f64,
}

impl ProfiledStep {
    /// Adds the times of another step, for example of another launch of the same kernel, to the
    /// times of this step.
    pub fn add(&mut self, other: ProfiledStep) {
        let roofs = [(self.of_roof, self.us), (other.of_roof, other.us)].map(|(of_roof, us)| of_roof * us);
        self.times += other.times;
        self.us += other.us;
        self.predicted_us = self.predicted_us.zip(other.predicted_us).map(|(one, other)| one + other);
        self.of_roof = if self.us > 0.0 { (roofs[0] + roofs[1]) / self.us } else { 0.0 };
        self.lines.extend(&other.lines);
    }

    /// Whether the least time for the step is known.
    pub fn has_roof(&self) -> bool {
        self.roof != Roof::default()
    }
}

impl Profile {
    /// Returns a profile of these rows, without executed steps.
    pub fn of_rows(rows: Vec<ProfiledStep>) -> Profile {
        Profile { rows, ..Profile::default() }
    }

    /// Sorts the rows by time, and updates the row index of each step.
    pub fn sorted(mut self) -> Profile {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|&a, &b| self.rows[b].us.total_cmp(&self.rows[a].us));
        let mut place = vec![0; self.rows.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        self.steps.iter_mut().for_each(|step| step.row = place[step.row]);
        self.rows = order.into_iter().map(|row| self.rows[row].clone()).collect();
        self
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
