//! Compares the generated functions with the functions in files.
//!
//! `tests/filetests/NAME.hlo` begins with comments. They describe the example, and list the calls
//! in lines like these:
//!
//! ```text
//! // values: k.all = e n
//! // epilogue: k.epilogue = r of h
//! // combiner: k.add = r
//! ```
//!
//! If there are no such lines, there is one call for each result. The fusion follows the comments.
//! The functions follow the line `// -----`. `FUSEBOX_BLESS=1` updates the functions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::path::Path;

use fusebox_core::emitter::{Fusion, SubgraphCall, SubgraphKind};
use fusebox_core::ir::{self, Function};

use crate::support::{calls_of_roots, fusion, id};

const SEPARATOR: &str = "\n// -----\n";

#[test]
fn functions_are_as_in_the_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 8, "only {} files", files.len());
    let mut differences = String::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (before, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let name = file.file_name().unwrap().to_str().unwrap();
        let fusion = fusion(before);
        let functions = fusebox_emission::subgraph_functions(&fusion, &calls(&fusion, before));
        let found = match functions {
            Ok(functions) => text_of(name, &functions),
            Err(error) => format!("// {error}\n"),
        };
        if std::env::var_os("FUSEBOX_BLESS").is_some() {
            std::fs::write(&file, format!("{before}{SEPARATOR}{found}")).unwrap();
        } else if found != expected {
            write!(differences, "{name} expected\n{expected}found\n{found}\n").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Returns the text of functions. The functions must be valid. If the parser reads this text, the
/// result must equal the functions.
fn text_of(name: &str, functions: &[Function]) -> String {
    let found: String = functions.iter().map(ToString::to_string).collect();
    ir::verify(functions).unwrap_or_else(|error| panic!("{name}: {error}\n{found}"));
    let read = fusebox_kernel_text::parse(name, &found).unwrap_or_else(|error| panic!("{error}\n{found}"));
    let again: String = read.iter().map(Function::to_string).collect();
    assert_eq!(again, found, "{name}: what is read prints as it was");
    found
}

/// Returns the calls that the comments of the text list.
fn calls(fusion: &Fusion, text: &str) -> Vec<SubgraphCall> {
    let ids = |names: &str| names.split_whitespace().map(|name| id(fusion, name)).collect();
    let call = |line: &str| {
        let (kind, rest) = line.strip_prefix("// ")?.split_once(": ")?;
        let (symbol, names) = rest.split_once(" = ")?;
        let kind = match kind {
            "values" => SubgraphKind::Values { instructions: ids(names) },
            "combiner" => SubgraphKind::Combiner { instruction: id(fusion, names) },
            "epilogue" => {
                let (roots, heroes) = names.split_once(" of ")?;
                SubgraphKind::Epilogue { roots: ids(roots), heroes: ids(heroes) }
            }
            _ => return None,
        };
        Some(SubgraphCall { symbol: symbol.into(), kind })
    };
    let named: Vec<SubgraphCall> = text.lines().filter_map(call).collect();
    if named.is_empty() { calls_of_roots(fusion) } else { named }
}
