//! `fusebox explain`: shows which emitter builds each kernel, and why.

mod counts;
mod quality;

use fusebox_compiler::{Compilation, Phase, report};
use fusebox_core::device::DeviceDescription;
use fusebox_run::{inputs, terminal};
use fusebox_runtime::Executable;
use fusebox_runtime::measurement::{Effort, Session};
use fusebox_workshop::profile::{self, Profile};
use fusebox_workshop::roofline;
use fusebox_workshop::{explain, page, why};
use serde_json::json;

use crate::arguments::Explain;
use crate::exit::Failure;
use crate::{guard, module, running};

/// Advice to the user, printed as the last line of the table.
const ADVICE: &str =
    "--fusion NAME says why a fusion has its emitter and not another one; --all says so for all fusions";

pub fn run(arguments: &Explain) -> Result<(), Failure> {
    let read = arguments.inputs.inputs.iter().chain(&arguments.driver.driver);
    guard::check(&arguments.common, read, &arguments.html)?;
    let source = module::read_for(&arguments.common.module, &arguments.common.compiling, &arguments.inputs)?;
    if arguments.ptxas {
        return quality::print(&source, arguments);
    }
    if arguments.counts {
        return counts::print(&source, arguments);
    }
    let until = if arguments.measure || arguments.memory { Phase::Schedule } else { Phase::Emit };
    let options = module::options(&arguments.common, None, until, Vec::new())?;
    let mut made = module::compile_with(&source, &options)?;
    if let Some(name) = &arguments.why {
        let lines = why::why(name, &source, &made, &options)?;
        return Ok(terminal::print(|out| {
            if arguments.json {
                writeln!(out, "{}", json!(lines))
            } else {
                lines.iter().try_for_each(|line| writeln!(out, "{line}"))
            }
        })?);
    }
    if let Some(memory) = made.memory.as_ref().filter(|_| arguments.memory) {
        return Ok(terminal::print(|out| {
            if arguments.json { writeln!(out, "{}", json!(memory)) } else { write!(out, "{}", report::memory(memory)) }
        })?);
    }
    let profile = made.executable.take().map(|it| measured(it, &made, &options.device, arguments)).transpose()?;
    let rows = roofline::rows(&made.kernels, &options.device, profile.as_ref());
    if let Some(path) = &arguments.html {
        let page = page::of_program(&made, &options, &arguments.common.compiling.target, &rows, &[]);
        return Ok(fusebox_files::write(path, page.as_bytes())?);
    }
    let meant = explain::matching(&made, arguments.fusion.as_ref())?;
    Ok(terminal::print(|out| {
        if arguments.json {
            let described = meant.iter().map(|kernel| explain::describe(kernel, &options, &rows)).collect();
            return writeln!(out, "{}", serde_json::Value::Array(described));
        }
        if arguments.fusion.is_none() && !arguments.all {
            return explain::write_table(out, &made, &rows, ADVICE);
        }
        explain::write_kernels(out, &made, &meant, &rows, &options, arguments.all)
    })?)
}

/// Runs the program and returns the measured time of each step.
fn measured(
    executable: Executable,
    made: &Compilation,
    device: &DeviceDescription,
    arguments: &Explain,
) -> Result<Profile, Failure> {
    let options = running::options(&arguments.common.compiling)?;
    let mut session = Session::load(executable, &options)?;
    fusebox_run::print_remarks(session.loaded());
    let values = inputs::load(&arguments.inputs, &session.parameter_shapes())?;
    session.set_inputs(&inputs::arrays(&values))?;
    Ok(profile::profile(&mut session, made, device, &options, Effort::default())?)
}
