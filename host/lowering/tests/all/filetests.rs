//! Checks the output of each lowering stage for small kernels.
//!
//! `filetests/STAGE/NAME.mlir` begins with comments, which describe the example and name the target
//! (`// target: cpu`). The input of the stage follows, in any syntax that MLIR reads. The output
//! follows the line `// -----`. `FUSEBOX_BLESS=1` updates the outputs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use fusebox_core::ir;
use fusebox_lowering::{Lowering, LoweringError, Stage, Target, check_with_mlir, lower, read_kernel};

const SEPARATOR: &str = "\n// -----\n";

#[test]
fn inlined() {
    check(Stage::Kernel, Stage::Inlined);
}

#[test]
fn memory() {
    check(Stage::Inlined, Stage::Memory);
}

#[test]
fn loops() {
    check(Stage::Memory, Stage::Loops);
}

#[test]
fn indices() {
    check(Stage::Loops, Stage::Indices);
}

#[test]
fn scalars() {
    check(Stage::Indices, Stage::Scalars);
}

#[test]
fn llvm_dialect() {
    check(Stage::Scalars, Stage::LlvmDialect);
}

#[test]
fn llvm_unoptimized() {
    check(Stage::Scalars, Stage::LlvmUnoptimized);
}

/// Lowers every file of stage `to` from stage `from`.
fn check(from: Stage, to: Stage) {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests").join(to.name()));
    assert!(files.len() >= 8, "only {} files for the stage {}", files.len(), to.name());
    let mut differences = String::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (before, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let name = file.file_name().unwrap().to_str().unwrap();
        let found = match lowered(name, before, from, to) {
            Ok(found) => found,
            Err(error) => panic!("{}: {error}", file.display()),
        };
        if std::env::var_os("FUSEBOX_BLESS").is_some() {
            std::fs::write(&file, format!("{before}{SEPARATOR}{found}")).unwrap();
        } else if found != expected {
            write!(differences, "{} expected\n{expected}found\n{found}\n", file.display()).unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Lowers a kernel to a stage, and returns the text of this stage. Kernel IR must be valid for
/// fusebox and for MLIR.
fn lowered(name: &str, text: &str, from: Stage, to: Stage) -> Result<String, LoweringError> {
    let lowering = if to == Stage::LlvmDialect { Lowering::Mlir } else { Lowering::Fusebox };
    let target = target(name, text).with_lowering(lowering);
    let found = lower(&read_kernel(name, text, None)?, &target, from, to, &[])?;
    if to > Stage::Scalars {
        return Ok(functions_of(&found));
    }
    let functions = fusebox_kernel_text::parse(name, &found).unwrap_or_else(|error| panic!("{error}\n{found}"));
    ir::verify(&functions).unwrap_or_else(|error| panic!("{name}: {error}\n{found}"));
    let printed: String = functions.iter().map(ToString::to_string).collect();
    assert_eq!(printed, found, "{name}: what is read prints as it was");
    check_with_mlir(name, &found).unwrap_or_else(|error| panic!("{error}\n{found}"));
    Ok(found)
}

fn target(name: &str, text: &str) -> Target {
    let said = text.lines().find_map(|line| line.strip_prefix("// target: "));
    let said = said.unwrap_or_else(|| panic!("{name} does not say its target"));
    Target::named(said).unwrap_or_else(|| panic!("{name}: there is no target {said}"))
}

/// Returns the LLVM IR without the lines that describe this machine.
fn functions_of(module: &str) -> String {
    let describes = ["; ModuleID", "source_filename", "target "];
    let lines = module.lines().filter(|line| !describes.iter().any(|start| line.starts_with(start)));
    let lines: Vec<&str> = lines.skip_while(|line| line.is_empty()).collect();
    lines.join("\n") + "\n"
}
