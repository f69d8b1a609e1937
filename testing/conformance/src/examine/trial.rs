//! One emitter, one fusion, one machine: planned, compiled, simulated, run, and compared with the interpreter.

use fusebox_compiler::{Phase, Selected};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Verdict};
use fusebox_core::hlo::Literal;
use fusebox_lowering::Target;
use fusebox_plugins::{FailureKind, LoadedEmitter, Override, Registry};
use fusebox_runtime::{Options, ThreadOrder};
use fusebox_workshop::ptxas::{self, AssemblerError};
use serde::Serialize;

use super::case::Case;
use crate::literals::{Closeness, difference};
use crate::plans::{PlanError, planned};
use crate::{Compiler, Machine};

/// What an emitter promises by accepting a fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// It answers, in time, without panicking.
    Answers,
    /// Every element is reached as it should be, within the device's limits.
    Plan,
    /// The same question has the same answer.
    Repeats,
    /// Its kernel can be compiled.
    Compiles,
    /// In bounds, without races, whatever the order of threads.
    Behaves,
    /// The results are the interpreter's.
    Result,
    /// The same bits, however many threads there are.
    SameBits,
    /// NVIDIA's assembler takes its kernels.
    Assembles,
    /// What no kernel can compute is declined.
    Declines,
}

impl Promise {
    /// For people: what is wrong if it is broken.
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

/// A promise that is not kept.
#[derive(Clone, Debug)]
pub struct Fault {
    pub promise: Promise,
    pub words: String,
    /// Whether its process is gone, or was too slow.
    pub lost: bool,
}

impl Fault {
    fn new(promise: Promise, words: String) -> Fault {
        Fault { promise, words, lost: false }
    }
}

/// Where a fusion is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// As the cpu has it: simulated, so that every access is looked at before it is made, then run.
    Cpu,
    /// As a GPU has it, simulated.
    Simt,
    /// For NVIDIA GPUs: to PTX, which their assembler reads.
    Nvidia,
}

/// What was done where a fusion was taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub plans: usize,
    pub kernels: usize,
}

/// An emitter under test.
pub struct Subject {
    compiler: Compiler,
    number: usize,
    pub has_assembler: bool,
}

impl Subject {
    /// The emitter of that number, in charge of all that it takes.
    pub fn new(registry: &Registry, number: usize) -> Subject {
        let has_assembler =
            !matches!(ptxas::measure("", "sm_90"), Err(AssemblerError::Missing | AssemblerError::NoFile(_)));
        let compiler = Compiler::of(registry.clone(), Vec::new());
        Subject { compiler, number, has_assembler }
    }

    pub fn emitter(&self) -> &LoadedEmitter {
        &self.compiler.registry().emitters()[self.number]
    }

    /// Tries a fusion; `None` if the emitter declines it.
    ///
    /// # Errors
    /// The first promise that is not kept.
    pub fn tries(&self, case: &Case, place: Place) -> Result<Option<Done>, Fault> {
        let tried = match place {
            Place::Cpu => self.on_cpu(case),
            Place::Simt => self.on_simt(case),
            Place::Nvidia => self.on_nvidia(case),
        };
        match case.is_possible {
            true => tried,
            false => tried.map_err(|fault| Fault { promise: Promise::Declines, ..fault }),
        }
    }

    /// Why it declines a fusion, if it does.
    pub fn reason_to_decline(&self, case: &Case, place: Place) -> Option<String> {
        let fusion = crate::plans::fusion(&case.text);
        match self.emitter().consider(&fusion, &place.device()) {
            Ok(Verdict::Decline(decline)) => Some(decline.reason),
            _ => None,
        }
    }

    fn on_cpu(&self, case: &Case) -> Result<Option<Done>, Fault> {
        let device = Place::Cpu.device();
        let Some(plans) = self.planned(case, &device)? else { return Ok(None) };
        let orders = [ThreadOrder::Forward, ThreadOrder::Reverse].map(|order| Options { threads: 1, order });
        let simulated = self.runs(case, &Machine::new(Target::simt(), device.clone()), &orders, Promise::Behaves)?;
        let threads = [1, 2, 3].map(|threads| Options { threads, order: ThreadOrder::Forward });
        let run = self.runs(case, &Machine::new(Target::cpu(), device), &threads, Promise::SameBits)?;
        Ok(Some(Done { plans, kernels: simulated + run }))
    }

    fn on_simt(&self, case: &Case) -> Result<Option<Done>, Fault> {
        let machine = Machine::simt();
        let Some(plans) = self.planned(case, &machine.device)? else { return Ok(None) };
        let orders = [ThreadOrder::Forward, ThreadOrder::Reverse, ThreadOrder::Seeded(1)];
        let kernels =
            self.runs(case, &machine, &orders.map(|order| Options { threads: 1, order }), Promise::Behaves)?;
        Ok(Some(Done { plans, kernels }))
    }

    fn on_nvidia(&self, case: &Case) -> Result<Option<Done>, Fault> {
        let device = Place::Nvidia.device();
        let Some(plans) = self.planned(case, &device)? else { return Ok(None) };
        let machine = Machine::new(Target::nvptx(90), device);
        let compiler = self.in_charge(&Configuration::default());
        let ptx = compiler.ptx_for(&case.text, &machine);
        let ptx = ptx.map_err(|failure| Fault::new(Promise::Compiles, failure.fault))?;
        if self.has_assembler && !ptx.is_empty() {
            ptxas::measure(&ptx, "sm_90").map_err(|error| Fault::new(Promise::Assembles, error.to_string()))?;
        }
        Ok(Some(Done { plans, kernels: usize::from(!ptx.is_empty()) }))
    }

    /// Makes and checks all plans. Gives their number, `None` if the fusion is declined.
    fn planned(&self, case: &Case, device: &DeviceDescription) -> Result<Option<usize>, Fault> {
        let fusion = crate::plans::fusion(&case.text);
        let failed = |error: PlanError| {
            let lost = matches!(error, PlanError::Failed(FailureKind::Died { .. } | FailureKind::TimedOut(_), _));
            let promise = match &error {
                PlanError::Failed(FailureKind::Plan(_), _) | PlanError::Visits(_) => Promise::Plan,
                PlanError::Failed(FailureKind::Kernel(_), _) => Promise::Compiles,
                PlanError::Failed(..) => Promise::Answers,
                PlanError::Differs(_) | PlanError::OtherConfiguration(..) => Promise::Repeats,
            };
            Fault { lost, ..Fault::new(promise, error.to_string()) }
        };
        let configurations = planned(self.emitter(), &fusion, device).map_err(failed)?;
        Ok(configurations.map(|configurations| configurations.len()))
    }

    /// Runs the kernel, and the one of the first other configuration that its plan offers, in all these ways. Gives the number
    /// of kernels: none if passes made something else of the fusion, which the emitter declines.
    fn runs(&self, case: &Case, machine: &Machine, ways: &[Options], promise: Promise) -> Result<usize, Fault> {
        let (made, other) = self.run(case, machine, &Configuration::default(), ways, promise)?;
        let Some(knobs) = other.filter(|_| made == 1) else { return Ok(made) };
        Ok(made + self.run(case, machine, &knobs, ways, promise)?.0)
    }

    /// The number of its kernels, and the first other configuration that the first's plan offers.
    fn run(
        &self,
        case: &Case,
        machine: &Machine,
        knobs: &Configuration,
        ways: &[Options],
        promise: Promise,
    ) -> Result<(usize, Option<Configuration>), Fault> {
        let compiled = self.in_charge(knobs).compile(&case.text, machine, Phase::Run);
        let mut made = compiled.map_err(|failure| Fault::new(Promise::Compiles, failure.fault))?;
        let is_own =
            |kernel: &&Selected| kernel.selection.order.get(kernel.place).is_some_and(|it| it.emitter == self.number);
        let own: Vec<&Selected> = made.kernels.iter().filter(is_own).collect();
        let (count, other) = (own.len(), own.first().and_then(|kernel| kernel.plan.alternatives.first().cloned()));
        let Some(executable) = made.executable.take().filter(|_| count > 0) else { return Ok((0, None)) };
        let mut first: Option<Literal> = None;
        for way in ways {
            let found = Compiler::execute(&executable, &case.inputs, way);
            let found = found.map_err(|words| Fault::new(Promise::Behaves, words))?;
            if let Some(first) = first.as_ref().filter(|first| **first != found) {
                let words = difference(&found, first, Closeness::Bits).unwrap_or_default();
                let words = format!("{words} with {} threads in the order {:?}", way.threads, way.order);
                return Err(Fault::new(promise, words));
            }
            first = Some(found);
        }
        if !case.is_possible {
            return Err(Fault::new(Promise::Declines, "there is a kernel, whatever it computes".into()));
        }
        match first.and_then(|found| difference(&found, case.expected(), case.closeness)) {
            Some(words) => Err(Fault::new(Promise::Result, words)),
            None => Ok((count, other)),
        }
    }

    /// A compiler that puts the emitter in charge of all that it takes, with these knobs.
    fn in_charge(&self, knobs: &Configuration) -> Compiler {
        let registry = self.compiler.registry();
        let kinds = registry.emitters().iter().map(|emitter| emitter.descriptor().kind.clone());
        let chosen = kinds.map(|kind| {
            let choice = Override::of_kind(kind, vec![self.number], &self.emitter().identity());
            Override { knobs: knobs.clone(), ..choice }
        });
        Compiler::of(registry.clone(), chosen.collect())
    }
}

impl Place {
    fn device(self) -> DeviceDescription {
        match self {
            Place::Cpu => DeviceDescription::cpu(2),
            Place::Simt => DeviceDescription::simt(),
            Place::Nvidia => DeviceDescription::sm(90),
        }
    }
}
