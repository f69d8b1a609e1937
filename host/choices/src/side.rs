//! Builds the sides of a comparison by `fusebox ab`.

use std::path::{Path, PathBuf};

use fusebox_compiler::Dump;
use fusebox_lowering::{Lowering, MlirPasses};
use fusebox_workshop::ab::{Side, SideCompiler};

use crate::ChoiceError;
use crate::emitters::{EmitterChoice, choose};

/// Prefix of a SPEC that adds MLIR passes to a side.
const MLIR: &str = "mlir:";

/// Prefix of a SPEC that sets the lowering of a side.
const LOWERING: &str = "lowering=";

/// Builds a side of a comparison for a module in `folder`. `both` is the choice of emitters for
/// both sides. `specs` are the SPECs of the side: choices of emitters, a configuration file, MLIR
/// passes, a lowering, or another fusebox program.
///
/// # Errors
/// If a SPEC is wrong, or the choice of emitters cannot be met.
pub fn side(
    specs: &[String],
    both: &EmitterChoice,
    folder: &Path,
    dump: Dump,
    warn: &mut dyn FnMut(&str),
) -> Result<Side, ChoiceError> {
    let name = if specs.is_empty() { "what fusebox chooses".to_owned() } else { specs.join(" ") };
    let (passes, specs): (Vec<&String>, Vec<&String>) = specs.iter().partition(|spec| spec.starts_with(MLIR));
    let (lowerings, specs): (Vec<&String>, Vec<&String>) =
        specs.into_iter().partition(|spec| spec.starts_with(LOWERING));
    let lowering = match lowerings.as_slice() {
        [] => None,
        [spec] => Some(Lowering::parse(&spec[LOWERING.len()..]).map_err(ChoiceError::usage)?),
        [_, other, ..] => return Err(ChoiceError::usage(format!("{other}: a side has only one lowering"))),
    };
    let parse = |spec: &&String| MlirPasses::parse(&spec[MLIR.len()..]).map_err(ChoiceError::usage);
    let mlir_passes = passes.iter().map(parse).collect::<Result<_, _>>()?;
    let programs: Vec<PathBuf> = specs.iter().filter(|spec| is_program(spec)).map(PathBuf::from).collect();
    let compiler = match (programs.as_slice(), specs.len() + passes.len() + lowerings.len()) {
        ([], _) => SideCompiler::Emitters(choose(&with(&specs, both)?, folder, warn)?),
        ([program], 1) => SideCompiler::Program(program.clone()),
        ([program, ..], _) => {
            let program = program.display();
            return Err(ChoiceError::usage(format!(
                "{program} is a program: emitters, passes and a lowering cannot be chosen for this side"
            )));
        }
    };
    Ok(Side { name, compiler, mlir_passes, lowering, dump })
}

/// Adds the SPECs of one side to the choice of emitters that both sides share.
fn with(specs: &[&String], both: &EmitterChoice) -> Result<EmitterChoice, ChoiceError> {
    let (files, specs): (Vec<&String>, Vec<&String>) = specs.iter().partition(|spec| spec.ends_with(".toml"));
    let config = match files.as_slice() {
        [] => both.config.clone(),
        [file] => Some(PathBuf::from(file)),
        [_, other, ..] => return Err(ChoiceError::usage(format!("{other}: a side takes only one .toml file"))),
    };
    let emitters = both.emitters.iter().chain(specs).cloned().collect();
    Ok(EmitterChoice { emitters, config, ..both.clone() })
}

/// Whether a SPEC names a fusebox program instead of a library of emitters.
fn is_program(spec: &str) -> bool {
    let path = Path::new(spec);
    path.is_file() && path.extension().is_none_or(|extension| extension != "so")
}
