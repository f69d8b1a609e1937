//! Writes the bodies of the functions that an emitter's kernel calls.
//!
//! ```text
//! Fusion, SubgraphCall…  partition   which instruction in which function, at which index
//!                        schedule    in which order
//!                        subgraph    functions, loops, branches
//!                        elemental   the operations, scalar by scalar
//!                        ──> text of func.func operations
//! ```
//!
//! [`subgraph_functions`] is the way in.

mod access;
mod elemental;
mod error;
mod index;
mod partition;
mod schedule;
mod subgraph;

use std::collections::HashSet;

use fusebox_core::emitter::{Fusion, SubgraphCall, SubgraphKind};

pub use elemental::MAX_CONSTANT_ELEMENTS;
pub use error::EmissionError;
use partition::{Partition, Request};

/// The functions that `calls` name, and those they call in turn, as `func.func` operations in generic
/// MLIR form. All are private.
///
/// # Errors
/// If an instruction cannot be computed element by element, or a call makes no sense; the error
/// names the instruction and its place.
pub fn subgraph_functions(fusion: &Fusion, calls: &[SubgraphCall]) -> Result<String, EmissionError> {
    let calls = distinct(calls)?;
    let taken: HashSet<String> = calls.iter().map(|call| call.symbol.clone()).collect();
    let mut text = values(fusion, &calls, &taken)?;
    for call in calls {
        match &call.kind {
            SubgraphKind::Values { .. } => {}
            SubgraphKind::Epilogue { roots, heroes } => {
                let request = Request { symbol: call.symbol.clone(), instructions: roots.clone() };
                let mut partition =
                    Partition::new(&fusion.module, fusion.computation(), &[request], heroes, &call.symbol, &taken)?;
                text += &subgraph::functions(&mut partition, heroes)?;
            }
            SubgraphKind::Combiner { instruction } => {
                text += &elemental::combiner_function(fusion, &call.symbol, *instruction)?;
            }
        }
    }
    Ok(text)
}

/// The functions without injected values: partitioned together, so that they share.
fn values(fusion: &Fusion, calls: &[&SubgraphCall], taken: &HashSet<String>) -> Result<String, EmissionError> {
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
fn distinct(calls: &[SubgraphCall]) -> Result<Vec<&SubgraphCall>, EmissionError> {
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
