//! `fusebox tune`: measures which emitter is fastest for each fusion, and stores the choices.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_choices::{database_path, open_database};
use fusebox_compiler::Phase;
use fusebox_run::terminal;
use fusebox_workshop::tune::{self, Choices, Database, DecisionOrigin, Progress, TuningReport, TuningSettings};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::arguments::{CommonArguments, Tune, TunedChoice};
use crate::exit::Failure;
use crate::progress::ProgressReporter;
use crate::{emitters, guard, module, running};

pub fn run(arguments: &Tune) -> Result<(), Failure> {
    arguments.modules.iter().for_each(|module| {
        guard::will_read_choices(&arguments.compiling.emitters, module::folder_of(module));
    });
    if !arguments.compiling.mlir_passes.is_empty() {
        return Err(Failure::usage("tune keeps choices for kernels as fusebox compiles them: leave out --mlir-passes"));
    }
    if arguments.inputs.inputs.is_some() && arguments.modules.len() > 1 {
        return Err(Failure::usage("--inputs applies to one module: tune the other modules with separate commands"));
    }
    let place = database_path(arguments.tuned.as_deref())
        .ok_or_else(|| Failure::usage("there is no folder for choices: set HOME, or name a file with --tuned"))?;
    let files = [&arguments.import, &arguments.inputs.inputs].into_iter().flatten();
    guard::check_among(files.chain(&arguments.modules).chain([&place]), &arguments.export)?;
    let locked = arguments.compiling.emitters.locked;
    let imported = arguments.import.as_deref().map(tune::read).transpose()?.unwrap_or_default();
    let database = open_database(&place, locked, &mut terminal::complain)?;
    database.import(&imported)?;
    let stop = stopped_by_interrupt()?;
    let (mut reports, mut choices) = (Vec::new(), Choices::new());
    for path in &arguments.modules {
        let source = module::read_for(path, &arguments.compiling, &arguments.inputs)?;
        let compile = module::options(&common(arguments, path), None, Phase::Run, Vec::new())?;
        tune::check_target(&compile.target).map_err(Failure::usage)?;
        emitters::remark_on_builds([&compile.emitters.registry]);
        let run = running::options(&arguments.compiling)?;
        let device = tune::device(&compile);
        let (again, seed) = (arguments.again, arguments.inputs.seed);
        let program = (!arguments.fusions_alone).then(|| arguments.inputs.clone());
        let settings = TuningSettings { compile, run, locked, again, seed, program, stop: &stop };
        let bar = ProgressReporter::new(&source.name, &arguments.progress);
        let report = tune::tune(&source, &settings, &database, &mut |progress| show(&bar, progress));
        bar.end();
        let report = report?;
        report.warnings.iter().for_each(|warning| terminal::complain(&format!("warning: {warning}")));
        let kept = report.rows.iter().filter(|row| row.origin != DecisionOrigin::Nobody);
        choices.entry(device).or_default().extend(kept.map(|row| (row.question, row.decision.chosen.clone())));
        reports.push(report);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if !arguments.modules.is_empty() {
        terminal::print(|out| tune::write_summary(out, &reports))?;
    }
    if arguments.predictions {
        terminal::print(|out| tune::write_predictions(out, &reports))?;
    }
    end(&reports, stop.load(Ordering::Relaxed))?;
    if locked && !imported.is_empty() {
        // `database` is a copy. Its import succeeded, so the file gets the choices too.
        Database::open(&place)?.import(&imported)?;
    }
    if let Some(path) = &arguments.export {
        let text = tune::write(&choices).map_err(|error| Failure::Bug(error.to_string()))?;
        fusebox_files::write(path, text.as_bytes())?;
    }
    Ok(())
}

/// Registers the interrupt handler. The first interrupt stops the tuning after the current
/// measurement; the second ends the process.
fn stopped_by_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    flag::register_conditional_default(SIGINT, stop.clone())
        .and_then(|_| flag::register(SIGINT, stop.clone()))
        .map_err(|error| Failure::input(format!("cannot listen to interrupts: {error}")))?;
    Ok(stop)
}

fn end(reports: &[TuningReport], is_stopped: bool) -> Result<(), Failure> {
    let left: usize = reports.iter().map(|report| report.interrupted).sum();
    if is_stopped {
        Err(Failure::Input(format!(
            "interrupted: {left} fusions of the last module are not tuned, and nothing is exported; finished \
             measurements are kept, and the same command resumes from there"
        )))
    } else {
        Ok(())
    }
}

/// Returns the arguments for one module, in the form that other commands use.
fn common(arguments: &Tune, module: &Path) -> CommonArguments {
    CommonArguments {
        module: module.into(),
        compiling: arguments.compiling.clone(),
        tuned: TunedChoice { tuned: None, no_tuned: true },
        dump_to: None,
    }
}

fn show(bar: &ProgressReporter, progress: Progress<'_>) {
    match progress {
        Progress::Begun(questions) => bar.expect(questions),
        Progress::Compiling(name, count) => bar.say(format!("{name}, {count} are compiled")),
        Progress::Measuring(name, count) => bar.say(format!("{name}, {count} are measured")),
        Progress::Done(_) => bar.advance(1),
        Progress::Trying(count) => bar.say(format!("trying {count} winners in the whole program")),
    }
}
