//! `fusebox run`: compiles a module, or loads an executable, and runs it once.

use fusebox_compiler::{Phase, Source};
use fusebox_core::hlo::{Literal, Shape};
use fusebox_run::{inputs, results};
use fusebox_runtime::{Executable, Options, Program};

use crate::arguments::Run;
use crate::exit::Failure;
use crate::{module, target};

/// Runs it.
pub fn run(arguments: &Run) -> Result<(), Failure> {
    let source = module::read(&arguments.common.module)?;
    let result = match arguments.interpreter {
        true => interpret(arguments, &source)?,
        false => execute(arguments, &source)?,
    };
    let dump = module::dump(&arguments.common)?;
    dump.write(Phase::Run, "", "txt", || results::describe(&result, true).into_bytes())?;
    if let Some(path) = &arguments.outputs {
        fusebox_runtime::npz::write_outputs(path, &result).map_err(Failure::input)?;
    }
    print!("{}", results::describe(&result, arguments.print));
    Ok(())
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
    let executable = match Executable::is_executable(&source.bytes) {
        true => Executable::from_bytes(&source.bytes)?,
        false => compile(arguments, source)?,
    };
    let mut program = Program::load(
        executable,
        &Options { threads: target::threads(arguments.common.threads), ..Options::default() },
    )?;
    let values = inputs::load(&arguments.inputs, &program.parameter_shapes())?;
    Ok(program.run(&inputs::arrays(&values))?)
}

fn compile(arguments: &Run, source: &Source) -> Result<Executable, Failure> {
    let made = module::compile(source, &arguments.common, None, Phase::Run, Vec::new())?;
    made.executable.ok_or_else(|| Failure::Bug("the compiler made no executable".into()))
}
