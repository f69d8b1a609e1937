//! Judges which contenders have right results.

use std::time::Duration;

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ArrayLiteral, Literal};
use fusebox_run::inputs::{self, InputChoice};
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{Executable, Options, RunError};

use super::TuningSettings;
use super::compiled::CompiledContender;
use super::database::{ContenderFigures, RaceOutcome};
use crate::WorkshopError;
use crate::reference::Reference;

/// A contender is excluded from the race if its first run is hopelessly slow: longer than `LONG`,
/// and more than `HOPELESS` times as long as the shortest first run. Cold caches alone cannot make
/// a run so slow.
const HOPELESS: u32 = 8;
const LONG: Duration = Duration::from_millis(4);

/// A program whose result is right.
pub struct Racer {
    /// Position of the contender in the fixed order, which decides ties.
    pub place: usize,
    /// Name of the contender.
    pub name: String,
    pub predicted_us: f64,
    pub executable: Executable,
}

/// The contenders of a question, divided into those that race and those that do not.
pub struct JudgedContenders {
    /// Contenders with right results, in the fixed order.
    pub racers: Vec<Racer>,
    /// The contenders with wrong results and the contenders that are much too slow, with their
    /// positions.
    pub out: Vec<(usize, ContenderFigures)>,
    /// The inputs with which all programs run.
    pub inputs: Vec<ArrayLiteral>,
}

/// Runs every program and compares the result with a reference. If the fusion needs little work,
/// the reference is the interpreter's result. Otherwise, the reference is the result of the first
/// program that a bundled emitter built. If there is no bundled emitter, the reference is the
/// result of the first program.
///
/// # Errors
/// If the inputs cannot be loaded.
pub fn all(
    made: Vec<CompiledContender>,
    fusion: &Fusion,
    choice: &InputChoice,
    settings: &TuningSettings<'_>,
) -> Result<JudgedContenders, WorkshopError> {
    let shapes: Vec<_> =
        fusion.computation().parameters().iter().map(|&id| fusion.computation().instruction(id)).collect();
    let shapes: Vec<_> = shapes.into_iter().map(|parameter| parameter.shape.clone()).collect();
    let values = inputs::load(choice, &shapes)?;
    let mut by_trust: Vec<&CompiledContender> = made.iter().collect();
    by_trust.sort_by_key(|made| !made.is_bundled);
    let programs = by_trust.iter().filter_map(|made| made.program.as_ref().ok());
    let programs = programs.map(|(program, _)| program.clone());
    let reference = Reference::new(&fusion.module, &values, &settings.run, programs);
    // Returns the time of the program. Fails if rounding does not explain how the program's result
    // differs from the reference.
    let check = |program: &Executable| {
        let (found, time) = run(program, &values, &settings.run)?;
        match reference.as_ref().map_or(Ok(None), |reference| reference.fault(&found))? {
            Some(difference) => Err(format!("its result is wrong: {difference}")),
            None => Ok(time),
        }
    };
    let (mut right, mut out) = (Vec::new(), Vec::new());
    for CompiledContender { place, name, program, .. } in made {
        let checked =
            program.and_then(|(executable, predicted_us)| Ok((check(&executable)?, executable, predicted_us)));
        match checked {
            Ok((time, executable, predicted_us)) => {
                right.push((time, Racer { place, name, predicted_us, executable }));
            }
            Err(reason) => out.push((place, ContenderFigures::of(name, f64::NAN, RaceOutcome::Refused(reason)))),
        }
    }
    let fastest = right.iter().map(|(time, _)| *time).min().unwrap_or_default();
    let is_hopeless = |time: Duration, place: usize| place > 0 && time > LONG && time > HOPELESS * fastest;
    let mut racers = Vec::new();
    for (number, (time, racer)) in right.into_iter().enumerate() {
        if is_hopeless(time, number) {
            let outcome = RaceOutcome::Slower { us: time.as_secs_f64() * 1e6 };
            out.push((racer.place, ContenderFigures::of(racer.name, racer.predicted_us, outcome)));
        } else {
            racers.push(racer);
        }
    }
    let inputs = inputs::arrays(&values);
    Ok(JudgedContenders { racers, out, inputs })
}

/// Runs a program, and returns its result and its time.
fn run(program: &Executable, values: &[Literal], options: &Options) -> Result<(Literal, Duration), String> {
    let mut session = Session::load(program.clone(), options).map_err(|error| error.to_string())?;
    let mut run = || {
        session.set_inputs(&inputs::arrays(values))?;
        let time = session.execute()?;
        Ok((session.result()?, time))
    };
    run().map_err(|error: RunError| error.to_string())
}
