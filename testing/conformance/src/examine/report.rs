//! What was tried and what is wrong, for people and as data.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::Settings;
use super::trial::{Done, Place, Promise, Subject};

/// What an examination found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name, version and file.
    pub emitter: String,
    /// Kind of the generated fusions.
    pub kind: String,
    /// Fusions that it was asked to take.
    pub fusions: usize,
    /// Of these, what it took somewhere.
    pub taken: usize,
    /// What was done in each place.
    pub places: BTreeMap<Place, Tried>,
    /// Whether NVIDIA's assembler was there to read the kernels.
    pub has_assembler: bool,
    /// Why it declines, with how often, the most frequent first.
    pub declined: Vec<(String, usize)>,
    /// Fusions with which it breaks a promise.
    pub failed: usize,
    /// Whether so much failed that not all was tried.
    pub ended_early: bool,
    /// What is wrong, one of a sort.
    pub findings: Vec<Finding>,
}

/// What was done in a place.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Tried {
    /// Fusions taken and in order.
    pub fusions: usize,
    /// Plans checked.
    pub plans: usize,
    /// Kernels compiled, and run where that is possible.
    pub kernels: usize,
}

/// A broken promise.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub promise: Promise,
    pub place: Place,
    /// Fusions that break it there.
    pub count: usize,
    /// The one that was made smaller.
    pub fusion: String,
    /// What makes it again, if a seed has made it.
    pub seed: Option<u64>,
    /// What is wrong with the smaller one.
    pub words: String,
    /// It, as `fusebox run` takes it.
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

    /// What was done in all places.
    pub fn tried(&self) -> Tried {
        self.places.values().fold(Tried::default(), |all, it| Tried {
            fusions: all.fusions + it.fusions,
            plans: all.plans + it.plans,
            kernels: all.kernels + it.kernels,
        })
    }

    /// Whether it took something, and kept all promises.
    pub fn conforms(&self) -> bool {
        self.taken > 0 && self.findings.is_empty()
    }

    /// Writes it for people.
    ///
    /// # Errors
    /// What `out` says.
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
