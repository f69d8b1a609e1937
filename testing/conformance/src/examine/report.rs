//! The report of an examination, as text and as data.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::Settings;
use super::trial::{Done, Place, Promise, Subject};

/// The result of an examination.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name, version and file.
    pub emitter: String,
    /// Kind of the generated fusions.
    pub kind: String,
    /// Number of fusions offered to the emitter.
    pub fusions: usize,
    /// Number of possible fusions that it accepted in some place.
    pub taken: usize,
    /// Number of checks in each place.
    pub places: BTreeMap<Place, Tried>,
    /// Whether NVIDIA's assembler was installed to read the kernels.
    pub has_assembler: bool,
    /// Reasons for declining and their counts, the most frequent first.
    pub declined: Vec<(String, usize)>,
    /// Number of fusions with which it breaks a promise.
    pub failed: usize,
    /// Whether the examination ended early after too many failures.
    pub ended_early: bool,
    /// The findings, one per promise and place.
    pub findings: Vec<Finding>,
}

/// Number of checks in a place.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Tried {
    /// Fusions accepted and found right.
    pub fusions: usize,
    /// Plans checked.
    pub plans: usize,
    /// Kernels compiled, and run if the place allows it.
    pub kernels: usize,
}

/// A broken promise.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub promise: Promise,
    pub place: Place,
    /// Number of fusions that break it in this place.
    pub count: usize,
    /// Name of the fusion that was shrunk.
    pub fusion: String,
    /// Its seed, if it is a random fusion.
    pub seed: Option<u64>,
    /// Description of the fault of the shrunk fusion.
    pub words: String,
    /// The shrunk fusion, in the form that `fusebox run` reads.
    #[serde(rename = "hlo")]
    pub text: String,
}

impl Report {
    pub(super) fn of(subject: &Subject, settings: &Settings, fusions: usize) -> Report {
        Report {
            emitter: subject.emitter().identity(),
            kind: settings.kind.clone(),
            fusions,
            taken: 0,
            places: BTreeMap::new(),
            has_assembler: subject.has_assembler,
            declined: Vec::new(),
            failed: 0,
            ended_early: false,
            findings: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, place: Place, done: Done) {
        let tried = self.places.entry(place).or_default();
        tried.fusions += 1;
        tried.plans += done.plans;
        tried.kernels += done.kernels;
    }

    /// Returns the number of checks in all places.
    pub fn tried(&self) -> Tried {
        self.places.values().fold(Tried::default(), |all, it| Tried {
            fusions: all.fusions + it.fusions,
            plans: all.plans + it.plans,
            kernels: all.kernels + it.kernels,
        })
    }

    /// Whether the emitter accepted a fusion and kept all promises.
    pub fn conforms(&self) -> bool {
        self.taken > 0 && self.findings.is_empty()
    }

    /// Writes the report for people.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Report { emitter, kind, fusions, taken, failed, .. } = self;
        writeln!(out, "{emitter}: kind {kind}")?;
        writeln!(out, "takes {taken} of {fusions} fusions; with {failed} of them something is wrong")?;
        for (place, Tried { fusions, plans, kernels }) in &self.places {
            let what = place.what(self.has_assembler);
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
        writeln!(out, "\n{}", self.verdict())
    }

    pub(crate) fn verdict(&self) -> &'static str {
        match (self.conforms(), self.taken, self.ended_early) {
            (true, ..) => "conforms",
            (_, 0, _) => {
                "does not conform: it takes none of the fusions, so nothing could be checked; `fusebox check-emitter --module FILE` \
                 checks it on what it takes of a module of yours"
            }
            (.., true) => "does not conform; after so many failures the rest was not tried",
            _ => "does not conform",
        }
    }
}

impl Place {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Place::Cpu => "cpu",
            Place::Simt => "simt",
            Place::Nvidia => "sm_90",
        }
    }

    fn what(self, has_assembler: bool) -> &'static str {
        match (self, has_assembler) {
            (Place::Cpu, _) => "cpu: simulated, then run by 1, 2 and 3 threads",
            (Place::Simt, _) => "simt: simulated, threads in three orders",
            (Place::Nvidia, true) => "sm_90: compiled to PTX, read by ptxas",
            (Place::Nvidia, false) => "sm_90: compiled to PTX; ptxas is not installed to read it",
        }
    }
}
