//! `fusebox compile`: compiles up to a stage, and prints the result or writes it to a file.

use fusebox_choices::{THIS_GPU, target};
use fusebox_compiler::{Compilation, Phase};
use fusebox_core::hlo::print_module;
use fusebox_lowering::{Stage, Target};
use fusebox_run::terminal;

use crate::arguments::{Compile, Emit};
use crate::exit::Failure;
use crate::module::Compiler;
use crate::{guard, module};

pub fn run(arguments: &Compile) -> Result<(), Failure> {
    guard::check(&arguments.common, [], &arguments.output)?;
    let source = module::read(&arguments.common.module, &arguments.common.compiling)?;
    if arguments.emit == Some(Emit::Stablehlo) {
        return write(arguments, source.stablehlo()?.as_bytes());
    }
    let (target, _) = target(&arguments.common.compiling.target, arguments.ptx_version)?;
    let emit = arguments.emit.unwrap_or_else(|| default_stage(&arguments.common.compiling.target, &target));
    check(emit, &target)?;
    let stages = stage(emit).into_iter().collect();
    let Compile { common, progress, cache, ptx_version, .. } = arguments;
    let is_written = emit == Emit::Executable;
    let compiler = Compiler { common, progress, cache, is_measured: false, is_written };
    let made = match emit {
        Emit::Executable => compiler.executable(&source, *ptx_version)?,
        _ => compiler.compile(&source, *ptx_version, last_phase(emit), stages)?,
    };
    write(arguments, &output(emit, &made, &target)?)
}

/// Returns the stage for a command line without `--emit`. If the target can run here, the output is
/// an executable. If the target is a GPU that is named by its capability (`sm_90`), the output is
/// PTX. For other targets, the output is assembly.
fn default_stage(name: &str, target: &Target) -> Emit {
    match target.runner() {
        None => Emit::Asm,
        Some(_) if name != THIS_GPU && target.writes_ptx() => Emit::Ptx,
        Some(_) => Emit::Executable,
    }
}

fn check(emit: Emit, target: &Target) -> Result<(), Failure> {
    match emit {
        Emit::Ptx if !target.writes_ptx() => {
            Err(Failure::usage(format!("--emit ptx needs --target sm_NN, not {target}")))
        }
        Emit::Executable if target.runner().is_none() => {
            Err(Failure::usage(format!("{target} compiles to assembly only: use --emit asm")))
        }
        _ => Ok(()),
    }
}

/// Returns the stage of lowering whose text is the output; `None` for HLO and executables.
fn stage(emit: Emit) -> Option<Stage> {
    match emit {
        Emit::Mlir => Some(Stage::Kernel),
        Emit::MlirLowered => Some(Stage::Scalars),
        Emit::Llvm => Some(Stage::Llvm),
        Emit::Ptx | Emit::Asm => Some(Stage::Assembly),
        Emit::Stablehlo | Emit::Hlo | Emit::Executable => None,
    }
}

fn last_phase(emit: Emit) -> Phase {
    match emit {
        Emit::Stablehlo | Emit::Hlo => Phase::Fuse,
        Emit::Mlir => Phase::Emit,
        Emit::MlirLowered | Emit::Llvm | Emit::Ptx | Emit::Asm => Phase::Code,
        Emit::Executable => Phase::Run,
    }
}

fn output(emit: Emit, made: &Compilation, target: &Target) -> Result<Vec<u8>, Failure> {
    match (emit, stage(emit)) {
        (Emit::Hlo, _) => Ok(print_module(&made.fused).into_bytes()),
        (Emit::Mlir, _) => Ok(made.kernels.iter().map(|kernel| kernel.text(target)).collect::<String>().into_bytes()),
        (_, Some(stage)) => Ok(made.lowered.texts.get(&stage).map(|t| t.join("\n")).unwrap_or_default().into_bytes()),
        (_, None) => match &made.executable {
            Some(executable) => Ok(executable.to_bytes()?),
            None => Err(Failure::Bug("the compiler made no executable".into())),
        },
    }
}

fn write(arguments: &Compile, bytes: &[u8]) -> Result<(), Failure> {
    match &arguments.output {
        Some(path) => Ok(fusebox_files::write(path, bytes)?),
        None => Ok(terminal::print(|out| out.write_all(bytes))?),
    }
}
