//! Compiles a module as `fusebox run` does and runs it.
#![allow(dead_code, reason = "every test binary uses a part")]

pub mod values;

use fusebox_compiler::{Dump, Emitters, Options, Phase, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, Literal};
use fusebox_lowering::Target;
use fusebox_plugins::Registry;
use fusebox_runtime::Program;

/// The result of a module compiled for a target by the bundled emitters.
pub fn run(
    source: &Source,
    target: Target,
    device: DeviceDescription,
    inputs: &[ArrayLiteral],
) -> Result<Literal, String> {
    run_with(Registry::new(fusebox_bundle::emitters()).map_err(|e| e.to_string())?, source, target, device, inputs)
        .map(|(_, result)| result)
}

/// With these emitters: the names of those that made the kernels, and the result.
pub fn run_with(
    registry: Registry,
    source: &Source,
    target: Target,
    device: DeviceDescription,
    inputs: &[ArrayLiteral],
) -> Result<(Vec<String>, Literal), String> {
    let options = Options {
        target,
        device,
        emitters: Emitters { registry, ..Emitters::default() },
        threads: 1,
        until: Phase::Run,
        stages: Vec::new(),
        dump: Dump::default(),
    };
    let made = compile(source, &options).map_err(|e| e.to_string())?;
    let executable = made.executable.ok_or("no executable")?;
    let options = fusebox_runtime::Options { threads: 2, ..Default::default() };
    let mut program = Program::load(executable, &options).map_err(|e| e.to_string())?;
    let emitters = made.kernels.iter().map(|kernel| kernel.emitter.name.clone()).collect();
    Ok((emitters, program.run(inputs).map_err(|e| e.to_string())?))
}
