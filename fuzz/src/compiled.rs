//! Compiles modules in the same way as the program `fusebox`.

use fusebox_compiler::{CompileError, Options, Phase, Source, compile};
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

/// Compiles a module to an executable. If compilation fails, returns the compiler's error.
pub fn executable(source: &Source, place: Place, registry: &Registry) -> Result<Executable, CompileError> {
    let (target, device) = match place {
        Place::Cpu => (Target::cpu(), DeviceDescription::cpu(1)),
        Place::Simt => (Target::simt(), DeviceDescription::simt()),
    };
    let options = Options::new(target, device, registry.clone(), Phase::Run);
    let nothing = || CompileError::Internal { phase: "run", message: "the compiler made no executable".into() };
    compile(source, &options)?.executable.ok_or_else(nothing)
}
