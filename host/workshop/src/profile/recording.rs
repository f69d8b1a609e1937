//! Records the runs of several programs in the order of execution.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fusebox_runtime::{LoadedExecutable, Thunk};

use super::facts::StepFacts;
use super::report::{Execution, Profile, ProfiledStep, Slice};
use super::timed::{Summary, TimedRuns};
use crate::roof::Roof;

/// Largest number of executed steps that the trace contains. Perfetto opens traces of this size in
/// seconds.
const MOST_STEPS: usize = 100_000;

/// The recorded runs of programs.
#[derive(Debug)]
pub struct Recording {
    begin: Instant,
    programs: Vec<RecordedProgram>,
    executions: Vec<Execution>,
    /// For each recorded step: the number of the program, the number of the step in the program,
    /// the beginning of the step, and the time that the step took, both in microseconds.
    steps: Vec<(usize, usize, f64, f64)>,
    untraced: usize,
}

#[derive(Debug)]
struct RecordedProgram {
    /// The name of the program, with a number if another program has the same name.
    name: String,
    /// The program, which is kept so that the addresses of its thunks stay valid.
    program: LoadedExecutable,
    facts: Arc<[StepFacts]>,
    runs: TimedRuns,
}

impl Recording {
    /// Begins a recording.
    pub fn begin() -> Recording {
        Recording {
            begin: Instant::now(),
            programs: Vec::new(),
            executions: Vec::new(),
            steps: Vec::new(),
            untraced: 0,
        }
    }

    /// Adds a run of a program that began at `begin`: the executed thunks of `program`, in order,
    /// with their times. `facts` are the facts about the program's steps.
    pub fn add(
        &mut self,
        program: &LoadedExecutable,
        facts: &Arc<[StepFacts]>,
        begin: Instant,
        run: &[(&Thunk, Duration)],
    ) {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let is_known = |it: &RecordedProgram| std::ptr::eq(it.program.executable(), program.executable());
        let number = self.programs.iter().position(is_known).unwrap_or_else(|| {
            let (program, facts) = (program.clone(), Arc::clone(facts));
            let same = self.programs.iter().filter(|it| it.program.executable().name == program.executable().name);
            let name = match same.count() {
                0 => program.executable().name.clone(),
                before => format!("{} ({})", program.executable().name, before + 1),
            };
            self.programs.push(RecordedProgram { name, program, facts, runs: TimedRuns::default() });
            self.programs.len() - 1
        });
        let begin_us = us(begin.saturating_duration_since(self.begin));
        let mut now = begin_us;
        let steps = self.programs[number].runs.add(run.iter().copied());
        let is_traced = self.steps.len() + steps.len() <= MOST_STEPS;
        for &(step, us) in steps {
            if is_traced {
                self.steps.push((number, step, now, us));
            }
            now += us;
        }
        if is_traced {
            let program = self.programs[number].name.clone();
            self.executions.push(Execution { program, begin_us, us: now - begin_us });
        } else {
            self.untraced += steps.len();
        }
    }

    /// Returns the times of all runs. The roofs are taken from the predictions, so they follow from
    /// the device descriptions.
    pub fn profile(&self) -> Profile {
        let mut rows: Vec<ProfiledStep> = Vec::new();
        // The number of the row of each step of each program.
        let mut places: Vec<Vec<usize>> = Vec::new();
        for RecordedProgram { name, program, facts, runs } in &self.programs {
            let first = rows.len();
            let mut of_steps = Vec::new();
            let executable = program.executable();
            let described = |facts: Option<&StepFacts>, _| {
                Ok::<_, Infallible>(
                    facts.and_then(|it| it.predicted).map_or_else(Roof::default, |predicted| predicted.roof),
                )
            };
            let Ok(of_program) = runs.rows(executable, facts, Summary::Sum, described);
            for row in of_program {
                // A program may launch a kernel at several places.
                let same = rows[first..].iter().position(|it| (&it.name, &it.by) == (&row.name, &row.by));
                of_steps.push(same.map_or(rows.len(), |place| first + place));
                match same {
                    Some(place) => rows[first + place].add(row),
                    None => rows.push(ProfiledStep { program: name.clone(), ..row }),
                }
            }
            places.push(of_steps);
        }
        let slice = |&(program, step, begin_us, us): &(usize, usize, f64, f64)| Slice {
            row: places[program][step],
            begin_us,
            us,
        };
        let profile = Profile {
            runs: self.programs.iter().map(|it| it.runs.runs).sum(),
            steps: self.steps.iter().map(slice).collect(),
            executions: self.executions.clone(),
            untraced: self.untraced,
            ..Profile::of_rows(rows)
        };
        profile.sorted()
    }
}
