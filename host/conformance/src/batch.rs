//! Compiles many fusions as one program, and compares the results with those of the interpreter.
//! Repeats the comparison with each emitter that accepts some of the fusions, and with alternative
//! configurations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{self, Configuration, Descriptor, EmitError, Emitter, Kernel, Plan, Verdict};
use fusebox_core::hlo::ArrayLiteral;
use fusebox_plugins::{Outcome, Override};
use fusebox_runtime::ThreadOrder;

use crate::compiler::interpreted;
use crate::fusions::{self, Chance, Fusion};
use crate::literals::{Closeness, array_difference};
use crate::{Compiler, Failure, Machine, Made};

/// Largest number of fusions in one program.
const PER_PROGRAM: usize = 20;

/// Number of kernels that were run, per machine and emitter.
pub type Tally = BTreeMap<String, usize>;

/// Runs the fusions of these seeds on the cpu and on the simulated GPU. First compiles the fusions
/// with the emitters that selection chooses, then with each other emitter that accepts some of the
/// fusions. Finally compiles the fusions with alternative configurations of the emitters that
/// selection chooses.
///
/// # Errors
/// The first fault.
pub fn check_together(
    emitters: &dyn Fn() -> Vec<Box<dyn Emitter>>,
    seeds: Range<u64>,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let checked = CheckedEmitters { emitters };
    let seeds: Vec<u64> = seeds.collect();
    checked.all(&Machine::cpu(), &seeds, tally)?;
    checked.all(&Machine::simt(), &seeds, tally)
}

/// The emitters to check.
struct CheckedEmitters<'a> {
    emitters: &'a dyn Fn() -> Vec<Box<dyn Emitter>>,
}

/// A random fusion, and its results as the interpreter computes them.
struct ExpectedFusion {
    fusion: Fusion,
    expected: Vec<ArrayLiteral>,
}

/// Selects the emitters that build a program's kernels, and the configurations of these emitters.
enum EmitterSelection {
    /// The emitter that selection chooses builds each fusion, in the emitter's default
    /// configuration.
    Usual,
    /// The emitter with this name builds all fusions.
    Forced(String),
    /// The emitter that selection chooses builds each fusion, in an alternative configuration.
    Alternative,
}

impl CheckedEmitters<'_> {
    /// Runs the fusions of the seeds on a machine, in programs of at most `PER_PROGRAM` fusions.
    fn all(&self, machine: &Machine, seeds: &[u64], tally: &mut Tally) -> Result<(), Failure> {
        for seeds in seeds.chunks(PER_PROGRAM) {
            let cases = seeds.iter().map(|&seed| ExpectedFusion::new(fusions::any(seed)));
            let cases: Vec<ExpectedFusion> = cases.collect::<Result<_, _>>()?;
            self.run_batch(&cases.iter().collect::<Vec<_>>(), machine, tally)?;
        }
        Ok(())
    }

    /// Runs some fusions as one program. If the program fails, runs each fusion as a separate
    /// program, to find the fusion that fails.
    fn run_batch(&self, cases: &[&ExpectedFusion], machine: &Machine, tally: &mut Tally) -> Result<(), Failure> {
        let Err(failure) = self.with_all_selections(cases, machine, tally) else { return Ok(()) };
        match cases {
            [case] => Err(Failure { seed: Some(case.fusion.seed), fusion: case.fusion.text(), ..failure }),
            _ => {
                cases.iter().try_for_each(|&case| self.run_batch(&[case], machine, &mut Tally::new()))?;
                Err(failure)
            }
        }
    }

    fn with_all_selections(
        &self,
        cases: &[&ExpectedFusion],
        machine: &Machine,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let (made, names) = self.run(cases, machine, &EmitterSelection::Usual)?;
        let target = &machine.target;
        let mut others: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut configurable = BTreeSet::new();
        for kernel in &made.compilation.kernels {
            *tally.entry(format!("{target} {}", kernel.emitter.name)).or_default() += 1;
            let uses = || kernel.unit.uses.iter().map(String::as_str);
            if !kernel.plan.alternatives.is_empty() {
                configurable.extend(uses());
            }
            for record in &kernel.selection.records {
                if let Outcome::Passed(_) = record.outcome {
                    others.entry(&names[record.emitter]).or_default().extend(uses());
                }
            }
        }
        for (emitter, taken) in others {
            let some: Vec<&ExpectedFusion> =
                cases.iter().filter(|case| taken.contains(&*case.call())).copied().collect();
            if !some.is_empty() {
                self.run(&some, machine, &EmitterSelection::Forced(emitter.into()))?;
                *tally.entry(format!("{target} {emitter}, forced")).or_default() += some.len();
            }
        }
        let some: Vec<&ExpectedFusion> =
            cases.iter().filter(|case| configurable.contains(&*case.call())).copied().collect();
        if !some.is_empty() {
            let (made, _) = self.run(&some, machine, &EmitterSelection::Alternative)?;
            for name in made.emitters {
                *tally.entry(format!("{target} {name}, otherwise configured")).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Compiles and runs fusions as one program, and compares the results with those of the
    /// interpreter. Returns the compiled program with its result, and the names of all emitters.
    fn run(
        &self,
        cases: &[&ExpectedFusion],
        machine: &Machine,
        choice: &EmitterSelection,
    ) -> Result<(Made, Vec<String>), Failure> {
        let compiler = self.compiler(choice)?;
        let registry = compiler.registry().emitters().iter();
        let names: Vec<String> = registry.map(|emitter| emitter.descriptor().name.clone()).collect();
        let (emitter, how) = match choice {
            EmitterSelection::Usual => ("the emitters chosen", ""),
            EmitterSelection::Forced(name) => (name.as_str(), ""),
            EmitterSelection::Alternative => ("the emitters chosen", ", otherwise configured"),
        };
        let place = format!("{}{how}", machine.device.name);
        let failed = |fault: String| Failure::of(emitter, &place, fault, &program(cases));
        let inputs: Vec<ArrayLiteral> = cases.iter().flat_map(|case| case.fusion.inputs()).collect();
        let order = [ThreadOrder::Seeded(cases[0].fusion.seed)];
        let tried = AssertUnwindSafe(|| compiler.run_in_orders(&program(cases), machine, &inputs, &order));
        let made = catch_unwind(tried).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            failed(format!("panic: {}", text.unwrap_or_else(|| "without text".into())))
        })?;
        let made = made.map_err(|failure| failed(failure.fault))?;
        if !made.compilation.warnings.is_empty() {
            return Err(failed(made.compilation.warnings.join("\n")));
        }
        let leaves = made.result.leaves();
        let mut leaves = leaves.iter().filter_map(|leaf| leaf.as_array());
        for case in cases {
            for (number, expected) in case.expected.iter().enumerate() {
                let Some(found) = leaves.next() else { return Err(failed("a result is missing".into())) };
                if let Some(difference) = array_difference(found, expected, Closeness::Numbers) {
                    return Err(failed(format!("result {number}: {difference}")));
                }
            }
        }
        Ok((made, names))
    }

    fn compiler(&self, choice: &EmitterSelection) -> Result<Compiler, Failure> {
        let emitters = (self.emitters)();
        match choice {
            EmitterSelection::Usual => Compiler::new(emitters),
            EmitterSelection::Alternative => {
                let others = emitters.into_iter().map(|inner| Box::new(Reconfigured(inner)) as Box<dyn Emitter>);
                Compiler::new(others.collect())
            }
            EmitterSelection::Forced(name) => {
                let usual = Compiler::new(emitters)?;
                let number = usual.number(name)?;
                let registry = usual.registry();
                let kinds = registry.emitters().iter().map(|emitter| emitter.descriptor().kind.clone());
                let forced = |kind| Override { force: true, ..Override::of_kind(kind, vec![number], name) };
                Ok(Compiler::of(registry.clone(), kinds.map(forced).collect()))
            }
        }
    }
}

impl ExpectedFusion {
    fn new(fusion: Fusion) -> Result<ExpectedFusion, Failure> {
        let seed = Some(fusion.seed);
        let inputs: Vec<ArrayLiteral> = fusion.inputs().collect();
        let value = interpreted(&fusion.text(), &inputs).map_err(|failure| Failure { seed, ..failure })?;
        let expected = value.leaves().iter().filter_map(|leaf| leaf.as_array().cloned()).collect();
        Ok(ExpectedFusion { fusion, expected })
    }

    /// Returns the name of the instruction that calls the fusion.
    fn call(&self) -> String {
        format!("call_{}", self.fusion.seed)
    }
}

/// An emitter that plans with one of its alternative configurations instead of the default.
struct Reconfigured(Box<dyn Emitter>);

impl Emitter for Reconfigured {
    fn descriptor(&self) -> Descriptor {
        self.0.descriptor()
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
        let first = self.0.plan(fusion, device, configuration)?;
        // Any alternative is suitable, but the same fusion must always get the same alternative.
        let seed = fusion.name.bytes().fold(0u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
        match first.alternatives.as_slice() {
            [] => Ok(first),
            all => self.0.plan(fusion, device, &Chance::new(seed).pick(all)),
        }
    }

    fn emit(&self, fusion: &emitter::Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        self.0.emit(fusion, device, plan)
    }
}

/// Returns the text of a program that calls all fusions. Each fusion has separate parameters.
fn program(cases: &[&ExpectedFusion]) -> String {
    let mut combiners: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut computations, mut lines) = (String::new(), Vec::new());
    let (mut shapes, mut names) = (Vec::new(), Vec::new());
    let mut parameters = 0;
    for ExpectedFusion { fusion, .. } in cases {
        combiners.extend(fusion.combiners.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        computations += &fusion.computation;
        let mut operands = Vec::new();
        for (shape, _) in &fusion.parameters {
            operands.push(format!("p{parameters}"));
            lines.push(format!("p{parameters} = {shape} parameter({parameters})"));
            parameters += 1;
        }
        let (call, name) = (format!("call_{}", fusion.seed), fusion.name());
        lines.push(format!("{call} = {} fusion({}), kind=kLoop, calls={name}", fusion.result, operands.join(", ")));
        if let [shape] = fusion.results.as_slice() {
            shapes.push(shape.clone());
            names.push(call);
        } else {
            for (number, shape) in fusion.results.iter().enumerate() {
                let leaf = format!("r{}_{number}", fusion.seed);
                lines.push(format!("{leaf} = {shape} get-tuple-element({call}), index={number}"));
                shapes.push(shape.clone());
                names.push(leaf);
            }
        }
    }
    lines.push(format!("ROOT all = ({}) tuple({})", shapes.join(", "), names.join(", ")));
    let combiners: String = combiners.values().copied().collect();
    format!("HloModule fusions\n{combiners}{computations}ENTRY main {{\n  {}\n}}\n", lines.join("\n  "))
}
