//! Options that choose one emitter for all fusions.

use fusebox_compiler::{Emitters, Options, Selected};
use fusebox_core::emitter::Configuration;
use fusebox_plugins::{Origin, Override, Subject};
use glob::Pattern;

/// Returns options that choose the emitter of this kernel for all fusions, with the knobs of the
/// kernel's plan. Other emitters build the fusions that this emitter declines.
pub fn pinned(kernel: &Selected, options: &Options) -> Options {
    with(kernel.selection.order[kernel.place].emitter, kernel.plan.configuration.clone(), false, options)
}

/// Returns options that choose the emitter with this number for all fusions, with its default
/// knobs. With the returned options, compilation fails if the emitter declines a fusion.
pub fn pinned_to(emitter: usize, options: &Options) -> Options {
    with(emitter, Configuration::default(), true, options)
}

fn with(number: usize, knobs: Configuration, force: bool, options: &Options) -> Options {
    let emitter = &options.emitters.registry.emitters()[number];
    let descriptor = emitter.descriptor();
    let named = match emitter.origin() {
        Origin::Linked => format!("{}@{}", descriptor.name, descriptor.version),
        origin => origin.path().map_or_else(|| descriptor.name.clone(), |path| path.display().to_string()),
    };
    let all = Pattern::default();
    let choice = Override {
        subject: Subject::Name(Pattern::new("*").unwrap_or(all)),
        emitters: vec![number],
        spec: format!("fusion:*={named}{knobs}"),
        knobs,
        place: None,
        force,
    };
    let emitters = Emitters { overrides: vec![choice], ..options.emitters.clone() };
    Options { emitters, ..options.clone() }
}
