//! A fusion alone, as each contender makes it.

use std::sync::Mutex;

use fusebox_compiler::{Dump, Emitters, Options, Phase, Source};
use fusebox_core::emitter::Fusion;
use fusebox_plugins::{Fingerprint, Override, Subject};
use fusebox_runtime::Executable;

use super::Settings;
use super::contenders::Contender;

/// What a contender made.
pub struct Made {
    /// Its place in the fixed order.
    pub place: usize,
    /// Name, version and knobs.
    pub name: String,
    /// Whether it comes with fusebox.
    pub is_bundled: bool,
    /// The fusion alone and what that is predicted to take in microseconds, or why there is none.
    pub program: Result<(Executable, f64), String>,
}

/// Compiles the fusion by each of them, as many at a time as there are threads; `None` if the work is to end.
pub fn all(contenders: Vec<Contender>, fusion: &Fusion, source: &Source, settings: &Settings<'_>) -> Option<Vec<Made>> {
    let workers = settings.compile.threads.clamp(1, contenders.len().max(1));
    let left = Mutex::new(contenders.into_iter().enumerate());
    let next = || left.lock().ok()?.next().filter(|_| !settings.is_stopped());
    let work = || std::iter::from_fn(next).map(|(place, it)| make(place, &it, fusion, source, &settings.compile));
    let mut made: Vec<Made> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(|| work().collect::<Vec<Made>>())).collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    made.sort_by_key(|made| made.place);
    (!settings.is_stopped()).then_some(made)
}

fn make(place: usize, contender: &Contender, fusion: &Fusion, source: &Source, options: &Options) -> Made {
    let Contender { emitter, spec, .. } = contender;
    let registry = options.emitters.registry.clone();
    let is_bundled = registry.emitters()[*emitter].origin().path().is_none();
    let name = spec.to_string();
    let program = Subject::fingerprinted(&Fingerprint::of(fusion).to_string()).and_then(|subject| {
        let (emitters, knobs) = (vec![*emitter], spec.knobs.clone());
        let choice = Override { subject, emitters, knobs, spec: name.clone(), place: None, force: true };
        let emitters = Emitters { registry, overrides: vec![choice], ..Emitters::default() };
        let (stages, dump) = (Vec::new(), Dump::default());
        let options = Options { emitters, threads: 1, until: Phase::Run, stages, dump, ..options.clone() };
        let made = fusebox_compiler::compile(source, &options).map_err(|error| error.to_string())?;
        let seconds: f64 = made.kernels.iter().map(|kernel| kernel.prediction.seconds).sum();
        Ok((made.executable.ok_or("there is no executable")?, seconds * 1e6))
    });
    Made { place, name, is_bundled, program }
}
