//! `fusebox-fuzz`: runs each target for a limited time, and prints the findings.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use fusebox_fuzz::worker::Cases;
use fusebox_fuzz::{driver, targets, worker};

/// Feeds broken and misleading input to every entry point of fusebox
#[derive(Parser)]
struct Arguments {
    /// Targets to run; default: all
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(targets::names()))]
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Seed of all cases
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the first case
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Largest number of cases of each target
    #[arg(long, default_value_t = u64::MAX)]
    cases: u64,
    /// Do not limit the memory of the workers, because a sanitizer reserves addresses
    #[arg(long)]
    no_memory_limit: bool,
    /// Folder to which the input of each finding is written
    #[arg(long, default_value = "findings")]
    findings: PathBuf,
    /// Run cases of this target in this process; the program starts its workers with this option
    #[arg(long, hide = true)]
    worker: Option<String>,
    /// File to which a worker writes the input of a finding
    #[arg(long, hide = true)]
    input_file: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> std::io::Result<bool> {
    let cases = |target: &str| Cases {
        target: target.to_owned(),
        seed: arguments.seed,
        first: arguments.first,
        most: arguments.cases,
        is_memory_limited: !arguments.no_memory_limit,
        time: Duration::from_secs_f64(arguments.seconds.clamp(0.0, 1e9)),
    };
    if let Some(target) = &arguments.worker {
        return worker::run(&cases(target), arguments.input_file.as_deref());
    }
    let program = std::env::current_exe()?;
    let all = || targets::names().into_iter().map(str::to_owned).collect();
    let wanted = if arguments.targets.is_empty() { all() } else { arguments.targets.clone() };
    let mut is_clean = true;
    for target in wanted {
        let report = driver::run(&program, &cases(&target), &arguments.findings)?;
        let outcomes: Vec<String> = report.outcomes.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let (cases, outcomes) = (report.cases, outcomes.join(", "));
        println!("{target}: seed {}, {cases} cases ({outcomes}), {} findings", arguments.seed, report.findings.len());
        for (case, what) in &report.findings {
            println!("  case {case}: {what}");
        }
        is_clean &= report.findings.is_empty();
    }
    Ok(is_clean)
}
