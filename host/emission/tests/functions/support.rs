//! Parses fusions, and inspects the functions that are generated for them.

#![allow(clippy::panic, clippy::expect_used, reason = "a test without its fusion has failed")]

use fusebox_core::emitter::{Fusion, SubgraphCall, SubgraphKind};
use fusebox_core::hlo::{InstrId, parse_module};
use fusebox_emission::EmissionError;

/// Returns a fusion named `k` with the entry computation of a text.
pub fn fusion(text: &str) -> Fusion {
    let module = parse_module(text, "test.hlo").unwrap_or_else(|errors| panic!("{}", errors[0]));
    Fusion::new("k", module).expect("an entry")
}

/// Returns the instruction with this name.
pub fn id(fusion: &Fusion, name: &str) -> InstrId {
    fusion.computation().find(name).unwrap_or_else(|| panic!("no instruction {name}"))
}

/// Returns a call for the values of instructions.
pub fn values(fusion: &Fusion, symbol: &str, names: &[&str]) -> SubgraphCall {
    let instructions = names.iter().map(|name| id(fusion, name)).collect();
    SubgraphCall { symbol: symbol.into(), kind: SubgraphKind::Values { instructions } }
}

/// Returns the text of the functions for these calls.
pub fn subgraph_functions(fusion: &Fusion, calls: &[SubgraphCall]) -> Result<String, EmissionError> {
    let functions = fusebox_emission::subgraph_functions(fusion, calls)?;
    Ok(functions.iter().map(ToString::to_string).collect())
}

/// Returns a call for each root.
pub fn calls_of_roots(fusion: &Fusion) -> Vec<SubgraphCall> {
    let call = |(k, &root): (usize, &InstrId)| SubgraphCall {
        symbol: format!("k.root{k}"),
        kind: SubgraphKind::Values { instructions: vec![root] },
    };
    fusion.roots.iter().enumerate().map(call).collect()
}

/// Returns the text of the functions for one call per root.
pub fn try_emit(text: &str) -> Result<String, EmissionError> {
    let fusion = fusion(text);
    subgraph_functions(&fusion, &calls_of_roots(&fusion))
}

/// Like [`try_emit`], but panics on an error.
pub fn emit(text: &str) -> String {
    try_emit(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the names of the functions, in order.
pub fn symbols(text: &str) -> Vec<String> {
    let name = |part: &str| part.split('"').next().unwrap_or_default().to_owned();
    text.split("sym_name = \"").skip(1).map(name).collect()
}

/// Returns the number of times that an operation occurs.
pub fn count(text: &str, operation: &str) -> usize {
    text.matches(&format!("\"{operation}\"(")).count()
}
