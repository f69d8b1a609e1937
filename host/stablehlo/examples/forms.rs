//! Exports HLO programs as StableHLO text, and compares several StableHLO files of one program.
//! `testing/jax/artifacts.py` runs this program.
//!
//! ```text
//! forms export FILE.hlo …     writes FILE.hlo.mlir, in StableHLO text
//! forms compare < LIST        each line of LIST names several StableHLO files of one program
//! ```
//!
//! `compare` prints a line for each program: `equal`, `equivalent`, or the first difference or
//! error, and then the names of the files.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a program for tests fails by panicking")]

#[path = "../tests/all/structure.rs"]
mod structure;

use std::path::Path;
use std::process::ExitCode;

use fusebox_core::hlo::{Module, parse_module, print_module, verify};
use fusebox_stablehlo::{artifact_in_export, from_hlo, is_bytecode, print_text, read_bytecode, read_text, to_hlo};

use structure::difference;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((command, files)) if command == "export" => files.iter().try_for_each(|file| export(Path::new(file))),
        Some((command, [])) if command == "compare" => compare_all(),
        _ => Err("usage: forms export FILE.hlo … | forms compare < LIST".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn export(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let module = parse_module(&text, &file.display().to_string()).map_err(|faults| format!("{faults:?}"))?;
    match from_hlo(&module) {
        Ok(program) => std::fs::write(format!("{}.mlir", file.display()), print_text(&program))
            .map_err(|error| format!("{}: {error}", file.display())),
        Err(error) => {
            println!("refused {error}");
            Ok(())
        }
    }
}

fn compare_all() -> Result<(), String> {
    for line in std::io::stdin().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let files: Vec<&str> = line.split_whitespace().collect();
        println!("{} {line}", compare(&files));
    }
    Ok(())
}

/// Returns `equal`, or how the programs in the files differ. Programs that differ only in
/// irrelevant details are `equivalent`: for example, JAX merges equal constants when it writes
/// artifacts.
fn compare(files: &[&str]) -> String {
    let modules = files.iter().map(|file| Ok((file, module(file)?))).collect::<Result<Vec<_>, String>>();
    let modules = match modules {
        Ok(modules) => modules,
        Err(error) => return format!("error {error};"),
    };
    let mut answer = "equal";
    for pair in modules.windows(2) {
        if let [(_, left), (other, right)] = pair
            && text(left) != text(right)
        {
            if let Some(difference) = difference(left, right) {
                return format!("different {other}: {};", difference.replace('\n', " | "));
            }
            answer = "equivalent";
        }
    }
    answer.to_owned()
}

fn module(file: &str) -> Result<Module, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let program = if let Some(artifact) = artifact_in_export(&bytes) {
        read_bytecode(artifact, file)
    } else if is_bytecode(&bytes) {
        read_bytecode(&bytes, file)
    } else {
        read_text(&String::from_utf8_lossy(&bytes), file)
    };
    let module = program.and_then(|program| to_hlo(&program)).map_err(|error| format!("{file}: {error}"))?;
    verify(&module).map_err(|faults| format!("{file}: {faults:?}"))?;
    Ok(module)
}

/// Returns the text of a module without metadata. Numbers replace the names of instructions and
/// computations.
fn text(module: &Module) -> String {
    let mut module = module.clone();
    module.clear_source();
    for (number, computation) in module.computations.iter_mut().enumerate() {
        computation.name = format!("c{number}");
        for (number, instruction) in computation.instructions.iter_mut().enumerate() {
            instruction.name = format!("v{number}");
            if let Some(extra) = &mut instruction.extra {
                extra.metadata = None;
            }
        }
    }
    print_module(&module)
}
