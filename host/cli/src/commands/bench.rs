//! `fusebox bench`: measures the time for compiling a module's text to an executable. Also measures
//! the time for running the executable with inputs that are already in memory.

use std::path::Path;
use std::time::Instant;

use fusebox_choices::target;
use fusebox_compiler::{Compilation, Phase};
use fusebox_core::times::microseconds;
use fusebox_run::{inputs, terminal, timing_json};
use fusebox_runtime::Options;
use fusebox_runtime::measurement::{Effort, Session, measure};
use fusebox_workshop::profile;
use serde_json::json;

use crate::arguments::Bench;
use crate::exit::Failure;
use crate::module::Compiler;
use crate::{guard, module, running};

pub fn run(arguments: &Bench) -> Result<(), Failure> {
    guard::check(&arguments.common, &arguments.inputs.inputs, arguments.profile.iter().flatten())?;
    let source = module::read_for(&arguments.common.module, &arguments.common.compiling, &arguments.inputs)?;
    let begin = Instant::now();
    let Bench { common, progress, cache, .. } = arguments;
    let compiler = Compiler { common, progress, cache, is_measured: true, is_written: false };
    let mut made = match arguments.profile {
        // A profile needs the kernels of the compilation. An executable from the cache does not
        // contain them.
        Some(_) => compiler.compile(&source, None, Phase::Run, Vec::new())?,
        None => compiler.executable(&source, None)?,
    };
    let executable = made.executable.take().ok_or_else(|| Failure::Bug("the compiler made no executable".into()))?;
    let options = running::options(&arguments.common.compiling)?;
    let mut session = Session::load(executable, &options)?;
    fusebox_run::print_remarks(session.loaded());
    let compile_ms = begin.elapsed().as_secs_f64() * 1e3;
    let values = inputs::load(&arguments.inputs, &session.parameter_shapes())?;
    session.set_inputs(&inputs::arrays(&values))?;
    if let Some(trace) = &arguments.profile {
        return show_profile(&mut session, &made, &options, arguments, trace.as_deref());
    }
    let timing = measure(&mut session, Effort::default())?;
    let mut line = timing_json(compile_ms, &timing, &arguments.common.compiling.target);
    if let Some(cached) = made.cached {
        line["cache"] = cached.name().into();
    }
    let cached = made.cached.map(|cached| format!(" (cache: {cached})")).unwrap_or_default();
    Ok(terminal::print(|out| {
        if arguments.json {
            writeln!(out, "{line}")
        } else {
            writeln!(
                out,
                "compile {compile_ms:.1} ms{cached}, run median {} us, min {} us, {} runs on {}",
                microseconds(timing.median_us, 1),
                microseconds(timing.min_us, 1),
                timing.runs,
                arguments.common.compiling.target
            )
        }
    })?)
}

/// Prints the profile. If `trace` is a path, also writes a trace to this path.
fn show_profile(
    session: &mut Session,
    made: &Compilation,
    options: &Options,
    arguments: &Bench,
    trace: Option<&Path>,
) -> Result<(), Failure> {
    let (_, device) = target(&arguments.common.compiling.target, None)?;
    let profile = profile::profile(session, made, &device, options, Effort::default())?;
    if let Some(path) = trace {
        fusebox_files::write(path, profile::trace(&session.executable().name, &profile).to_string().as_bytes())?;
    }
    Ok(terminal::print(|out| {
        if arguments.json { writeln!(out, "{}", json!(profile)) } else { profile::write(out, &profile) }
    })?)
}
