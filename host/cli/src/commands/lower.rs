//! `fusebox lower`: lowers one kernel from one stage to another.

use fusebox_choices::target;
use fusebox_lowering::Stage;
use fusebox_run::terminal;

use crate::arguments::Lower;
use crate::exit::Failure;
use crate::source;

pub fn run(arguments: &Lower) -> Result<(), Failure> {
    let (from, to) = (stage(&arguments.from)?, stage(&arguments.to)?);
    let (target, _) = target(&arguments.target, None)?;
    let target = target.with_lowering(arguments.lowering);
    let source = source::of_file(&arguments.kernel, arguments.file_limit)?;
    let text = String::from_utf8(source.bytes)
        .map_err(|_| Failure::usage(format!("{}: kernel IR is text, and this is not UTF-8", source.name)))?;
    let kernel = fusebox_lowering::read_kernel(&source.name, &text, arguments.kernel_name.as_deref())?;
    let text = fusebox_lowering::lower(&kernel, &target, from, to, &arguments.mlir_passes)?;
    Ok(terminal::print(|out| out.write_all(text.as_bytes()))?)
}

fn stage(name: &str) -> Result<Stage, Failure> {
    let names = || Stage::ALL.map(Stage::name).join(", ");
    let found = Stage::ALL.into_iter().find(|stage| stage.name() == name);
    found.ok_or_else(|| Failure::usage(format!("there is no stage `{name}`; the stages are {}", names())))
}
