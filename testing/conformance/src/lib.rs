//! Tests for emitters: whoever writes one, here or elsewhere, checks it with a few lines.
//!
//! ```no_run,standalone_crate
//! # use fusebox_bundle::emitters;
//! # fn main() -> Result<(), fusebox_conformance::Failure> {
//! // In a crate of its own: `check(&MyEmitter, "loop")`.
//! # let emitter = fusebox_conformance::named(emitters(), "loop")?;
//! let report = fusebox_conformance::check_seeds(emitter, "loop", 1..11)?;
//! assert!(report.kernels > 0);
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! fusions/     fusions by construction: a kind and a seed make one, with its inputs
//! plans.rs     every configuration that a plan offers keeps its promises
//! literals.rs  inputs, and results compared
//! machine.rs   the cpu and the simulated GPU
//! compiler.rs  a fusion's text, compiled by emitters under test, compared with the interpreter
//! together.rs  many fusions as one program, by every emitter that takes them
//! assembler.rs NVIDIA's assembler, where it is installed
//! ```

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what makes fusions and inputs fails only if it is wrong itself")]

mod assembler;
mod compiler;
pub mod fusions;
pub mod literals;
mod machine;
pub mod plans;
mod together;

use std::fmt;
use std::ops::Range;

use fusebox_core::emitter::{self, Configuration, Descriptor, EmitError, Emitter, Kernel, Plan, Verdict};
use fusebox_core::{device::DeviceDescription, hlo::Opcode};

pub use assembler::assemble;
pub use compiler::{Compiler, Made, inputs, interpreted};
pub use fusebox_lowering::Target;
pub use fusebox_plugins::Registry;
pub use machine::Machine;
pub use together::{Tally, check_together};

use together::Checked;

/// Fusions that [`check`] tries.
const FUSIONS: u64 = 100;

/// What is wrong with an emitter, and on what.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Failure {
    /// The emitter, or those that there were.
    pub emitter: String,
    /// Where: the machine, and whatever else was chosen.
    pub place: String,
    /// What makes the fusion again, if a seed has made it.
    pub seed: Option<u64>,
    pub fault: String,
    /// The fusion, as `fusebox run` takes it.
    pub fusion: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}: {}", self.emitter, self.place, self.fault)?;
        if let Some(seed) = self.seed {
            write!(f, "\nthe fusion of seed {seed}:")?;
        }
        write!(f, "\n{}", self.fusion)
    }
}

impl Failure {
    /// Of whatever was not made from a seed.
    fn of(emitter: &str, place: &str, fault: impl fmt::Display, fusion: &str) -> Failure {
        let fault = fault.to_string();
        Failure { emitter: emitter.into(), place: place.into(), seed: None, fault, fusion: fusion.into() }
    }
}

/// What was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Fusions made.
    pub fusions: usize,
    /// Plans checked: of each fusion taken, on each machine, with each configuration offered.
    pub plans: usize,
    /// Kernels run and compared with the interpreter.
    pub kernels: usize,
}

/// Checks an emitter with fusions of a kind (`loop`, `reduce`, `transpose`, `scatter`, `concatenate`,
/// `dynamic-update-slice`, `input-slices`, any other: all of them): each that it takes, on the cpu and on the simulated
/// GPU, gets plans that keep what they promise, and kernels whose results are those of the reference interpreter.
///
/// # Errors
/// The first thing that is wrong; that it takes none of the fusions is, too.
pub fn check(emitter: &'static dyn Emitter, kind: &str) -> Result<Report, Failure> {
    check_seeds(emitter, kind, 1..FUSIONS + 1)
}

/// The same with the fusions of these seeds.
///
/// # Errors
/// See [`check`].
pub fn check_seeds(emitter: &'static dyn Emitter, kind: &str, seeds: Range<u64>) -> Result<Report, Failure> {
    let mut report = Report::default();
    for machine in [Machine::cpu(), Machine::simt()] {
        let mut taken = Vec::new();
        for seed in seeds.clone() {
            let fusion = fusions::of_kind(kind, seed);
            let failed = |failure: Failure| Failure { seed: Some(seed), ..failure };
            if let Some(plans) = plans::check_text(emitter, &fusion.text(), &machine.device).map_err(failed)? {
                report.plans += plans;
                taken.push(seed);
            }
        }
        let preferred = || vec![Box::new(Preferred(emitter)) as Box<dyn Emitter>];
        let checked = Checked { emitters: &preferred, fusions: &|seed| fusions::of_kind(kind, seed), others: false };
        let mut tally = Tally::new();
        checked.all(&machine, &taken, &mut tally)?;
        let name = emitter.descriptor().name;
        let own = tally.iter().filter(|(what, _)| what.contains(&format!(" {name}")));
        report.kernels += own.map(|(_, count)| count).sum::<usize>();
    }
    report.fusions = (seeds.end - seeds.start) as usize;
    match report.plans {
        0 => {
            let fault = format!("it takes none of {} fusions of kind {kind}", report.fusions);
            Err(Failure::of(&emitter.descriptor().name, "cpu and simt", fault, ""))
        }
        _ => Ok(report),
    }
}

/// The emitter of a name, to be kept as long as the tests run.
///
/// # Errors
/// If there is none.
pub fn named(emitters: Vec<Box<dyn Emitter>>, name: &str) -> Result<&'static dyn Emitter, Failure> {
    let names: Vec<String> = emitters.iter().map(|emitter| emitter.descriptor().name).collect();
    let found = emitters.into_iter().find(|emitter| emitter.descriptor().name == name);
    let missing = || Failure::of(name, "the list", format!("there is no such emitter, but {}", names.join(", ")), "");
    found.map(|emitter| &*Box::leak(emitter)).ok_or_else(missing)
}

/// The emitters that take a fusion, those of the highest score first.
pub fn takers<'e>(
    emitters: &'e [Box<dyn Emitter>],
    fusion: &emitter::Fusion,
    device: &DeviceDescription,
) -> Vec<&'e dyn Emitter> {
    let scored = emitters.iter().filter_map(|emitter| match emitter.consider(fusion, device) {
        Verdict::Accept { score } => Some((score, &**emitter)),
        Verdict::Decline(_) => None,
    });
    let mut scored: Vec<(u32, &dyn Emitter)> = scored.collect();
    scored.sort_by_key(|&(score, _)| std::cmp::Reverse(score));
    scored.into_iter().map(|(_, emitter)| emitter).collect()
}

/// An emitter with the highest score wherever it accepts.
struct Preferred(&'static dyn Emitter);

impl Emitter for Preferred {
    fn descriptor(&self) -> Descriptor {
        self.0.descriptor()
    }

    fn heroes(&self) -> Vec<Opcode> {
        self.0.heroes()
    }

    fn claim(&self, hero: &emitter::Candidate, device: &DeviceDescription) -> Option<emitter::Claim> {
        self.0.claim(hero, device)
    }

    fn anchors(&self) -> Vec<Opcode> {
        self.0.anchors()
    }

    fn bid(&self, candidate: &emitter::Candidate, device: &DeviceDescription) -> emitter::Bid {
        self.0.bid(candidate, device)
    }

    fn consider(&self, fusion: &emitter::Fusion, device: &DeviceDescription) -> Verdict {
        match self.0.consider(fusion, device) {
            Verdict::Accept { .. } => Verdict::Accept { score: 1000 },
            declined => declined,
        }
    }

    fn plan(
        &self,
        fusion: &emitter::Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        self.0.plan(fusion, device, configuration)
    }

    fn emit(&self, fusion: &emitter::Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        self.0.emit(fusion, device, plan)
    }
}
