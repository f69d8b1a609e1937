//! Times of the steps of many runs of one program.

use std::collections::HashMap;
use std::time::Duration;

use fusebox_runtime::{Executable, Thunk, bytes_moved};

use super::facts::StepFacts;
use super::report::{Profile, ProfiledStep, Slice};
use crate::roof::{Roof, WorkAmount};
use crate::statistics::median;

/// Times of many runs of a program. Each thunk is identified by its address, so the executable must
/// not move in memory as long as runs are added.
#[derive(Debug, Default)]
pub struct TimedRuns {
    /// Number of runs.
    pub runs: usize,
    numbers: HashMap<usize, usize>,
    steps: Vec<TimedThunk>,
    /// The steps of the last run: indices into `steps`, and microseconds.
    last: Vec<(usize, f64)>,
}

#[derive(Debug)]
struct TimedThunk {
    thunk: Thunk,
    /// Number of executions in each run.
    times_of_runs: Vec<usize>,
    us_of_runs: Vec<f64>,
}

/// The method that computes one time from the times of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// The median of the times of the runs, with the number of executions in the last run.
    MedianRun,
    /// The sum of the times and of the executions over all runs.
    Sum,
}

impl TimedRuns {
    /// Adds the executed thunks of a run, in order. Returns two numbers for each executed thunk:
    /// its number among all different thunks, and its microseconds.
    pub fn add<'t>(&mut self, run: impl IntoIterator<Item = (&'t Thunk, Duration)>) -> &[(usize, f64)] {
        let mut of_run: Vec<(usize, f64)> = vec![(0, 0.0); self.steps.len()];
        self.last.clear();
        for (thunk, time) in run {
            let number = *self.numbers.entry(std::ptr::from_ref(thunk).addr()).or_insert_with(|| {
                self.steps.push(TimedThunk {
                    thunk: thunk.clone(),
                    times_of_runs: vec![0; self.runs],
                    us_of_runs: vec![0.0; self.runs],
                });
                self.steps.len() - 1
            });
            let us = time.as_secs_f64() * 1e6;
            of_run.resize(self.steps.len(), (0, 0.0));
            of_run[number].0 += 1;
            of_run[number].1 += us;
            self.last.push((number, us));
        }
        for (step, (times, us)) in self.steps.iter_mut().zip(of_run) {
            step.times_of_runs.push(times);
            step.us_of_runs.push(us);
        }
        self.runs += 1;
        &self.last
    }

    /// Returns a row for each step, in the order in which the steps were first executed. `facts`
    /// are the facts about the program's steps, and `roof` returns the roof of some work.
    ///
    /// # Errors
    /// If `roof` fails.
    pub fn rows<E>(
        &self,
        executable: &Executable,
        facts: &[StepFacts],
        summary: Summary,
        mut roof: impl FnMut(Option<&StepFacts>, WorkAmount) -> Result<Roof, E>,
    ) -> Result<Vec<ProfiledStep>, E> {
        let row = |step: &TimedThunk| {
            let facts = facts_about(&step.thunk, executable, facts);
            let known = facts.and_then(|it| it.predicted.as_ref());
            let work = known.map_or_else(
                || WorkAmount { bytes: bytes_moved(&step.thunk), operations: 0.0 },
                |predicted| predicted.work,
            );
            let (times, us) = match summary {
                Summary::MedianRun => {
                    (step.times_of_runs.last().copied().unwrap_or(0), median(step.us_of_runs.clone()))
                }
                Summary::Sum => (step.times_of_runs.iter().sum(), step.us_of_runs.iter().sum()),
            };
            let (name, by) = executable.name_and_maker(&step.thunk);
            let roof = roof(facts, work)?;
            Ok(ProfiledStep {
                program: String::new(),
                name,
                by,
                times,
                us,
                predicted_us: known.map(|it| it.us * times as f64),
                work,
                roof,
                bound: roof.bound(),
                of_roof: if us > 0.0 { times as f64 * roof.us() / us } else { 0.0 },
                lines: facts.map(|it| it.lines.clone()).unwrap_or_default(),
            })
        };
        self.steps.iter().map(row).collect()
    }

    /// Returns the profile of these rows. The steps of the profile are those of the last run.
    pub fn profile(&self, rows: Vec<ProfiledStep>) -> Profile {
        let mut now = 0.0;
        let steps = self.last.iter().map(|&(row, us)| {
            now += us;
            Slice { row, begin_us: now - us, us }
        });
        Profile { runs: self.runs, steps: steps.collect(), ..Profile::of_rows(rows) }.sorted()
    }
}

fn facts_about<'f>(thunk: &Thunk, executable: &Executable, facts: &'f [StepFacts]) -> Option<&'f StepFacts> {
    let name = match thunk {
        Thunk::Kernel { kernel, .. } => &executable.kernels[*kernel as usize].symbol,
        Thunk::HostOp { op, .. } => &executable.host_ops[*op as usize].name,
        _ => return None,
    };
    facts.iter().find(|it| it.name == *name)
}
