//! Tests for emitters. The author of an emitter needs only a few lines of code to test the emitter.
//!
//! ```no_run,standalone_crate
//! # use fusebox_bundle::emitters;
//! # fn main() -> Result<(), fusebox_conformance::Failure> {
//! // In your own crate: `check(&MyEmitter, "loop")`.
//! # let emitter = fusebox_conformance::named(emitters(), "loop")?;
//! let report = fusebox_conformance::check_seeds(emitter, "loop", 1..11)?;
//! assert!(report.conforms());
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! fusions/     random fusions: kind and seed determine a fusion and its inputs
//! plans.rs     checks that every configuration that a plan offers keeps its promises
//! literals.rs  inputs, and results compared
//! machine.rs   the cpu and the simulated GPU
//! compiler.rs  a fusion's text, compiled by emitters under test, compared with the interpreter
//! examine/     one emitter, with all of this: `check`; for a library, `fusebox check-emitter`
//! batch.rs     many fusions as one program, by every emitter that takes them
//! assembler.rs NVIDIA's assembler, where it is installed
//! assertions.rs functions that fail a test by panicking
//! ```

#![forbid(unsafe_code)]

mod assembler;
pub mod assertions;
mod batch;
mod compiler;
pub mod examine;
pub mod fusions;
pub mod literals;
mod machine;
pub mod plans;

use std::fmt;
use std::ops::Range;

use fusebox_core::emitter::{self, Configuration, Descriptor, EmitError, Emitter, Kernel, Plan, Verdict};
use fusebox_core::{device::DeviceDescription, hlo::Opcode};

pub use assembler::assemble;
pub use batch::{Tally, check_together};
pub use compiler::{Compiler, Made, inputs, interpreted};
pub use fusebox_compiler::Progress;
pub use fusebox_lowering::Target;
pub use fusebox_plugins::Registry;
pub use machine::Machine;

use examine::{ExaminationReport, ExaminationSettings, Finding, examine};

/// Number of random fusions that [`check`] tries.
const FUSIONS: u64 = 100;

/// A fault of an emitter, with a fusion for which the fault occurs.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Failure {
    /// Name of the emitter, or description of several emitters.
    pub emitter: String,
    /// Name of the machine, and a remark if the configuration was not the default.
    pub place: String,
    /// Seed of the fusion, if the fusion is random.
    pub seed: Option<u64>,
    pub fault: String,
    /// Text of the fusion, in the form that `fusebox run` reads.
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
    /// Returns a failure without a seed.
    fn of(emitter: &str, place: &str, fault: impl fmt::Display, fusion: &str) -> Failure {
        let fault = fault.to_string();
        Failure { emitter: emitter.into(), place: place.into(), seed: None, fault, fusion: fusion.into() }
    }
}

/// Checks an emitter like `fusebox check-emitter`. The fusions are typical fusions in unusual
/// sizes, and random fusions of a kind. The kinds are `loop`, `reduce`, `transpose`, `scatter`,
/// `concatenate`, `dynamic-update-slice` and `input-slices`. Any other name selects random fusions
/// of all kinds. For each fusion that the emitter accepts, plans must keep their promises, and the
/// results of kernels must equal those of the reference interpreter. The targets are the cpu, the
/// simulated GPU and NVIDIA GPUs. For NVIDIA GPUs, kernels are only compiled.
///
/// # Errors
/// The first fault. It is also a fault if the emitter accepts none of the fusions.
pub fn check(emitter: &'static dyn Emitter, kind: &str) -> Result<ExaminationReport, Failure> {
    checked(emitter, kind, 1..FUSIONS + 1, true)
}

/// Checks an emitter like [`check`], but only with the random fusions of these seeds.
///
/// # Errors
/// The errors of [`check`].
pub fn check_seeds(emitter: &'static dyn Emitter, kind: &str, seeds: Range<u64>) -> Result<ExaminationReport, Failure> {
    checked(emitter, kind, seeds, false)
}

fn checked(
    emitter: &'static dyn Emitter,
    kind: &str,
    seeds: Range<u64>,
    of_programs: bool,
) -> Result<ExaminationReport, Failure> {
    let settings = ExaminationSettings { kind: kind.into(), seeds, of_programs, of_modules: Vec::new(), driver: None };
    let compiler = Compiler::new(vec![Box::new(StaticEmitter(emitter))])?;
    let name = emitter.descriptor().name;
    let number = compiler.number(&name)?;
    let report = examine(compiler.registry(), number, &settings, &Progress::default());
    match report.findings.first() {
        Some(Finding { place, seed, words, text, .. }) => {
            Err(Failure { seed: *seed, ..Failure::of(&name, place.name(), words, text) })
        }
        None if report.conforms() => Ok(report),
        None => Err(Failure::of(&name, "all machines", report.verdict(), "")),
    }
}

/// Returns the emitter with this name. The reference is valid until the process ends.
///
/// # Errors
/// If no emitter has this name.
pub fn named(emitters: Vec<Box<dyn Emitter>>, name: &str) -> Result<&'static dyn Emitter, Failure> {
    let names: Vec<String> = emitters.iter().map(|emitter| emitter.descriptor().name).collect();
    let found = emitters.into_iter().find(|emitter| emitter.descriptor().name == name);
    let missing = || Failure::of(name, "the list", format!("there is no such emitter, but {}", names.join(", ")), "");
    found.map(|emitter| &*Box::leak(emitter)).ok_or_else(missing)
}

/// Returns the emitters that accept a fusion. The emitter whose plan has the smallest predicted
/// time comes first.
pub fn takers<'e>(
    emitters: &'e [Box<dyn Emitter>],
    fusion: &emitter::Fusion,
    device: &DeviceDescription,
) -> Vec<&'e dyn Emitter> {
    let seconds = |emitter: &dyn Emitter| {
        let plan = match emitter.consider(fusion, device) {
            Verdict::Accept => emitter.plan(fusion, device, &Configuration::default()),
            _ => return f64::INFINITY,
        };
        plan.map_or(f64::INFINITY, |plan| fusebox_prediction::predict(&plan, fusion, device).seconds)
    };
    let taking = emitters.iter().map(|emitter| &**emitter).filter(|it| it.consider(fusion, device).accepts());
    let mut taking: Vec<(f64, &dyn Emitter)> = taking.map(|emitter| (seconds(emitter), emitter)).collect();
    taking.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.descriptor().name.cmp(&b.1.descriptor().name)));
    taking.into_iter().map(|(_, emitter)| emitter).collect()
}

/// An owned emitter that forwards all calls to a static reference.
struct StaticEmitter(&'static dyn Emitter);

impl Emitter for StaticEmitter {
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
        self.0.consider(fusion, device)
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
