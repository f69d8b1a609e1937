//! Compiles modules in the same way as the program `fusebox`.

use fusebox_compiler::{Cache, CompileError, Departures, Dump, Emitters, Options, Phase, Progress, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_lowering::Target;
use fusebox_plugins::Registry;
use fusebox_runtime::Executable;

/// Targets whose programs can run on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The processor of this machine.
    Cpu,
    /// The simulator.
    Simt,
}

/// Returns the bundled emitters. Fails if one of them cannot describe itself.
pub fn registry() -> Result<Registry, String> {
    Registry::new(fusebox_bundle::emitters()).map_err(|error| error.to_string())
}

/// Returns options that compile for this target with these emitters. Compilation ends after this
/// phase and uses one thread.
pub fn options(target: Target, device: DeviceDescription, registry: Registry, until: Phase) -> Options {
    let emitters = Emitters { registry, ..Emitters::default() };
    Options {
        target,
        device,
        emitters,
        threads: 1,
        until,
        stages: Vec::new(),
        dump: Dump::default(),
        departures: Departures::default(),
        memory_limit: None,
        progress: Progress::default(),
        cache: Cache::default(),
    }
}

/// Compiles a module to an executable. If compilation fails, returns the compiler's error.
pub fn executable(source: &Source, place: Place, registry: &Registry) -> Result<Executable, CompileError> {
    let (target, device) = match place {
        Place::Cpu => (Target::cpu(), DeviceDescription::cpu(1)),
        Place::Simt => (Target::simt(), DeviceDescription::simt()),
    };
    let options = options(target, device, registry.clone(), Phase::Run);
    let nothing = || CompileError::Internal { phase: "run", message: "the compiler made no executable".into() };
    compile(source, &options)?.executable.ok_or_else(nothing)
}
