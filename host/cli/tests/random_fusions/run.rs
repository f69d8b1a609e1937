//! Compiles many fusions as one program, by each emitter that takes them and with other configurations than the
//! first, and compares results.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fusebox_compiler::{Compilation, Dump, Emitters, Options, Phase, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{self, Configuration, Descriptor, EmitError, Emitter, Kernel, Plan, Verdict};
use fusebox_core::hlo::{ArrayLiteral, Literal};
use fusebox_lowering::Target;
use fusebox_plugins::{Outcome, Override, Registry};
use fusebox_runtime::{Program, ThreadOrder};

use crate::chance::Chance;
use crate::graph::Fusion;
use crate::types::equal;

/// A fusion and what the interpreter says it gives.
pub struct Case {
    pub fusion: Fusion,
    expected: Vec<ArrayLiteral>,
}

/// What was run: kernels by target and emitter.
pub type Tally = BTreeMap<String, usize>;

impl Case {
    /// Asks the interpreter.
    pub fn new(fusion: Fusion) -> Result<Case, String> {
        let describe = |error: String| format!("seed {}: {error}\n{}", fusion.seed, fusion.text());
        let module = Source::text("fusion.hlo", &fusion.text()).parse().map_err(|e| describe(e.to_string()))?;
        let inputs: Vec<Literal> = fusion.parameters.iter().map(|(_, array)| Literal::Array(array.clone())).collect();
        let value = fusebox_interpreter::evaluate(&module, &inputs).map_err(|e| describe(e.to_string()))?;
        let expected = value.leaves().iter().filter_map(|leaf| leaf.as_array().cloned()).collect();
        Ok(Case { fusion, expected })
    }
}

impl Fusion {
    /// As `fusebox run` takes it.
    pub fn text(&self) -> String {
        let combiners: String = self.combiners.iter().map(|(_, text)| text.as_str()).collect();
        format!("{combiners}{}", self.computation)
    }
}

/// Runs fusions on a target by the emitters that are chosen and by all others that take them. Gives what went wrong.
pub fn check(cases: &[&Case], target: &Target, tally: &mut Tally) -> Vec<String> {
    match all_emitters(cases, target, tally) {
        Ok(()) => Vec::new(),
        Err(reason) if cases.len() == 1 => {
            let fusion = &cases[0].fusion;
            vec![format!("seed {} for {target}, {reason}\n{}", fusion.seed, fusion.text())]
        }
        // Something is wrong with one of them: which?
        Err(_) => cases.iter().flat_map(|case| check(&[case], target, &mut Tally::new())).collect(),
    }
}

fn all_emitters(cases: &[&Case], target: &Target, tally: &mut Tally) -> Result<(), String> {
    let made = run(cases, target, &Choice::Usual).map_err(|e| format!("by the emitter chosen: {e}"))?;
    let mut others: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut configurable = BTreeSet::new();
    let names: Vec<String> = registry()?.emitters().iter().map(|e| e.descriptor().name.clone()).collect();
    for kernel in &made.kernels {
        *tally.entry(format!("{target} {}", kernel.emitter.name)).or_default() += 1;
        if !kernel.plan.alternatives.is_empty() {
            configurable.extend(kernel.unit.uses.iter().map(String::as_str));
        }
        for record in &kernel.selection.records {
            if let Outcome::Passed(_) = record.outcome {
                others.entry(&names[record.emitter]).or_default().extend(kernel.unit.uses.iter().map(String::as_str));
            }
        }
    }
    for (emitter, taken) in others {
        let takes = |case: &&&Case| taken.contains(call(&case.fusion).as_str());
        let some: Vec<&Case> = cases.iter().filter(takes).copied().collect();
        if !some.is_empty() {
            run(&some, target, &Choice::Forced(emitter.into())).map_err(|e| format!("by {emitter}: {e}"))?;
            *tally.entry(format!("{target} {emitter}, forced")).or_default() += some.len();
        }
    }
    let configurable = |case: &&&Case| configurable.contains(call(&case.fusion).as_str());
    let some: Vec<&Case> = cases.iter().filter(configurable).copied().collect();
    if !some.is_empty() {
        let made = run(&some, target, &Choice::Alternative).map_err(|e| format!("otherwise configured: {e}"))?;
        for kernel in &made.kernels {
            *tally.entry(format!("{target} {}, otherwise configured", kernel.emitter.name)).or_default() += 1;
        }
    }
    Ok(())
}

/// Compiles and runs fusions and compares what they give.
fn run(cases: &[&Case], target: &Target, choice: &Choice) -> Result<Compilation, String> {
    let tried = catch_unwind(AssertUnwindSafe(|| compile_and_run(cases, target, choice)));
    let (made, found) = tried.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(format!("panic: {}", text.unwrap_or_else(|| "without text".into())))
    })?;
    let leaves = found.leaves();
    let mut leaves = leaves.iter().filter_map(|leaf| leaf.as_array());
    for case in cases {
        for (number, expected) in case.expected.iter().enumerate() {
            let Some(found) = leaves.next() else { return Err("a result is missing".into()) };
            if !equal(found, expected) {
                return Err(format!("result {number} is {found:?} instead of {expected:?}"));
            }
        }
    }
    Ok(made)
}

fn compile_and_run(cases: &[&Case], target: &Target, choice: &Choice) -> Result<(Compilation, Literal), String> {
    let device = if *target == Target::Cpu { DeviceDescription::cpu(2) } else { DeviceDescription::simt() };
    let options = Options {
        target: target.clone(),
        device,
        emitters: emitters(choice)?,
        threads: 1,
        until: Phase::Run,
        stages: Vec::new(),
        dump: Dump::default(),
    };
    let source = Source::text("fusions.hlo", &program(cases));
    let mut made = compile(&source, &options).map_err(|e| e.to_string())?;
    if !made.warnings.is_empty() {
        return Err(made.warnings.join("\n"));
    }
    let executable = made.executable.take().ok_or("no executable")?;
    let order = ThreadOrder::Seeded(cases[0].fusion.seed);
    let mut program =
        Program::load(executable, &fusebox_runtime::Options { threads: 1, order }).map_err(|e| e.to_string())?;
    let inputs = cases.iter().flat_map(|case| case.fusion.parameters.iter().map(|(_, array)| array.clone()));
    let found = program.run(&inputs.collect::<Vec<_>>()).map_err(|e| e.to_string())?;
    Ok((made, found))
}

fn registry() -> Result<Registry, String> {
    Registry::new(fusebox_bundle::emitters()).map_err(|e| e.to_string())
}

/// Who compiles, and how.
enum Choice {
    /// The emitter with the highest score.
    Usual,
    /// The emitter of this name.
    Forced(String),
    /// The one with the highest score, in another of the configurations that it offers.
    Alternative,
}

fn emitters(choice: &Choice) -> Result<Emitters, String> {
    let registry = match choice {
        Choice::Alternative => Registry::new(fusebox_bundle::emitters().into_iter().map(Reconfigured::boxed).collect())
            .map_err(|e| e.to_string())?,
        _ => registry()?,
    };
    let mut overrides = Vec::new();
    if let Choice::Forced(name) = choice {
        let emitter = registry.emitters().iter().position(|emitter| emitter.descriptor().name == *name).unwrap();
        let kinds = registry.emitters().iter().map(|emitter| emitter.descriptor().kind.clone());
        overrides.extend(kinds.map(|kind| Override {
            kind,
            emitters: vec![emitter],
            spec: "the test".into(),
            force: true,
        }));
    }
    Ok(Emitters { registry, overrides, ..Emitters::default() })
}

/// An emitter that plans with one of the configurations it offers besides its first choice.
struct Reconfigured(Box<dyn Emitter>);

impl Reconfigured {
    fn boxed(emitter: Box<dyn Emitter>) -> Box<dyn Emitter> {
        Box::new(Reconfigured(emitter))
    }
}

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
        // Any will do, if it is always the same for a fusion.
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

fn call(fusion: &Fusion) -> String {
    format!("call_{}", fusion.seed)
}

/// A program that calls each fusion on parameters of its own.
fn program(cases: &[&Case]) -> String {
    let mut combiners: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut computations, mut lines) = (String::new(), Vec::new());
    let (mut shapes, mut names) = (Vec::new(), Vec::new());
    let mut parameters = 0;
    for Case { fusion, .. } in cases {
        combiners.extend(fusion.combiners.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        computations += &fusion.computation;
        let mut operands = Vec::new();
        for (shape, _) in &fusion.parameters {
            operands.push(format!("p{parameters}"));
            lines.push(format!("p{parameters} = {shape} parameter({parameters})"));
            parameters += 1;
        }
        let (call, name) = (call(fusion), fusion.name());
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
