//! `fusebox run`: compiles a module, or loads an executable, and runs it once.

use fusebox_compiler::{Phase, Source};
use fusebox_core::hlo::{Literal, Shape};
use fusebox_run::{inputs, results, stored, terminal};
use fusebox_runtime::{Executable, LoadedExecutable};
use fusebox_workshop::case::Case;
use fusebox_workshop::simulated;

use crate::arguments::{CommonArguments, Run};
use crate::exit::Failure;
use crate::module::Compiler;
use crate::{guard, module, running};

/// Largest number of elements that a dump shows of an array. --outputs writes all elements.
const MOST_DUMPED_VALUES: usize = 1 << 16;

pub fn run(arguments: &Run) -> Result<(), Failure> {
    let others = [&arguments.inputs.inputs, &arguments.trust.require_signature];
    guard::check(&arguments.common, others.into_iter().flatten(), &arguments.outputs)?;
    let source = module::read_for(&arguments.common.module, &arguments.common.compiling, &arguments.inputs)?;
    let needs_module = [(arguments.check, "--check"), (arguments.interpreter, "the interpreter")];
    if let Some((_, needing)) = needs_module.into_iter().find(|(is_chosen, _)| *is_chosen)
        && is_stored(arguments, &source)?
    {
        return Err(Failure::usage(format!("an executable is machine code: {needing} needs the module")));
    }
    let result = if arguments.interpreter { interpret(arguments, &source)? } else { execute(arguments, &source)? };
    let dump = module::dump(&arguments.common)?;
    dump.stream(Phase::Run, "", "txt", |out| results::write(out, &result, MOST_DUMPED_VALUES))?;
    if let Some(path) = &arguments.outputs {
        fusebox_runtime::npz::write_outputs(path, &result)?;
    }
    if arguments.check {
        terminal::complain("check: right, by the interpreter");
    }
    Ok(terminal::print(|out| results::write(out, &result, if arguments.print { usize::MAX } else { 0 }))?)
}

fn interpret(arguments: &Run, source: &Source) -> Result<Literal, Failure> {
    let module = source.parse()?;
    module::dump(&arguments.common)?
        .write(Phase::Parse, "", "hlo", || fusebox_core::hlo::print_module(&module).into_bytes())?;
    let entry = module.entry_computation().ok_or_else(|| Failure::input("the module has no computation"))?;
    let shapes: Vec<Shape> = entry.parameters().iter().map(|&id| entry.instruction(id).shape.clone()).collect();
    fusebox_interpreter::evaluate(&module, &inputs::load(&arguments.inputs, &shapes)?).map_err(Failure::input)
}

fn execute(arguments: &Run, source: &Source) -> Result<Literal, Failure> {
    let options = running::options(&arguments.common.compiling)?;
    let program = if is_stored(arguments, source)? {
        let path = &arguments.common.module;
        let executable = stored::read(path, &source.bytes, &arguments.trust)?;
        // If loading fails, the file is at fault, not this compiler.
        LoadedExecutable::open(executable, &options).map_err(Failure::input)?
    } else {
        LoadedExecutable::open(compile(arguments, source)?, &options)?
    };
    fusebox_run::print_remarks(&program);
    let values = inputs::load(&arguments.inputs, &program.parameter_shapes())?;
    let result = program.run(&inputs::arrays(&values))?;
    if arguments.check {
        check(arguments, source, values, &result)?;
    }
    Ok(result)
}

/// Compares the result with that of the interpreter. Fails if the results differ by more than
/// rounding explains.
fn check(arguments: &Run, source: &Source, inputs: Vec<Literal>, result: &Literal) -> Result<(), Failure> {
    let case = Case { module: source.parse()?, inputs };
    let Some(difference) = case.difference(result).map_err(Failure::input)? else { return Ok(()) };
    let common = CommonArguments { dump_to: None, ..arguments.common.clone() };
    let compile = module::options(&common, None, Phase::Run, Vec::new())?;
    let run = running::options(&common.compiling)?;
    let fault = simulated::fault(&case, &compile, &run);
    let fault = fault.map_or_else(String::new, |fault| format!("\non the simulator: {fault}"));
    Err(Failure::input(format!(
        "the result is not the interpreter's: {difference}{fault}\n`fusebox bisect` with the same inputs finds the \
         pass, the fusion or the stage at fault"
    )))
}

/// Whether the input is an executable instead of a module.
fn is_stored(arguments: &Run, source: &Source) -> Result<bool, Failure> {
    let is_stored = Executable::is_executable(&source.bytes);
    if arguments.trust.require_signature.is_some() && !is_stored {
        Err(Failure::input(format!(
            "{} is not an executable, and --require-signature applies only to executables",
            source.name
        )))
    } else {
        Ok(is_stored)
    }
}

fn compile(arguments: &Run, source: &Source) -> Result<Executable, Failure> {
    let Run { common, progress, cache, .. } = arguments;
    let made = Compiler { common, progress, cache, is_measured: false, is_written: false }.executable(source, None)?;
    made.executable.ok_or_else(|| Failure::Bug("the compiler made no executable".into()))
}
