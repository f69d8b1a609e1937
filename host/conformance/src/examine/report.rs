//! Defines the report of an examination, as a text and as data.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::ExaminationSettings;
use super::case::UncheckedFusion;
use super::trial::{Promise, TestedEmitter, TestedTarget, TrialCounts};

/// The result of an examination.
#[derive(Clone, Debug, Serialize)]
pub struct ExaminationReport {
    /// Name, version and file of the emitter.
    pub emitter: String,
    /// Kind of the generated fusions.
    pub kind: String,
    /// Number of fusions offered to the emitter.
    pub fusions: usize,
    /// Number of fusions that the emitter accepted on at least one target. Counts only fusions that
    /// a kernel can compute.
    pub taken: usize,
    /// Numbers of successful checks on each target.
    pub places: BTreeMap<TestedTarget, CheckCounts>,
    /// Whether NVIDIA's assembler was installed. If the assembler was installed, it has assembled
    /// the kernels.
    pub has_assembler: bool,
    /// Whether the software driver has executed the kernels for NVIDIA GPUs.
    pub has_driver: bool,
    /// The emitter's reasons for declining fusions, each with a count. The most frequent reason
    /// comes first.
    pub declined: Vec<(String, usize)>,
    /// Number of fusions for which the emitter broke a promise.
    pub failed: usize,
    /// Whether the examination ended early because of too many failures.
    pub ended_early: bool,
    /// The findings, one for each pair of a broken promise and a target.
    pub findings: Vec<Finding>,
    /// The fusions that could not be checked, because their right result is unknown.
    pub unchecked: Vec<UncheckedFusion>,
}

/// Numbers of successful checks on one target.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct CheckCounts {
    /// Number of fusions that the emitter accepted and that passed all checks.
    pub fusions: usize,
    /// Number of plans checked.
    pub plans: usize,
    /// Number of kernels that were compiled. Kernels for NVIDIA GPUs were run only if there was a
    /// software driver. Kernels for other targets were always run.
    pub kernels: usize,
}

/// A promise that the emitter broke, with a small fusion that shows the fault.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub promise: Promise,
    pub place: TestedTarget,
    /// Number of fusions for which the emitter broke the promise on this target.
    pub count: usize,
    /// Name of the fusion that was shrunk.
    pub fusion: String,
    /// Seed of the fusion that was shrunk, if that fusion is random.
    pub seed: Option<u64>,
    /// Description of the fault that occurs with the shrunk fusion.
    pub words: String,
    /// The shrunk fusion, in the form that `fusebox run` reads.
    #[serde(rename = "hlo")]
    pub text: String,
}

impl ExaminationReport {
    pub(super) fn of(subject: &TestedEmitter, settings: &ExaminationSettings, fusions: usize) -> ExaminationReport {
        ExaminationReport {
            emitter: subject.emitter().identity(),
            kind: settings.kind.clone(),
            fusions,
            taken: 0,
            places: BTreeMap::new(),
            has_assembler: subject.has_assembler,
            has_driver: subject.driver.is_some(),
            declined: Vec::new(),
            failed: 0,
            ended_early: false,
            findings: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, place: TestedTarget, done: TrialCounts) {
        let tried = self.places.entry(place).or_default();
        tried.fusions += 1;
        tried.plans += done.plans;
        tried.kernels += done.kernels;
    }

    /// Returns the total numbers of successful checks on all targets.
    pub fn tried(&self) -> CheckCounts {
        self.places.values().fold(CheckCounts::default(), |all, it| CheckCounts {
            fusions: all.fusions + it.fusions,
            plans: all.plans + it.plans,
            kernels: all.kernels + it.kernels,
        })
    }

    /// Whether the emitter accepted at least one fusion, and all promises were checked and kept.
    pub fn conforms(&self) -> bool {
        self.taken > 0 && self.findings.is_empty() && self.unchecked.is_empty()
    }

    /// Writes the report as text.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let ExaminationReport { emitter, kind, fusions, taken, failed, .. } = self;
        writeln!(out, "{emitter}: kind {kind}")?;
        writeln!(out, "takes {taken} of {fusions} fusions; with {failed} of them something is wrong")?;
        for (place, CheckCounts { fusions, plans, kernels }) in &self.places {
            let what = place.what(self.has_assembler, self.has_driver);
            writeln!(out, "  {fusions:>4} fusions  {plans:>5} plans  {kernels:>5} kernels  {what}")?;
        }
        for (reason, count) in self.declined.iter().take(3) {
            writeln!(out, "  declined {count} times: {reason}")?;
        }
        for finding in &self.findings {
            let Finding { promise, place, count, fusion, words, .. } = finding;
            writeln!(out, "\n{} on {}, with {count} fusions", promise.broken(), place.name())?;
            writeln!(out, "  {}", words.replace('\n', "\n  "))?;
            writeln!(out, "  made smaller from {fusion}:\n  {}", finding.text.trim_end().replace('\n', "\n  "))?;
        }
        for UncheckedFusion { fusion, words } in &self.unchecked {
            writeln!(out, "\n{fusion} cannot be checked\n  {}", words.replace('\n', "\n  "))?;
        }
        writeln!(out, "\n{}", self.verdict())
    }

    /// Whether the examination is undecided: the emitter broke no promise, but some fusions could
    /// not be checked.
    pub fn is_undecided(&self) -> bool {
        self.findings.is_empty() && !self.unchecked.is_empty()
    }

    pub(crate) fn verdict(&self) -> &'static str {
        match (self.conforms(), self.taken, self.ended_early) {
            (true, ..) => "conforms",
            _ if self.is_undecided() => "undecided, because not all fusions could be checked",
            (_, 0, _) => {
                "does not conform: it takes none of the fusions, so nothing could be checked; `fusebox check-emitter --module FILE` \
                 checks it on what it takes of a module of yours"
            }
            (.., true) => "does not conform; after so many failures the rest was not tried",
            _ => "does not conform",
        }
    }
}

impl TestedTarget {
    fn what(self, has_assembler: bool, has_driver: bool) -> &'static str {
        match (self, has_assembler, has_driver) {
            (TestedTarget::Cpu, ..) => "cpu: simulated, then run by 1, 2 and 3 threads",
            (TestedTarget::Simt, ..) => "simt: simulated, threads in three orders",
            (TestedTarget::Nvidia, true, true) => "sm_90: compiled to PTX, read by ptxas, run on the software driver",
            (TestedTarget::Nvidia, false, true) => {
                "sm_90: compiled to PTX, run on the software driver; ptxas is not installed to read it"
            }
            (TestedTarget::Nvidia, true, false) => "sm_90: compiled to PTX, read by ptxas",
            (TestedTarget::Nvidia, false, false) => "sm_90: compiled to PTX; ptxas is not installed to read it",
        }
    }
}
