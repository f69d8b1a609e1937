//! An emitter of a library under examination: `fusebox check-emitter`.
//!
//! ```text
//! case.rs     fusions: as programs have them (written.rs), of awkward sizes, made from seeds, impossible ones
//! modules.rs  fusions of an author's own modules
//! trial.rs    one fusion on one machine: planned, compiled, simulated, run, compared
//! shrink.rs   a smaller fusion that breaks the same promise
//! report.rs   what was tried and what is wrong, for people
//! ```

mod case;
mod modules;
mod report;
mod shrink;
mod trial;
mod written;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use fusebox_compiler::{Advance, Progress};
use fusebox_plugins::Registry;

use crate::Failure;

pub use modules::{OfModule, fusions_of};
pub use report::{Finding, Report, Tried};
pub use trial::{Place, Promise};

use case::Case;
use trial::{Fault, Stopped, Subject};

/// Most fusions that fail before the examination ends.
const MOST_FAILURES: usize = 20;
/// Most times that an emitter's process is lost before it ends: each may have cost all the time that it had.
const MOST_LOSSES: usize = 3;

/// Most time spent on fusions that fail: a kernel that never ends fails only after seconds.
const MOST_LOST_TIME: Duration = Duration::from_secs(20);

/// What to examine with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The kind of the fusions that are made from seeds.
    pub kind: String,
    pub seeds: Range<u64>,
    /// Whether those that programs have, and such as no kernel can compute, are tried first.
    pub of_programs: bool,
    /// Fusions of modules, tried before all others.
    pub of_modules: Vec<OfModule>,
}

/// A promise broken by a fusion.
struct Broken {
    case: Case,
    place: Place,
    fault: Fault,
}

/// Examines the emitter of that number, which bids against nobody: whatever it accepts is its.
///
/// # Errors
/// If nobody knows what one of the fusions gives: a bug in fusebox.
pub fn examine(
    registry: &Registry,
    number: usize,
    settings: &Settings,
    progress: &Progress,
) -> Result<Report, Failure> {
    let subject = Subject::new(registry, number);
    let mut cases = settings.of_modules.iter().map(Case::of_module).collect::<Result<Vec<_>, Failure>>()?;
    if settings.of_programs {
        cases.extend(Case::written()?);
        cases.extend(Case::impossible());
    }
    cases.extend(settings.seeds.clone().map(|seed| Case::generated(&settings.kind, seed)));
    progress.tell(Advance::Begun(cases.len()));
    let mut report = Report::of(&subject, settings, cases.len());
    let mut broken = Vec::new();
    let mut declined: BTreeMap<String, usize> = BTreeMap::new();
    let mut lost_time = Duration::ZERO;
    for case in cases {
        let begin = Instant::now();
        let mut taken = false;
        for place in [Place::Simt, Place::Cpu, Place::Nvidia] {
            match subject.tries(&case, place) {
                Ok(None) => {
                    let reason = subject.reason_to_decline(&case, place).unwrap_or_default();
                    *declined.entry(reason).or_default() += 1;
                }
                Ok(Some(done)) => {
                    taken = true;
                    report.add(place, done);
                }
                Err(Stopped::Unknown(failure)) => return Err(failure),
                Err(Stopped::Broken(fault)) => {
                    taken = true;
                    lost_time += begin.elapsed();
                    broken.push(Broken { case: case.clone(), place, fault });
                    // What is wrong in one place is mostly wrong in the next too.
                    break;
                }
            }
        }
        report.taken += usize::from(taken && case.is_possible);
        let lost = broken.iter().filter(|broken| broken.fault.lost).count();
        progress.tell(Advance::Done(1));
        if broken.len() >= MOST_FAILURES || lost >= MOST_LOSSES || lost_time >= MOST_LOST_TIME {
            report.ended_early = true;
            break;
        }
    }
    report.declined = most_frequent(declined);
    report.failed = broken.len();
    report.findings = findings(&subject, broken);
    Ok(report)
}

/// One finding for each promise and place: the smallest fusion that breaks it, made smaller.
fn findings(subject: &Subject, broken: Vec<Broken>) -> Vec<Finding> {
    let mut groups: BTreeMap<(Promise, Place), Vec<Broken>> = BTreeMap::new();
    for broken in broken {
        groups.entry((broken.fault.promise, broken.place)).or_default().push(broken);
    }
    let finding = |((promise, place), broken): ((Promise, Place), Vec<Broken>)| {
        let count = broken.len();
        let smallest = broken.into_iter().min_by_key(|broken| (broken.fault.lost, broken.case.text.len()))?;
        let (text, words) = match smallest.fault.lost {
            // Every try may cost all the time that its process has.
            true => (smallest.case.text.clone(), smallest.fault.words),
            false => shrink::smaller(subject, &smallest.case, place, &smallest.fault),
        };
        let Case { name: fusion, seed, .. } = smallest.case;
        Some(Finding { promise, place, count, fusion, seed, words, text })
    };
    groups.into_iter().filter_map(finding).collect()
}

/// The most frequent ones first.
fn most_frequent(counted: BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let mut all: Vec<(String, usize)> = counted.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all
}
