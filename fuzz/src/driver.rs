//! Starts workers and detects failures that a worker cannot detect itself: signals and hangs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::worker::{COUNTS, Cases, FOUND, RUNS};

/// Time limit after which a case counts as hanging. Cases take milliseconds, but the machine may be
/// busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time limit of a case that runs code compiled from damaged text.
const PATIENCE_WITH_DAMAGED_CODE: Duration = Duration::from_secs(60);
/// First words of the message that reports a case that does not end.
const NO_END: &str = "no end";
/// Number of findings after which the run of a target ends.
const MOST_FINDINGS: usize = 10;

/// The result of running the cases of one target.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of cases run.
    pub cases: u64,
    /// Number of cases with each outcome. Workers report these numbers from time to time. If a
    /// finding ends a worker, the cases after the worker's last report are not counted.
    pub outcomes: BTreeMap<String, u64>,
    /// The findings. Each entry holds the number of the case and a description of the finding.
    pub findings: Vec<(u64, String)>,
}

/// Runs the cases of a target in worker processes. `program` must be the binary of this crate,
/// because workers are started from it.
///
/// # Errors
/// If a process cannot be started, or the folder `findings` cannot be created.
pub fn run(program: &Path, cases: &Cases, findings: &Path) -> std::io::Result<Report> {
    run_with_patience(program, cases, findings, PATIENCE)
}

/// Runs the cases of a target as [`run`] does. A case that takes longer than `patience` counts as
/// hanging.
///
/// # Errors
/// The errors of [`run`].
pub fn run_with_patience(
    program: &Path,
    cases: &Cases,
    findings: &Path,
    patience: Duration,
) -> std::io::Result<Report> {
    std::fs::create_dir_all(findings)?;
    let (start, mut report) = (Instant::now(), Report::default());
    let mut rest = cases.clone();
    loop {
        rest.time = cases.time.saturating_sub(start.elapsed());
        let input = findings.join(format!("{}-{}-{}.input", cases.target, cases.seed, rest.first));
        let ended = run_worker(program, &rest, &input, patience)?;
        report.cases += ended.cases;
        for (outcome, count) in ended.outcomes {
            *report.outcomes.entry(outcome).or_default() += count;
        }
        let Some(case) = ended.finding.as_ref().map(|(case, _)| *case).or(ended.broken_off) else { return Ok(report) };
        if input.exists() {
            let named = findings.join(format!("{}-{}-{case}.input", cases.target, cases.seed));
            std::fs::rename(&input, named)?;
        }
        report.findings.extend(ended.finding);
        rest.most = rest.most.saturating_sub(ended.cases);
        rest.first = case + 1;
        if report.findings.len() == MOST_FINDINGS || start.elapsed() >= cases.time || rest.most == 0 {
            return Ok(report);
        }
    }
}

#[derive(Default)]
struct Ended {
    cases: u64,
    outcomes: Vec<(String, u64)>,
    finding: Option<(u64, String)>,
    /// Number of a case that ended the worker but is not a finding. Such a case ran code compiled
    /// from damaged text.
    broken_off: Option<u64>,
}

fn run_worker(program: &Path, cases: &Cases, input: &Path, patience: Duration) -> std::io::Result<Ended> {
    let mut child = Command::new(program)
        .args(["--worker", &cases.target, "--seed", &cases.seed.to_string()])
        .args(["--first", &cases.first.to_string(), "--cases", &cases.most.to_string()])
        .args(["--seconds", &cases.time.as_secs_f64().to_string()])
        .args((!cases.is_memory_limited).then_some("--no-memory-limit"))
        .arg("--input-file")
        .arg(input)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let lines = lines_of(&mut child);
    let mut ended = Ended::default();
    let mut case = cases.first;
    let mut runs_damaged_code = false;
    let found = loop {
        let patience = if runs_damaged_code { patience.min(PATIENCE_WITH_DAMAGED_CODE) } else { patience };
        match lines.recv_timeout(patience) {
            Ok(line) => {
                runs_damaged_code = line == RUNS;
                if let Some(counts) = line.strip_prefix(COUNTS) {
                    let count = |text: &str| text.split_once('=').map(|(k, n)| (k.to_owned(), n.parse().unwrap_or(0)));
                    ended.outcomes.extend(counts.split_whitespace().filter_map(count));
                } else if let Some(what) = line.strip_prefix(FOUND) {
                    break Some(what.replace('\u{2028}', "\n"));
                } else if let Ok(number) = line.parse() {
                    case = number;
                    ended.cases += 1;
                }
            }
            Err(RecvTimeoutError::Timeout) => break Some(format!("{NO_END} after {} s", patience.as_secs_f64())),
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                break (!status.success()).then(|| format!("the process ended: {status}"));
            }
        }
    };
    // The process has ended, or must end now.
    _ = child.kill();
    child.wait()?;
    match found {
        Some(what) if runs_damaged_code => {
            let how = if what.starts_with(NO_END) { "damaged-code-slow" } else { "damaged-code-died" };
            ended.outcomes.push((how.into(), 1));
            ended.broken_off = Some(case);
        }
        found => ended.finding = found.map(|what| (case, what)),
    }
    Ok(ended)
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}
