//! Examines an emitter that a library contains. Implements `fusebox check-emitter`.
//!
//! ```text
//! case.rs     fusions: typical ones (typical.rs), awkward sizes, random ones from seeds, impossible ones
//! modules.rs  fusions of an author's own modules
//! on_driver.rs  a fusion on the software driver
//! trial.rs    one fusion on one machine: planned, compiled, simulated, run, compared
//! shrink.rs   a smaller fusion that breaks the same promise
//! report.rs   the report of an examination, as text and as data
//! ```

mod case;
mod modules;
mod on_driver;
mod report;
mod shrink;
mod trial;
mod typical;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fusebox_compiler::{Advance, Progress};
use fusebox_plugins::Registry;
use fusebox_workshop::driver::SoftwareDriver;

pub use case::{ModuleFusion, UncheckedFusion};
pub use modules::fusions_of;
pub use report::{CheckCounts, ExaminationReport, Finding};
pub use trial::{Promise, TestedTarget};

use case::FusionCase;
use trial::{BrokenPromise, TestedEmitter, TrialError};

/// Number of faults, counted per fusion and target, after which the examination ends.
const MOST_FAILURES: usize = 20;
/// Number of lost emitter processes after which the examination ends. A process is lost if it died
/// or exceeded its time limit. This maximum is small because each lost process may have used its
/// whole time limit.
const MOST_LOSSES: usize = 3;

/// The examination ends when failing fusions have taken this much time in total. The total time is
/// limited because a kernel that never ends takes seconds to fail.
const MOST_LOST_TIME: Duration = Duration::from_secs(20);

/// The fusions with which an emitter is examined.
#[derive(Clone, Debug)]
pub struct ExaminationSettings {
    /// Kind of the random fusions.
    pub kind: String,
    pub seeds: Range<u64>,
    /// Whether typical and impossible fusions are tried before the random fusions.
    pub of_programs: bool,
    /// Fusions of modules. The examination tries the fusions of modules before all other fusions.
    pub of_modules: Vec<ModuleFusion>,
    /// Driver that executes the PTX of kernels. Without a driver, kernels for NVIDIA GPUs are
    /// compiled but not executed.
    pub driver: Option<Arc<SoftwareDriver>>,
}

/// A fusion and a target for which the emitter broke a promise.
struct FailedCase {
    case: FusionCase,
    place: TestedTarget,
    fault: BrokenPromise,
}

/// An examination that has begun.
struct Examination<'e> {
    subject: &'e TestedEmitter,
    report: ExaminationReport,
    broken: Vec<FailedCase>,
    /// The emitter's reasons for declining fusions, each with a count.
    declined: BTreeMap<String, usize>,
    /// Total time of the fusions with a fault.
    lost_time: Duration,
}

/// Examines the emitter with this number in the registry. No other emitter competes, so the
/// examined emitter builds every fusion that it accepts.
pub fn examine(
    registry: &Registry,
    number: usize,
    settings: &ExaminationSettings,
    progress: &Progress,
) -> ExaminationReport {
    let subject = TestedEmitter::new(registry, number, settings.driver.clone());
    let mut cases: Vec<Result<FusionCase, UncheckedFusion>> =
        settings.of_modules.iter().map(FusionCase::of_module).collect();
    if settings.of_programs {
        cases.extend(FusionCase::typical());
        cases.extend(FusionCase::impossible().map(Ok));
    }
    cases.extend(settings.seeds.clone().map(|seed| Ok(FusionCase::generated(&settings.kind, seed))));
    progress.tell(Advance::Begun(cases.len()));
    let mut examination = Examination {
        subject: &subject,
        report: ExaminationReport::of(&subject, settings, cases.len()),
        broken: Vec::new(),
        declined: BTreeMap::new(),
        lost_time: Duration::ZERO,
    };
    for case in cases {
        match case {
            Ok(case) => examination.try_case(&case),
            Err(unchecked) => examination.report.unchecked.push(unchecked),
        }
        progress.tell(Advance::Done(1));
        if examination.is_hopeless() {
            examination.report.ended_early = true;
            break;
        }
    }
    let Examination { report, broken, declined, .. } = examination;
    let failed = broken.iter().map(|failed| failed.case.name.as_str()).collect::<BTreeSet<&str>>().len();
    let declined = most_frequent(declined);
    ExaminationReport { declined, failed, findings: findings(&subject, broken), ..report }
}

impl Examination<'_> {
    /// Tries a fusion on all targets. After a fault, skips the remaining targets, because a fault
    /// on one target usually occurs on the next target too. If there is a software driver, still
    /// tries NVIDIA GPUs, because the driver names the PTX instruction that causes the fault.
    fn try_case(&mut self, case: &FusionCase) {
        let begin = Instant::now();
        let (mut taken, mut has_failed) = (false, false);
        for place in TestedTarget::ALL {
            if has_failed && !(place == TestedTarget::Nvidia && self.subject.driver.is_some()) {
                continue;
            }
            let tried = self.subject.tries(case, place);
            taken |= !matches!(tried, Ok(None));
            match tried {
                Ok(None) => {
                    let reason = self.subject.reason_to_decline(case, place).unwrap_or_default();
                    *self.declined.entry(reason).or_default() += 1;
                }
                Ok(Some(done)) => self.report.add(place, done),
                Err(TrialError::Unknown(failure)) => {
                    self.report.unchecked.push(UncheckedFusion { fusion: case.name.clone(), words: failure.fault });
                    break;
                }
                Err(TrialError::Broken(fault)) => {
                    self.lost_time += begin.elapsed();
                    self.broken.push(FailedCase { case: case.clone(), place, fault });
                    has_failed = true;
                }
            }
        }
        self.report.taken += usize::from(taken && case.is_possible);
    }

    /// Whether so many checks have failed that the remaining fusions are not tried.
    fn is_hopeless(&self) -> bool {
        let lost = self.broken.iter().filter(|broken| broken.fault.lost).count();
        self.broken.len() >= MOST_FAILURES || lost >= MOST_LOSSES || self.lost_time >= MOST_LOST_TIME
    }
}

/// Returns one finding for each pair of a broken promise and a target. Shrinks the smallest fusion
/// for which the promise was broken, and puts the result into the finding.
fn findings(subject: &TestedEmitter, broken: Vec<FailedCase>) -> Vec<Finding> {
    let mut groups: BTreeMap<(Promise, TestedTarget), Vec<FailedCase>> = BTreeMap::new();
    for broken in broken {
        groups.entry((broken.fault.promise, broken.place)).or_default().push(broken);
    }
    let finding = |((promise, place), broken): ((Promise, TestedTarget), Vec<FailedCase>)| {
        let count = broken.len();
        let smallest = broken.into_iter().min_by_key(|broken| (broken.fault.lost, broken.case.text.len()))?;
        let (text, words) = if smallest.fault.lost {
            // Do not shrink the fusion, because every attempt may take the whole time limit of the
            // emitter's process.
            (smallest.case.text.clone(), smallest.fault.words)
        } else {
            shrink::smaller(subject, &smallest.case, place, &smallest.fault)
        };
        let FusionCase { name: fusion, seed, .. } = smallest.case;
        Some(Finding { promise, place, count, fusion, seed, words, text })
    };
    groups.into_iter().filter_map(finding).collect()
}

/// Returns the texts with their counts, in order of decreasing count.
fn most_frequent(counted: BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let mut all: Vec<(String, usize)> = counted.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all
}
