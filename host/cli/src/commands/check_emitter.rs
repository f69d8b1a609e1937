//! `fusebox check-emitter`: checks whether the emitters of a library conform to the interface.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use fusebox_choices::bundled;
use fusebox_compiler::Source;
use fusebox_conformance::examine::{ExaminationReport, ExaminationSettings, examine, fusions_of};
use fusebox_files::SizeLimit;
use fusebox_plugins::ProcessLimits;
use fusebox_run::terminal;
use fusebox_workshop::sources::{Sources, SourcesError};
use serde_json::json;

use crate::driver::{DriverChoice, this_program};
use crate::exit::Failure;
use crate::progress::{ProgressChoice, ProgressReporter};
use crate::source;

/// Limits of the library's process. An emitter usually answers in milliseconds, so these limits are
/// generous.
const LIMITS: ProcessLimits = ProcessLimits { time: Duration::from_secs(10), memory: Some(4 << 30) };

/// `fusebox check-emitter`
#[derive(Debug, Args)]
pub struct CheckEmitter {
    /// The library, which runs in a separate process; or the folder of its crate, which is built
    /// first
    pub library: PathBuf,
    /// Check only the library's emitters of this kind
    #[arg(long)]
    pub kind: Option<String>,
    /// Also check the emitters with the fusions of this module that they accept; may be repeated
    #[arg(long = "module", value_name = "FILE")]
    pub modules: Vec<PathBuf>,
    /// First seed of the random fusions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u32,
    /// Number of random fusions
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub cases: u32,
    /// Write the smallest fusion of each failure to a file in this folder
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Write into the folder of --output even if it is not empty
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Build and check the crate again whenever one of its files is saved
    #[arg(long)]
    pub watch: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub driver: DriverChoice,
    #[command(flatten)]
    pub progress: ProgressChoice,
}

pub fn run(arguments: &CheckEmitter) -> Result<(), Failure> {
    fusebox_files::will_read(&arguments.library);
    arguments.driver.driver.iter().for_each(|library| fusebox_files::will_read(library));
    if let Some(folder) = &arguments.output {
        fusebox_files::check_folder(folder, arguments.force)?;
    }
    if arguments.watch {
        return watch(arguments);
    }
    let reports = if arguments.library.is_dir() {
        check(arguments, &Sources::new(&arguments.library).build()?)?
    } else {
        check(arguments, &arguments.library)?
    };
    match reports.iter().find(|report| !report.conforms()) {
        None => Ok(()),
        Some(report) if report.is_undecided() => {
            Err(Failure::input(format!("not all fusions of {} could be checked", report.emitter)))
        }
        Some(report) => Err(Failure::input(format!("{} does not conform", report.emitter))),
    }
}

/// Builds and checks the crate, and repeats this after every change, until the user stops the
/// program.
fn watch(arguments: &CheckEmitter) -> Result<(), Failure> {
    if !arguments.library.is_dir() {
        return Err(Failure::usage(format!(
            "--watch takes the folder of a crate, not {}",
            arguments.library.display()
        )));
    }
    let sources = Sources::new(&arguments.library);
    let changes = sources.watch()?;
    loop {
        let started = Instant::now();
        let checked = sources.build().map_err(Failure::from).and_then(|library| check(arguments, &library));
        match checked {
            Ok(_) => {}
            Err(Failure::Input(message)) => terminal::complain(&format!("error: {message}")),
            Err(other) => return Err(other),
        }
        terminal::complain(&format!("after {:.1} s; waiting for changes", started.elapsed().as_secs_f64()));
        if !changes.wait() {
            return Ok(());
        }
    }
}

impl From<SourcesError> for Failure {
    fn from(error: SourcesError) -> Self {
        Failure::input(error)
    }
}

/// Checks a library and prints the reports.
fn check(arguments: &CheckEmitter, library: &Path) -> Result<Vec<ExaminationReport>, Failure> {
    let mut registry = bundled()?;
    let bundled = registry.emitters().len();
    let program = this_program()?;
    let driver = arguments.driver.chosen()?.map(Arc::new);
    registry.load_isolated(library, &program, LIMITS).map_err(Failure::input)?;
    let read = |module: &PathBuf| source::of_file(module, SizeLimit::default());
    let sources = arguments.modules.iter().map(read).collect::<Result<Vec<Source>, Failure>>()?;
    let (mut reports, mut failures) = (Vec::new(), Vec::new());
    for (number, emitter) in registry.emitters().iter().enumerate().skip(bundled) {
        let kind = &emitter.descriptor().kind.0;
        if arguments.kind.as_ref().is_some_and(|wanted| wanted != kind) {
            continue;
        }
        let first = u64::from(arguments.seed);
        let seeds = first..first + u64::from(arguments.cases);
        let mut of_modules = Vec::new();
        for source in &sources {
            match fusions_of(&registry, number, source) {
                Ok(found) => of_modules.extend(found),
                Err(failure) => failures.push(format!("{} on {}: {}", failure.emitter, failure.place, failure.fault)),
            }
        }
        let settings =
            ExaminationSettings { kind: kind.clone(), seeds, of_programs: true, of_modules, driver: driver.clone() };
        let bar = ProgressReporter::new(&emitter.descriptor().name, &arguments.progress);
        let report = examine(&registry, number, &settings, &bar.of_compiler());
        bar.end();
        if let Some(folder) = &arguments.output {
            write_findings(&report, &emitter.descriptor().name, folder)?;
        }
        if !arguments.json {
            terminal::print(|out| report.write(out))?;
        }
        reports.push(report);
    }
    if let (Some(kind), true) = (&arguments.kind, reports.is_empty()) {
        return Err(Failure::usage(format!("{} has no emitter of kind {kind}", library.display())));
    }
    if arguments.json {
        terminal::print(|out| writeln!(out, "{}", json!(reports)))?;
    }
    // A module may be intended for only one of the library's emitters. Therefore failures on
    // modules are reported after all emitters are checked.
    if failures.is_empty() { Ok(reports) } else { Err(Failure::input(failures.join("\n"))) }
}

/// Writes the fusion of each finding to a file that `fusebox run` can read.
fn write_findings(report: &ExaminationReport, name: &str, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::input(format!("{}: {error}", folder.display())))?;
    for (number, finding) in report.findings.iter().enumerate() {
        let words = finding.words.replace('\n', "\n// ");
        let text = format!("// {}: {}\n// {words}\n{}", report.emitter, finding.promise.broken(), finding.text);
        fusebox_files::write(&folder.join(format!("{name}-{number}.hlo")), text.as_bytes())?;
    }
    Ok(())
}
