//! Checks one emitter with one fusion on one target. Plans, compiles, simulates and runs the
//! fusion, and compares its result with the interpreter's result.

use std::sync::Arc;

use fusebox_compiler::{Compilation, Phase, Selected, Source};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Verdict};
use fusebox_core::hlo::Literal;
use fusebox_lowering::Target;
use fusebox_plugins::{FailureKind, LoadedEmitter, Override, Registry};
use fusebox_runtime::{Options, ThreadOrder};
use fusebox_workshop::driver::{DriverError, SoftwareDriver};
use fusebox_workshop::ptxas;
use serde::Serialize;

use super::case::FusionCase;
use super::on_driver::{self, DriverRunError};
use crate::fusions::Chance;
use crate::literals::{Closeness, difference};
use crate::plans::{PlanError, parsed, planned};
use crate::{Compiler, Failure, Machine};

/// Largest number of alternative configurations to run. The trial also runs the kernel of the
/// default configuration. The kernel of an alternative configuration takes as long to check as the
/// default kernel.
const MOST_OTHERS: usize = 2;

/// A promise that an emitter makes when it accepts a fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// The emitter answers within the time limit and does not panic.
    Answers,
    /// The plan covers every element as required, within the device's limits.
    Plan,
    /// The emitter returns equal answers to equal questions.
    Repeats,
    /// The kernel can be compiled.
    Compiles,
    /// For every order of threads, the kernel accesses memory only in bounds and has no races.
    Behaves,
    /// The results equal those of the interpreter.
    Result,
    /// The bits of the results do not depend on the number of threads.
    SameBits,
    /// NVIDIA's assembler accepts the kernels.
    Assembles,
    /// The emitter declines fusions that no kernel can compute.
    Declines,
}

impl Promise {
    /// Describes how an emitter breaks this promise.
    pub fn broken(self) -> &'static str {
        match self {
            Promise::Answers => "no usable answer",
            Promise::Plan => "a plan that is wrong",
            Promise::Repeats => "other answers to the same question",
            Promise::Compiles => "a kernel that cannot be compiled",
            Promise::Behaves => "a kernel that does what it must not",
            Promise::Result => "a wrong result",
            Promise::SameBits => "results that depend on the number of threads",
            Promise::Assembles => "a kernel that NVIDIA's assembler refuses",
            Promise::Declines => "it takes what no kernel can compute",
        }
    }
}

/// A promise that an emitter broke, with a description of the fault.
#[derive(Clone, Debug)]
pub struct BrokenPromise {
    pub promise: Promise,
    pub words: String,
    /// Whether the emitter's process died or was too slow.
    pub lost: bool,
}

/// The reason why a trial of an emitter ended early.
#[derive(Debug)]
pub enum TrialError {
    /// The emitter broke a promise.
    Broken(BrokenPromise),
    /// The right result of the fusion is unknown, because the fusion cannot be parsed or
    /// interpreted.
    Unknown(Failure),
}

impl From<BrokenPromise> for TrialError {
    fn from(fault: BrokenPromise) -> Self {
        TrialError::Broken(fault)
    }
}

impl BrokenPromise {
    fn new(promise: Promise, words: String) -> BrokenPromise {
        BrokenPromise { promise, words, lost: false }
    }
}

/// The target for which an emitter is checked. The target determines how kernels are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestedTarget {
    /// The cpu. The simulator first runs the kernels, and checks every memory access before the
    /// access happens. Then the cpu itself runs the kernels.
    Cpu,
    /// A GPU that the simulator simulates.
    Simt,
    /// NVIDIA GPUs. Kernels are compiled to PTX and assembled by NVIDIA's assembler. The software
    /// driver, if there is one, executes the PTX.
    Nvidia,
}

/// Numbers of plans and kernels that were checked for an accepted fusion.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrialCounts {
    pub plans: usize,
    pub kernels: usize,
}

/// The machine and the options with which kernels are run.
struct RunSetup {
    machine: Machine,
    ways: Vec<Options>,
    /// The promise that the emitter breaks if the result depends on the options.
    differs: Promise,
}

impl RunSetup {
    /// Simulates kernels once for each order of the threads.
    fn simulated(machine: Machine, orders: &[ThreadOrder]) -> RunSetup {
        let ways = orders.iter().map(|&order| Options { threads: 1, order, ..Options::default() });
        RunSetup { machine, ways: ways.collect(), differs: Promise::Behaves }
    }
}

/// An emitter under test.
pub struct TestedEmitter {
    compiler: Compiler,
    number: usize,
    pub has_assembler: bool,
    /// Driver that executes kernels for NVIDIA GPUs.
    pub driver: Option<Arc<SoftwareDriver>>,
}

impl TestedEmitter {
    /// Creates a `TestedEmitter` for the emitter that has the number `number` in the registry.
    pub fn new(registry: &Registry, number: usize, driver: Option<Arc<SoftwareDriver>>) -> TestedEmitter {
        let has_assembler = ptxas::assembler().is_ok();
        let compiler = Compiler::of(registry.clone(), Vec::new());
        TestedEmitter { compiler, number, has_assembler, driver }
    }

    pub fn emitter(&self) -> &LoadedEmitter {
        &self.compiler.registry().emitters()[self.number]
    }

    /// Checks the emitter with a fusion on a target. Returns `None` if the emitter declines the
    /// fusion.
    ///
    /// # Errors
    /// The first broken promise.
    pub fn tries(&self, case: &FusionCase, place: TestedTarget) -> Result<Option<TrialCounts>, TrialError> {
        let tried = match place {
            TestedTarget::Cpu => self.on_cpu(case),
            TestedTarget::Simt => self.on_simt(case),
            TestedTarget::Nvidia => self.on_nvidia(case),
        };
        match tried {
            Err(TrialError::Broken(fault)) if !case.is_possible => {
                Err(BrokenPromise { promise: Promise::Declines, ..fault }.into())
            }
            tried => tried,
        }
    }

    /// Returns the emitter's reason if the emitter declines the fusion.
    pub fn reason_to_decline(&self, case: &FusionCase, place: TestedTarget) -> Option<String> {
        let fusion = parsed(&case.text).ok()?;
        match self.emitter().consider(&fusion, &place.machine().device) {
            Ok(Verdict::Decline(decline)) => Some(decline.reason),
            _ => None,
        }
    }

    fn on_cpu(&self, case: &FusionCase) -> Result<Option<TrialCounts>, TrialError> {
        let machine = TestedTarget::Cpu.machine();
        let Some(configurations) = self.planned(case, &machine.device)? else { return Ok(None) };
        let simulator = Machine::new(Target::simt(), machine.device.clone());
        let simulated = RunSetup::simulated(simulator, &[ThreadOrder::Forward, ThreadOrder::Reverse]);
        let ways = [1, 2, 3].map(|threads| Options { threads, ..Options::default() }).into();
        let run = RunSetup { machine, ways, differs: Promise::SameBits };
        let kernels = self.runs(case, &configurations, &simulated)? + self.runs(case, &configurations, &run)?;
        Ok(Some(TrialCounts { plans: configurations.len(), kernels }))
    }

    fn on_simt(&self, case: &FusionCase) -> Result<Option<TrialCounts>, TrialError> {
        let machine = TestedTarget::Simt.machine();
        let Some(configurations) = self.planned(case, &machine.device)? else { return Ok(None) };
        let orders = [ThreadOrder::Forward, ThreadOrder::Reverse, ThreadOrder::Seeded(1)];
        let kernels = self.runs(case, &configurations, &RunSetup::simulated(machine, &orders))?;
        Ok(Some(TrialCounts { plans: configurations.len(), kernels }))
    }

    fn on_nvidia(&self, case: &FusionCase) -> Result<Option<TrialCounts>, TrialError> {
        let machine = TestedTarget::Nvidia.machine();
        let Some(configurations) = self.planned(case, &machine.device)? else { return Ok(None) };
        let mut kernels = 0;
        for knobs in drawn(case, &configurations) {
            let failed = |promise, words: String| BrokenPromise::new(promise, with(&knobs, &words));
            let ptx = self.in_charge(&knobs).ptx_for(&case.text, &machine);
            let ptx = ptx.map_err(|failure| failed(Promise::Compiles, failure.fault))?;
            if self.has_assembler && !ptx.is_empty() {
                ptxas::measure(&ptx, TestedTarget::Nvidia.name())
                    .map_err(|error| failed(Promise::Assembles, error.to_string()))?;
            }
            if let Some(driver) = self.driver.as_ref().filter(|_| !ptx.is_empty()) {
                self.runs_on_driver(case, &knobs, &machine, driver)?;
            }
            kernels += usize::from(!ptx.is_empty());
        }
        Ok(Some(TrialCounts { plans: configurations.len(), kernels }))
    }

    /// Executes the PTX of the fusion's kernel on the software driver.
    fn runs_on_driver(
        &self,
        case: &FusionCase,
        knobs: &Configuration,
        machine: &Machine,
        driver: &SoftwareDriver,
    ) -> Result<(), TrialError> {
        let failed = |promise, words: String| BrokenPromise::new(promise, with(knobs, &words));
        let compiled = self.in_charge(knobs).compile(&case.text, machine, Phase::Run);
        let made = compiled.map_err(|failure| failed(Promise::Compiles, failure.fault))?;
        let is_own = made.kernels.iter().any(|kernel| self.is_own(kernel));
        let Some(executable) = made.executable.as_ref().filter(|_| is_own && case.is_possible) else { return Ok(()) };
        let expected = case.expected().map_err(TrialError::Unknown)?;
        let found = on_driver::run(driver, executable, &case.text, &case.inputs).map_err(|error| match error {
            DriverRunError::Driver(DriverError::Failed(report)) => failed(Promise::Behaves, report).into(),
            other => TrialError::Unknown(Failure::of("the software driver", "sm_90", other, &case.text)),
        })?;
        match difference(&found, expected, case.closeness) {
            Some(words) => Err(failed(Promise::Result, format!("on the software driver: {words}")).into()),
            None => Ok(()),
        }
    }

    /// Builds and checks all plans of a fusion. Returns the configurations of the plans, or `None`
    /// if the emitter declines the fusion.
    fn planned(&self, case: &FusionCase, device: &DeviceDescription) -> Result<Option<Vec<Configuration>>, TrialError> {
        let fusion = parsed(&case.text).map_err(TrialError::Unknown)?;
        let failed = |error: PlanError| {
            let lost = matches!(error, PlanError::Failed(FailureKind::Died { .. } | FailureKind::TimedOut(_), _));
            let promise = match &error {
                PlanError::Failed(FailureKind::Plan(_), _) | PlanError::Visits(_) => Promise::Plan,
                PlanError::Failed(FailureKind::Kernel(_), _) => Promise::Compiles,
                PlanError::Failed(..) => Promise::Answers,
                PlanError::Differs(_) | PlanError::OtherConfiguration(..) => Promise::Repeats,
            };
            BrokenPromise { lost, ..BrokenPromise::new(promise, error.to_string()) }.into()
        };
        planned(self.emitter(), &fusion, device).map_err(failed)
    }

    /// Runs the kernels of the default configuration and of a few other configurations. Returns the
    /// number of kernels. The number of kernels is 0 if passes change the fusion so much that the
    /// emitter declines it.
    fn runs(&self, case: &FusionCase, configurations: &[Configuration], trial: &RunSetup) -> Result<usize, TrialError> {
        let mut kernels = 0;
        for knobs in drawn(case, configurations) {
            let made = self.run(case, &knobs, trial).map_err(|stopped| match stopped {
                TrialError::Broken(fault) => BrokenPromise { words: with(&knobs, &fault.words), ..fault }.into(),
                unknown => unknown,
            })?;
            kernels += made;
            // If passes have split or changed the fusion, the other configurations do not apply.
            if made != 1 {
                break;
            }
        }
        Ok(kernels)
    }

    /// Compiles and runs the fusion with the knobs `knobs`. Returns the number of kernels that the
    /// emitter built.
    fn run(&self, case: &FusionCase, knobs: &Configuration, trial: &RunSetup) -> Result<usize, TrialError> {
        let compiled = self.in_charge(knobs).compile(&case.text, &trial.machine, Phase::Run);
        let mut made = compiled.map_err(|failure| BrokenPromise::new(Promise::Compiles, failure.fault))?;
        let count = made.kernels.iter().filter(|kernel| self.is_own(kernel)).count();
        let Some(executable) = made.executable.take().filter(|_| count > 0) else { return Ok(0) };
        let mut first: Option<Literal> = None;
        for way in &trial.ways {
            let found = Compiler::execute(&executable, &case.inputs, way);
            let found = found.map_err(|words| BrokenPromise::new(Promise::Behaves, words))?;
            if let Some(first) = first.as_ref().filter(|first| **first != found) {
                let words = difference(&found, first, Closeness::Bits).unwrap_or_default();
                let words = format!("{words} with {} threads in the order {:?}", way.threads, way.order);
                return Err(BrokenPromise::new(trial.differs, words).into());
            }
            first = Some(found);
        }
        if !case.is_possible {
            return Err(BrokenPromise::new(Promise::Declines, "there is a kernel, whatever it computes".into()).into());
        }
        let expected = case.expected().map_err(TrialError::Unknown)?;
        match first.and_then(|found| difference(&found, expected, case.closeness)) {
            Some(words) => Err(BrokenPromise::new(Promise::Result, words).into()),
            None => Ok(count),
        }
    }

    /// Whether the emitter under test built this kernel.
    pub fn is_own(&self, kernel: &Selected) -> bool {
        kernel.selection.order.get(kernel.place).is_some_and(|it| it.emitter == self.number)
    }

    /// Compiles a module for a target. The emitter under test builds all fusions that it accepts.
    ///
    /// # Errors
    /// If the module cannot be compiled.
    pub fn compiled(&self, source: &Source, place: TestedTarget, until: Phase) -> Result<Compilation, Failure> {
        self.in_charge(&Configuration::default()).compile_source(source, &place.machine(), until)
    }

    /// Returns a compiler in which the emitter under test builds all fusions that it accepts. The
    /// emitter plans with the knobs `knobs`.
    fn in_charge(&self, knobs: &Configuration) -> Compiler {
        let registry = self.compiler.registry();
        let kinds = registry.emitters().iter().map(|emitter| emitter.descriptor().kind.clone());
        let chosen = kinds.map(|kind| {
            let choice = Override::of_kind(kind, vec![self.number], &self.emitter().identity());
            Override { knobs: knobs.clone(), ..choice }
        });
        Compiler::of(registry.clone(), chosen.collect()).of_part()
    }
}

/// Returns the default configuration and a few other configurations. The text of the fusion
/// determines which other configurations are returned.
fn drawn(case: &FusionCase, configurations: &[Configuration]) -> Vec<Configuration> {
    let others = configurations.get(1..).unwrap_or_default();
    let seed = case.text.bytes().fold(0u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let order = Chance::new(seed).permutation(others.len());
    let others = order.into_iter().take(MOST_OTHERS).map(|number| others[number].clone());
    std::iter::once(Configuration::default()).chain(others).collect()
}

/// Adds the knobs to the description of a fault.
fn with(knobs: &Configuration, words: &str) -> String {
    if knobs.0.is_empty() { words.into() } else { format!("with {knobs}: {words}") }
}

impl TestedTarget {
    /// All targets, in the order in which a fusion is tried.
    pub const ALL: [TestedTarget; 3] = [TestedTarget::Simt, TestedTarget::Cpu, TestedTarget::Nvidia];

    pub(crate) fn name(self) -> &'static str {
        match self {
            TestedTarget::Cpu => "cpu",
            TestedTarget::Simt => "simt",
            TestedTarget::Nvidia => "sm_90",
        }
    }

    fn machine(self) -> Machine {
        match self {
            TestedTarget::Cpu => Machine::cpu(),
            TestedTarget::Simt => Machine::simt(),
            TestedTarget::Nvidia => Machine::new(Target::nvptx(90), DeviceDescription::sm(90)),
        }
    }
}
