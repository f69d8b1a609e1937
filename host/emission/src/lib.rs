//! Writes the bodies of the functions that an emitter's kernel calls.
//!
//! ```text
//! Fusion, SubgraphCall…  partition   which instruction in which function, at which index, as `access` says what it reads
//!                        schedule    in which order
//!                        subgraph    the functions, by `writer` and its regions
//!                        elemental   the operations, scalar by scalar
//!                        ──> functions of the kernel IR
//! ```
//!
//! [`subgraph_functions`] is the way in.

#![forbid(unsafe_code)]

mod access;
mod elemental;
mod error;
mod index;
mod partition;
mod schedule;
mod scope;
mod subgraph;
mod writer;

use std::collections::HashSet;

use fusebox_core::emitter::{Fusion, SubgraphCall, SubgraphKind};
use fusebox_core::ir::Function;

pub use elemental::MAX_CONSTANT_ELEMENTS;
pub use error::EmissionError;
use error::Result;
use partition::{Partition, Request};

/// The functions that `calls` name, and those they call in turn, each private.
///
/// # Errors
/// If an instruction cannot be computed element by element, or a call makes no sense; the error
/// names the instruction and its place.
pub fn subgraph_functions(fusion: &Fusion, calls: &[SubgraphCall]) -> Result<Vec<Function>> {
    let calls = distinct(calls)?;
    let taken: HashSet<String> = calls.iter().map(|call| call.symbol.clone()).collect();
    let mut functions = values(fusion, &calls, &taken)?;
    for call in calls {
        match &call.kind {
            SubgraphKind::Values { .. } => {}
            SubgraphKind::Epilogue { roots, heroes } => {
                let request = Request { symbol: call.symbol.clone(), instructions: roots.clone() };
                let mut partition =
                    Partition::new(&fusion.module, fusion.computation(), &[request], heroes, &call.symbol, &taken)?;
                functions.extend(subgraph::functions(&mut partition, heroes)?);
            }
            SubgraphKind::Combiner { instruction } => {
                functions.push(elemental::combiner_function(fusion, &call.symbol, *instruction)?);
            }
        }
    }
    Ok(functions)
}

/// The functions without injected values: partitioned together, so that they share.
fn values(fusion: &Fusion, calls: &[&SubgraphCall], taken: &HashSet<String>) -> Result<Vec<Function>> {
    let request = |call: &&SubgraphCall| match &call.kind {
        SubgraphKind::Values { instructions } => {
            Some(Request { symbol: call.symbol.clone(), instructions: instructions.clone() })
        }
        SubgraphKind::Epilogue { .. } | SubgraphKind::Combiner { .. } => None,
    };
    let requests: Vec<Request> = calls.iter().filter_map(request).collect();
    let mut partition = Partition::new(&fusion.module, fusion.computation(), &requests, &[], &fusion.name, taken)?;
    subgraph::functions(&mut partition, &[])
}

/// The calls without repetitions.
fn distinct(calls: &[SubgraphCall]) -> Result<Vec<&SubgraphCall>> {
    let mut distinct: Vec<&SubgraphCall> = Vec::new();
    for call in calls {
        match distinct.iter().find(|other| other.symbol == call.symbol) {
            None => distinct.push(call),
            Some(other) if *other == call => {}
            Some(_) => return Err(EmissionError::in_call(&call.symbol, "the name stands for two different functions")),
        }
    }
    Ok(distinct)
}
