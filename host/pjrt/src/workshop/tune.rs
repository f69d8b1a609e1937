//! `fusebox.tune`: measures which emitter is fastest for each fusion of a program, and stores the
//! choices.

use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_choices::{database_path, open_database};
use fusebox_workshop::tune::{self, Progress, TunedQuestion, TuningSettings};
use serde::Deserialize;
use serde_json::{Value, json};

use super::interface::{NamedOptions, Request, text, user_options};
use crate::compiler::{Tuned, choices_have_changed, compilation_options, warn};
use crate::error::{Answer, Error};
use crate::progress::ProgressLine;

/// Whether the user has interrupted the tuning.
static STOP: AtomicBool = AtomicBool::new(false);

#[derive(Deserialize)]
struct Wish {
    name: String,
    options: NamedOptions,
    /// Whether to repeat the measurements whose results the database already contains.
    again: bool,
}

/// Ends the tuning after the current measurement.
pub fn interrupt() {
    STOP.store(true, Ordering::Relaxed);
}

pub fn tune(request: &Request<'_>) -> Answer<Value> {
    let Wish { name, options, again } = request.read()?;
    let user = user_options(options)?;
    let mut compile = compilation_options(&user, Tuned::Unused)?;
    compile.dump = Default::default();
    compile.cache = Default::default();
    tune::check_target(&compile.target).map_err(Error::invalid)?;
    let place = database_path(None)
        .ok_or_else(|| Error::precondition("there is no folder for choices: set HOME or XDG_CACHE_HOME"))?;
    let source = request.source(&name);
    let inputs = request.inputs(&source.parse()?)?;
    let database = open_database(&place, false, &mut warn)?;
    STOP.store(false, Ordering::Relaxed);
    let run = fusebox_runtime::Options { threads: compile.threads, ..Default::default() };
    let (seed, program) = (inputs.seed, Some(inputs));
    let settings = TuningSettings { compile, run, locked: false, again, seed, program, stop: &STOP };
    let line = ProgressLine::begin("tuning");
    let report = tune::tune(&source, &settings, &database, &mut |progress| show(&line, progress));
    drop(line);
    // Decisions are stored as they are made, also if a later one fails.
    choices_have_changed();
    let report = report?;
    Ok(json!({
        "text": text(|out| tune::write_summary(out, std::slice::from_ref(&report)))?,
        "rows": report.rows.iter().map(described).collect::<Vec<_>>(),
        "warnings": report.warnings,
        "interrupted": report.interrupted,
        "database": place,
    }))
}

fn described(row: &TunedQuestion) -> Value {
    let (chosen, ratio) = (&row.decision.chosen, row.ratio());
    json!({
        "fusion": row.name,
        "question": row.question.to_string(),
        "chosen": chosen.spec,
        "instead_of": chosen.instead_of,
        "ratio": ratio.ratio,
        "interval": [ratio.low, ratio.high],
        "uses": row.uses,
        "origin": row.origin,
        "contenders": row.decision.figures,
    })
}

fn show(line: &ProgressLine, progress: Progress<'_>) {
    match progress {
        Progress::Begun(questions) => line.say(format!("{questions} questions")),
        Progress::Compiling(name, count) => line.say(format!("{name}, {count} are compiled")),
        Progress::Measuring(name, count) => line.say(format!("{name}, {count} are measured")),
        Progress::Done(_) => {}
        Progress::Trying(count) => line.say(format!("trying {count} winners in the whole program")),
    }
}
