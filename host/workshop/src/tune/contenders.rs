//! Lists the contenders for a question: the emitters and knobs that can build a kernel, or the cuts
//! of a region.

use std::sync::Arc;

use fusebox_compiler::{Compilation, CompileError, Cut, Emitters, Options, Selected, Source, Tuned};
use fusebox_core::emitter::{Configuration, check_plan};
use fusebox_core::hlo::Module;
use fusebox_plugins::{Fingerprint, LoadedEmitter, Override, Ranked, Registry, Spec, Subject, Target};
use fusebox_prediction::breakdown;
use semver::Version;

use super::largest_part;
use crate::case::isolated_source;

/// One of several alternatives that compute the same results.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Name, version and knobs of an emitter, or name of a cut.
    pub name: String,
    /// Predicted microseconds; `None` if there is no plan.
    pub predicted_us: Option<f64>,
    /// The largest part of the predicted time, as the name of this part; `None` for cuts.
    pub longest: Option<&'static str>,
    /// Whether only bundled emitters build the contender's kernels.
    pub is_bundled: bool,
    /// The method by which the contender's kernels are built.
    way: BuildMethod,
}

#[derive(Clone, Debug)]
enum BuildMethod {
    /// Compiles a fusion in isolation, with one emitter.
    Emitter(Arc<Source>, Box<Override>),
    /// Compiles a region that is already cut into fusions.
    Cut(Box<Module>),
}

impl Contender {
    /// Compiles the contender with these options, but ignores the tuned choices that the options
    /// contain. If the contender is an emitter, also ignores the user's choices of emitters.
    ///
    /// # Errors
    /// If the contender cannot be compiled.
    pub fn compile(&self, options: Options) -> Result<Compilation, CompileError> {
        let registry = options.emitters.registry.clone();
        let emitters = |overrides| Emitters { registry, overrides, of_part: true, ..Emitters::default() };
        match &self.way {
            BuildMethod::Emitter(source, choice) => {
                let emitters = emitters(vec![(**choice).clone()]);
                fusebox_compiler::compile(source, &Options { emitters, ..options })
            }
            BuildMethod::Cut(module) => {
                let emitters = emitters(options.emitters.overrides.clone());
                fusebox_compiler::compile_fused((**module).clone(), &Options { emitters, ..options })
            }
        }
    }
}

/// Returns all emitters that accept the fusion. Each emitter occurs several times: with its default
/// knobs, and with each alternative that its plan declares. The emitter of the kernel comes first.
/// The other emitters follow in the order of selection.
pub fn of(kernel: &Selected, options: &Options) -> Vec<Contender> {
    let registry = &options.emitters.registry;
    let Ok(subject) = Subject::fingerprinted(&Fingerprint::of(&kernel.unit.fusion).to_string()) else {
        return Vec::new();
    };
    let source = Arc::new(isolated_source(kernel));
    let takers = kernel.selection.order.iter().skip(kernel.place);
    let ways = takers.flat_map(|ranked| knobs(ranked, kernel, options).into_iter().map(move |it| (ranked.emitter, it)));
    let contender = |(emitter, (knobs, predicted)): (usize, (Configuration, Option<PredictedTime>))| {
        let loaded = &registry.emitters()[emitter];
        let name = spec(loaded, knobs.clone()).to_string();
        // If two emitters have the same name and version, a SPEC can name only one of them.
        find(&name, registry).filter(|found| found.emitter == emitter)?;
        let (subject, emitters) = (subject.clone(), vec![emitter]);
        let choice = Override { subject, emitters, knobs, spec: name.clone(), place: None, force: true };
        let way = BuildMethod::Emitter(source.clone(), Box::new(choice));
        let (predicted_us, longest) = predicted.unzip();
        Some(Contender { name, predicted_us, longest, is_bundled: loaded.is_linked(), way })
    };
    ways.filter_map(contender).collect()
}

/// Returns all cuts of a region. The cut that is chosen without tuning comes first.
pub fn of_cut(cut: &Cut, registry: &Registry) -> Vec<Contender> {
    let contender = |way: &fusebox_compiler::Way| {
        let asks = find(&way.name, registry).map(|found| &registry.emitters()[found.emitter]);
        Contender {
            name: way.name.clone(),
            predicted_us: Some(way.seconds * 1e6),
            longest: None,
            is_bundled: asks.is_none_or(LoadedEmitter::is_linked),
            way: BuildMethod::Cut(Box::new(way.module.clone())),
        }
    };
    cut.ways.iter().map(contender).collect()
}

/// Predicted microseconds of a plan, and the name of the largest part of that time.
type PredictedTime = (f64, &'static str);

/// Returns all configurations of knobs that an emitter offers. Each configuration has the predicted
/// time of its plan.
fn knobs(ranked: &Ranked, kernel: &Selected, options: &Options) -> Vec<(Configuration, Option<PredictedTime>)> {
    let emitter = &options.emitters.registry.emitters()[ranked.emitter];
    // If an emitter returns an error instead of a plan, the error is reported later, when its
    // kernel is built.
    let (fusion, device) = (&kernel.unit.fusion, &options.device);
    let own = Configuration::default();
    let plan = |knobs: &Configuration| fusebox_compiler::ask(|| emitter.plan(fusion, device, knobs));
    let alternatives = plan(&own).map_or_else(|_| Vec::new(), |plan| plan.alternatives);
    let predicted = |knobs: &Configuration| {
        let plan = plan(knobs).ok().filter(|plan| check_plan(plan, fusion, device).is_ok())?;
        let times = breakdown(&plan, fusion, device).times;
        Some((times.seconds() * 1e6, largest_part::longest(&times)))
    };
    [own].into_iter().chain(alternatives).map(|knobs| (knobs.clone(), predicted(&knobs))).collect()
}

fn spec(emitter: &LoadedEmitter, knobs: Configuration) -> Spec {
    let descriptor = emitter.descriptor();
    let version = Version::parse(&descriptor.version).ok();
    Spec { subject: None, target: Target::Name { name: descriptor.name.clone(), version }, knobs }
}

/// Returns the emitter and the knobs that a stored SPEC names; `None` if the emitter is not loaded.
pub fn find(spec: &str, registry: &Registry) -> Option<Tuned> {
    let parsed: Spec = spec.parse().ok()?;
    let mut found = Override::resolve(registry, &parsed, false).ok()?;
    let choice = found.pop()?;
    match choice.emitters.as_slice() {
        [emitter] => Some(Tuned { emitter: *emitter, knobs: choice.knobs, spec: spec.to_owned() }),
        _ => None,
    }
}
