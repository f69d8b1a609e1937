//! `fusebox repro`: writes a self-contained folder that reproduces one fusion.

use fusebox_compiler::Phase;
use fusebox_run::inputs;
use fusebox_run::terminal;
use fusebox_workshop::WorkshopError;
use fusebox_workshop::case::Case;
use fusebox_workshop::pinned::pinned;
use fusebox_workshop::repro::{self, Repro};

use crate::arguments;
use crate::exit::Failure;
use crate::{guard, module, running};

pub fn run(arguments: &arguments::Repro) -> Result<(), Failure> {
    let common = &arguments.common;
    guard::check(common, &arguments.inputs.inputs, [])?;
    if !common.compiling.mlir_passes.is_empty() {
        return Err(Failure::usage("the folder of repro records no passes of MLIR: leave out --mlir-passes"));
    }
    let force = common.compiling.emitters.force;
    fusebox_files::check_folder(&arguments.output, force)?;
    let source = module::read_for(&common.module, &common.compiling, &arguments.inputs)?;
    let options = module::options(common, None, Phase::Run, Vec::new())?;
    let run = running::options(&common.compiling)?;
    let made = module::compile_with(&source, &options)?;
    let named = made.kernels.iter().find(|kernel| kernel.unit.fusion.name == arguments.fusion);
    let kernel = named.ok_or_else(|| {
        let known: Vec<&str> = made.kernels.iter().map(|kernel| kernel.unit.fusion.name.as_str()).collect();
        WorkshopError::NoSuchFusion { pattern: arguments.fusion.clone(), known: known.join(", ") }
    })?;
    let inputs = inputs::load(&arguments.inputs, &Case::parameters(&made.fused))?;
    let case = repro::fusion(&made.fused, kernel, &inputs, &options, &run)?;
    let about = format!(
        "Fusion `{}` of `{}`, compiled by emitter {} {}, with the inputs that it has in the program.",
        arguments.fusion, source.name, kernel.emitter.name, kernel.emitter.version
    );
    let alone = pinned(kernel, &options);
    let repro = Repro { case: &case, options: &alone, target: &common.compiling.target, about: &about };
    repro::write(&arguments.output, force, &repro)?;
    let folder = arguments.output.display();
    Ok(terminal::print(|out| writeln!(out, "{folder}: to run it: sh {folder}/check.sh"))?)
}
