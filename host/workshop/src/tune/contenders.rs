//! Who might make a kernel.

use fusebox_compiler::{Options, Selected, Tuned};
use fusebox_core::emitter::Configuration;
use fusebox_plugins::{LoadedEmitter, Override, Ranked, Registry, Spec, Target};
use semver::Version;

/// An emitter that takes a fusion, with knobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// Its number in the registry.
    pub emitter: usize,
    /// Its name, version and knobs.
    pub spec: Spec,
}

/// Everybody who takes the fusion, each as it plans by itself and with each of the alternatives that its plan declares. First
/// whoever makes it untuned; the others as they are predicted.
pub fn of(kernel: &Selected, options: &Options) -> Vec<Contender> {
    let registry = &options.emitters.registry;
    let takers = kernel.selection.order.iter().skip(kernel.place);
    let mut contenders: Vec<Contender> = takers.flat_map(|ranked| ways(ranked, kernel, options)).collect();
    // Of two emitters of one name and version a SPEC means only one.
    contenders.retain(|it| find(&it.spec.to_string(), registry).is_some_and(|found| found.emitter == it.emitter));
    contenders
}

/// One emitter with all its knobs.
fn ways(ranked: &Ranked, kernel: &Selected, options: &Options) -> Vec<Contender> {
    let emitter = &options.emitters.registry.emitters()[ranked.emitter];
    // Who has no plan is told of where its kernel is asked for.
    let plan = fusebox_compiler::ask(|| ranked.plan(emitter, &kernel.unit.fusion, &options.device));
    let alternatives = plan.map_or_else(|_| Vec::new(), |(plan, _)| plan.alternatives);
    let way = |knobs| Contender { emitter: ranked.emitter, spec: spec(emitter, knobs) };
    [Configuration::default()].into_iter().chain(alternatives).map(way).collect()
}

fn spec(emitter: &LoadedEmitter, knobs: Configuration) -> Spec {
    let descriptor = emitter.descriptor();
    let version = Version::parse(&descriptor.version).ok();
    Spec { subject: None, target: Target::Name { name: descriptor.name.clone(), version }, knobs }
}

/// The emitter and the knobs of a SPEC that was written down; `None` if that emitter is not here.
pub fn find(spec: &str, registry: &Registry) -> Option<Tuned> {
    let parsed: Spec = spec.parse().ok()?;
    let mut found = Override::resolve(registry, &parsed, false).ok()?;
    let choice = found.pop()?;
    match choice.emitters.as_slice() {
        [emitter] => Some(Tuned { emitter: *emitter, knobs: choice.knobs, spec: spec.to_owned() }),
        _ => None,
    }
}
