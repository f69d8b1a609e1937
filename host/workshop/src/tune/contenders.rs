//! Who might make a kernel.

use fusebox_compiler::{Options, Selected, Tuned};
use fusebox_core::emitter::{Configuration, check_plan};
use fusebox_plugins::{LoadedEmitter, Override, Ranked, Registry, Spec, Target};
use semver::Version;

/// An emitter that takes a fusion, with knobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// Its number in the registry.
    pub emitter: usize,
    /// Its name, version and knobs.
    pub spec: Spec,
    /// Microseconds that its plan is predicted to take; none if it has no plan.
    pub predicted_us: Option<f64>,
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
    let (fusion, device) = (&kernel.unit.fusion, &options.device);
    let own = Configuration::default();
    let plan = |knobs: &Configuration| fusebox_compiler::ask(|| emitter.plan(fusion, device, knobs));
    let alternatives = plan(&own).map_or_else(|_| Vec::new(), |plan| plan.alternatives);
    let predicted_us = |knobs: &Configuration| {
        let plan = plan(knobs).ok().filter(|plan| check_plan(plan, fusion, device).is_ok())?;
        Some(ranked.prediction(&plan, fusion, device).seconds * 1e6)
    };
    let way = |knobs: Configuration| {
        let predicted_us = predicted_us(&knobs);
        Contender { emitter: ranked.emitter, spec: spec(emitter, knobs), predicted_us }
    };
    [own].into_iter().chain(alternatives).map(way).collect()
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
