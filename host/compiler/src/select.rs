//! Selects an emitter for each fusion, and collects its plan, its kernel and the reasons.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Descriptor, Fusion, Kernel, KernelCode, Plan};
use fusebox_core::ir::Function;
use fusebox_lowering::LoweringError;
use fusebox_plugins::{
    Fingerprint, KnownPlans, LoadedEmitter, Origin, Outcome, Override, Produced, Ranked, Selection, Subject,
    Unfinished, produce_planned, select_known,
};
use fusebox_prediction::{Prediction, is_better_alone, predict};

use crate::emitters::{Emitters, Tuned, ask};
use crate::fuse::BidRecord;
use crate::kernels::KernelUnit;
use crate::{CompileError, EmitterError, Options, Phase};

/// A fusion with its emitter, plan and kernel.
#[derive(Debug)]
pub struct Selected {
    /// The fusion and its uses.
    pub unit: KernelUnit,
    /// The answers of all emitters about the fusion.
    pub selection: Selection,
    /// Position of the kernel's emitter in the selection's order.
    pub place: usize,
    /// The emitter of the kernel.
    pub emitter: Descriptor,
    /// The plan of the kernel.
    pub plan: Plan,
    /// The predicted time and memory traffic of the plan.
    pub prediction: Prediction,
    /// The entry function and its subgraph functions. The list is empty if a routine of the host
    /// executes the fusion.
    pub functions: Vec<Function>,
    /// Errors of the emitters that come before the kernel's emitter in the selection's order.
    pub failures: Vec<EmitterError>,
}

impl Selected {
    /// Whether a routine of the host executes the fusion, so that there is no kernel.
    pub fn is_routine(&self) -> bool {
        self.functions.is_empty()
    }

    /// Whether one core is predicted to execute all blocks of the kernel faster than several cores.
    pub fn is_better_alone(&self, device: &DeviceDescription) -> bool {
        is_better_alone(&self.plan, &self.prediction, self.unit.kept, device)
    }
}

fn text(functions: &[Function]) -> String {
    functions.iter().map(Function::to_string).collect()
}

/// Asks every emitter whose answer is not known, and returns the plan and kernel of the best
/// emitter that succeeds.
pub fn select(unit: &KernelUnit, options: &Options, known: &KnownPlans) -> Result<Selected, CompileError> {
    let Options { device, emitters, .. } = options;
    let mut unit = unit.clone();
    let known = known.of(&mut unit.fusion);
    let selection = ask(|| select_known(&emitters.registry, &unit.fusion, device, &emitters.overrides, &known));
    let mut selection = selection.map_err(|error| Box::new(error.into()))?;
    let fingerprint = (!emitters.tuned.is_empty()).then(|| Fingerprint::of(&unit.fusion));
    if let Some(Tuned { emitter, knobs, spec }) = fingerprint.and_then(|it| emitters.tuned.get(&it)) {
        selection.prefer(*emitter, knobs, &format!("tuned: `fusebox tune` chose `{spec}`"));
    }
    first_from(0, unit, selection, Vec::new(), options)
}

/// Returns the kernel of a later emitter in place of a kernel that cannot be compiled.
///
/// # Errors
/// Returns the error of the refused kernel if the user has chosen the kernel's emitter. Returns the
/// errors of all emitters if no later emitter succeeds.
pub fn instead(refused: Selected, source: LoweringError, options: &Options) -> Result<Selected, CompileError> {
    let Selected { unit, selection, place, plan, functions, mut failures, .. } = refused;
    let emitter = &options.emitters.registry.emitters()[selection.order[place].emitter];
    let error = EmitterError::Refused { emitter: emitter.identity(), source: Box::new(source) };
    dump_refused(options, emitter, &unit, &error, Some(&plan), Some(&|| text(&functions)))?;
    if selection.in_charge.is_some() {
        return Err(Box::new(error).into());
    }
    failures.push(error);
    first_from(place + 1, unit, selection, failures, options)
}

/// Returns the kernel of the first emitter that succeeds, beginning at a position of the
/// selection's order.
fn first_from(
    from: usize,
    unit: KernelUnit,
    selection: Selection,
    mut failures: Vec<EmitterError>,
    options: &Options,
) -> Result<Selected, CompileError> {
    for place in from..selection.order.len() {
        let ranked = &selection.order[place];
        let emitter = &options.emitters.registry.emitters()[ranked.emitter];
        match deliver(emitter, ranked, &unit, options)? {
            Ok((plan, functions)) => {
                let known = ranked.planned.as_ref().and_then(|planned| planned.as_ref().ok());
                let prediction = match known.filter(|(known, _)| *known == plan) {
                    Some((_, prediction)) => *prediction,
                    None => predict(&plan, &unit.fusion, &options.device),
                };
                let emitter = emitter.descriptor().clone();
                return Ok(Selected { unit, selection, place, emitter, plan, prediction, functions, failures });
            }
            Err(error) if selection.in_charge.is_some() => return Err(Box::new(error).into()),
            Err(error) => failures.push(error),
        }
    }
    Err(Box::new(EmitterError::All(failures)).into())
}

/// Returns the plan and the functions of one emitter, or the reason why the emitter fails. If the
/// emitter fails, the dumps contain its incomplete results.
fn deliver(
    emitter: &LoadedEmitter,
    ranked: &Ranked,
    unit: &KernelUnit,
    options: &Options,
) -> Result<Result<(Plan, Vec<Function>), EmitterError>, CompileError> {
    let fusion = &unit.fusion;
    let knobs = &ranked.knobs;
    let device = &options.device;
    let plan = match &ranked.planned {
        Some(planned) if *knobs == Configuration::default() => planned.clone().map(|(plan, _)| plan),
        _ => ask(|| emitter.plan(fusion, device, knobs)),
    };
    let Produced { plan, kernel } = match ask(|| produce_planned(emitter, fusion, device, plan)) {
        Ok(produced) => produced,
        Err(unfinished) => {
            let Unfinished { failure, plan, kernel } = *unfinished;
            let error = failure.into();
            let text = kernel.map(|kernel| move || kernel.code.to_string());
            let text = text.as_ref().map(|text| text as &dyn Fn() -> String);
            dump_refused(options, emitter, unit, &error, plan.as_ref(), text)?;
            return Ok(Err(error));
        }
    };
    let known = known(emitter, knobs, &plan);
    match known.and_then(|()| complete(emitter, fusion, &kernel)) {
        Ok(functions) => Ok(Ok((plan, functions))),
        Err(error) => {
            dump_refused(options, emitter, unit, &error, Some(&plan), Some(&|| kernel.code.to_string()))?;
            Ok(Err(error))
        }
    }
}

/// Dumps the plan and the kernel of an emitter that failed, for the emitter's author.
fn dump_refused(
    options: &Options,
    emitter: &LoadedEmitter,
    unit: &KernelUnit,
    error: &EmitterError,
    plan: Option<&Plan>,
    kernel: Option<&dyn Fn() -> String>,
) -> Result<(), CompileError> {
    let part = format!("{}.refused-{}", unit.fusion.name, emitter.descriptor().name);
    let reason = |mark: &str| error.to_string().lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
    if let Some(plan) = plan {
        let text = || (reason("refused: ") + &plan.to_string()).into_bytes();
        options.dump.write(Phase::Plan, &part, "txt", text)?;
    }
    if let Some(kernel) = kernel {
        options.dump.write(Phase::Emit, &part, "mlir", || (reason("// refused: ") + &kernel()).into_bytes())?;
    }
    Ok(())
}

/// Checks that an emitter has these knobs. An emitter ignores knobs that it does not know, and its
/// plan lists the knobs that it knows.
fn known(emitter: &LoadedEmitter, knobs: &Configuration, plan: &Plan) -> Result<(), EmitterError> {
    let own = &plan.configuration.0;
    let Some(unknown) = knobs.0.keys().find(|name| !own.contains_key(*name)) else { return Ok(()) };
    let own: Vec<String> = own.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let has = if own.is_empty() { "it has none".into() } else { format!("here it has {}", own.join(", ")) };
    Err(EmitterError::Knob { emitter: emitter.identity(), knob: unknown.clone(), has })
}

/// Returns the kernel with the subgraph functions that it calls. Verifies the kernel of a loaded
/// emitter, so that a fault is found before lowering. The kernels of linked emitters are verified
/// only by lowering.
fn complete(emitter: &LoadedEmitter, fusion: &Fusion, kernel: &Kernel) -> Result<Vec<Function>, EmitterError> {
    let subgraphs = fusebox_emission::subgraph_functions(fusion, &kernel.calls)?;
    let refused = |source| EmitterError::Refused { emitter: emitter.identity(), source: Box::new(source) };
    let mut functions = match &kernel.code {
        KernelCode::Function(function) => vec![function.clone()],
        KernelCode::Text(text) => fusebox_lowering::parse(&fusion.name, text).map_err(refused)?,
        KernelCode::Routine => {
            let made = fusebox_routines::routine_for(&fusion.module);
            return made
                .map(|_| Vec::new())
                .map_err(|reason| EmitterError::Routine { emitter: emitter.identity(), reason });
        }
    };
    functions.extend(subgraphs);
    if *emitter.origin() != Origin::Linked {
        fusebox_lowering::verify(&fusion.name, &functions).map_err(refused)?;
    }
    Ok(functions)
}

/// Checks that the user's choices of emitters have an effect. Returns remarks about choices whose
/// emitters declined fusions.
///
/// # Errors
/// If a choice had no effect, because its emitters have no kernel in the program.
pub fn check_choices(made: &[Selected], bids: &[BidRecord], emitters: &Emitters) -> Result<Vec<String>, CompileError> {
    let overrides = &emitters.overrides;
    // The last of several choices with the same subject wins. The other choices need not have an
    // effect.
    let counts = |&n: &usize| overrides[n + 1..].iter().all(|later| later.subject != overrides[n].subject);
    let counting: Vec<usize> = (0..overrides.len()).filter(counts).collect();
    let same =
        |&a: &usize, &b: &usize| (&overrides[a].spec, &overrides[a].place) == (&overrides[b].spec, &overrides[b].place);
    let mut remarks = Vec::new();
    for numbers in counting.chunk_by(same) {
        let choice = &overrides[numbers[0]];
        let count = made.iter().filter(|it| it.selection.in_charge.is_some_and(|n| numbers.contains(&n))).count();
        let declined: Vec<&str> = made.iter().filter_map(|it| declined_reason(&it.selection, numbers)).collect();
        let is_overruled = |it: &Selected| {
            let is_later = it.selection.in_charge.is_some_and(|n| numbers.iter().all(|&number| n > number));
            is_later && numbers.iter().any(|&n| overrides[n].subject.is(&it.unit.fusion, it.selection.kind.as_ref()))
        };
        match (count, declined.first()) {
            (0, _) if emitters.of_part => {}
            // A choice in a file is meant for many programs, so it may have no effect in this
            // program. A choice on the command line must have an effect.
            (0, _) if choice.place.is_none() && !made.iter().any(is_overruled) => {
                return Err(CompileError::Choice(no_effect(numbers, &declined, made, bids, emitters)));
            }
            (_, Some(first)) => {
                let all = count + declined.len();
                remarks.push(format!(
                    "{choice} takes {count} of {all} kernels of its kind and declines {}, the first because: {first} \
                     (`fusebox explain` lists all, --force makes it an error)",
                    declined.len()
                ));
            }
            (_, None) => {}
        }
    }
    Ok(remarks)
}

fn declined_reason<'s>(selection: &'s Selection, numbers: &[usize]) -> Option<&'s str> {
    selection.declined.as_ref().filter(|(number, _)| numbers.contains(number)).map(|(_, reason)| reason.as_str())
}

/// Explains why the choices of one SPEC had no effect: their emitters declined, their bids failed,
/// or no fusion matches them.
fn no_effect(
    numbers: &[usize],
    declined: &[&str],
    made: &[Selected],
    bids: &[BidRecord],
    emitters: &Emitters,
) -> String {
    let is_chosen = |number: usize| numbers.iter().any(|&n| emitters.overrides[n].emitters.contains(&number));
    let Override { spec, subject, .. } = &emitters.overrides[numbers[0]];
    let mut text = format!("emitter spec `{spec}`: it made no kernel of this program; ");
    if let Some(first) = declined.first() {
        return text + &format!("it declines all {} of its kind, the first because: {first}", declined.len());
    }
    if !matches!(subject, Subject::Kind(_)) {
        let fusion = |it: &Selected| format!("{} ({})", it.unit.fusion.name, Fingerprint::of(&it.unit.fusion));
        let fusions: Vec<String> = made.iter().map(fusion).collect();
        return text + &format!("{subject} matches no fusion; the fusions are: {}", fusions.join(", "));
    }
    let all = emitters.registry.emitters().iter().enumerate();
    let chosen: Vec<String> = all.filter(|(n, _)| is_chosen(*n)).map(|(_, emitter)| emitter.identity()).collect();
    if let Some(bid) = bids.iter().find(|bid| chosen.contains(&bid.emitter)) {
        return text + &format!("none of its bids succeeded: {}: {}", bid.anchor, bid.outcome);
    }
    let record =
        |it: &Selected| it.selection.records.iter().find(|it| is_chosen(it.emitter)).map(|it| it.outcome.clone());
    let declines = made.iter().map(|it| match record(it) {
        Some(Outcome::Declined(reason)) => Some(reason),
        _ => None,
    });
    if let Some(reasons) = declines.collect::<Option<Vec<String>>>()
        && let Some(first) = reasons.first()
    {
        return text + &format!("it declines all {} fusions, the first because: {first}", reasons.len());
    }
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for kernel in made {
        let kind = kernel.selection.kind.as_ref().map(ToString::to_string).unwrap_or_default();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    text += &if kinds.is_empty() {
        "the program has no kernels".to_owned()
    } else {
        format!("its kernels are of other kinds: {}", kinds.join(", "))
    };
    text
}
