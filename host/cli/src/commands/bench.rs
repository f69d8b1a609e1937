//! `fusebox bench`: compile time from text to executable, run time with resident inputs.

use std::time::Instant;

use fusebox_compiler::Phase;
use fusebox_run::{inputs, terminal, timing_json};
use fusebox_runtime::{Effort, Options, Program, measure};

use crate::arguments::Bench;
use crate::exit::Failure;
use crate::{module, target};

pub fn run(arguments: &Bench) -> Result<(), Failure> {
    let source = module::read(&arguments.common.module, arguments.common.file_limit)?;
    let begin = Instant::now();
    let made = module::compile(&source, &arguments.common, None, Phase::Run, Vec::new())?;
    let executable = made.executable.ok_or_else(|| Failure::Bug("the compiler made no executable".into()))?;
    let mut program = Program::load(
        executable,
        &Options { threads: target::threads(arguments.common.threads), ..Options::default() },
    )?;
    let compile_ms = begin.elapsed().as_secs_f64() * 1e3;
    let values = inputs::load(&arguments.inputs, &program.parameter_shapes())?;
    program.set_inputs(&inputs::arrays(&values))?;
    let timing = measure(&mut program, Effort::default())?;
    let line = timing_json(compile_ms, &timing, &arguments.common.target);
    Ok(terminal::print(|out| match arguments.json {
        true => writeln!(out, "{line}"),
        false => writeln!(
            out,
            "compile {:.1} ms, run median {:.1} us, min {:.1} us, {} runs on {}",
            compile_ms, timing.median_us, timing.min_us, timing.runs, arguments.common.target
        ),
    })?)
}
