//! Writes the bodies of the functions that an emitter's kernel calls.
//!
//! ```text
//! Fusion, SubgraphCall…  partition   the function and index of each instruction; `access` finds its reads
//!                        schedule    the order in which values are written
//!                        subgraph    writes the functions, with `writer`
//!                        elemental   the operations, as operations on scalars
//!                        ──> functions of the kernel IR
//! ```
//!
//! [`subgraph_functions`] is the entry point.

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
use fusebox_core::hlo::InstrId;
use fusebox_core::indexing::{Expr, Indexing, IndexingMap, Reading, RuntimeValue, maps_to};
use fusebox_core::ir::Function;

pub use elemental::MAX_CONSTANT_ELEMENTS;
pub use error::EmissionError;
use error::Result;
use partition::{FunctionRequest, Partition};

/// Returns the functions that `calls` name, and all functions that these functions call. Every
/// function is private.
///
/// # Errors
/// If an instruction cannot be computed element by element, or if a call is not valid. The error
/// names the instruction and its source position.
pub fn subgraph_functions(fusion: &Fusion, calls: &[SubgraphCall]) -> Result<Vec<Function>> {
    let calls = distinct(calls)?;
    let used_names: HashSet<String> = calls.iter().map(|call| call.symbol.clone()).collect();
    let mut functions = values(fusion, &calls, &used_names)?;
    for call in calls {
        match &call.kind {
            SubgraphKind::Values { .. } => {}
            SubgraphKind::Epilogue { roots, heroes } => {
                check_epilogue(fusion, &call.symbol, roots, heroes)?;
                let request = FunctionRequest { symbol: call.symbol.clone(), instructions: roots.clone() };
                let mut partition = Partition::new(
                    &fusion.module,
                    fusion.computation(),
                    &[request],
                    heroes,
                    &call.symbol,
                    &used_names,
                )?;
                functions.extend(subgraph::functions(&mut partition, heroes)?);
            }
            SubgraphKind::Combiner { instruction } => {
                functions.push(elemental::combiner_function(fusion, &call.symbol, *instruction)?);
            }
        }
    }
    Ok(functions)
}

/// Checks that all roots read the same single element of each hero on every path. An epilogue
/// function receives only one element of each hero.
///
/// # Errors
/// If a hero is read at several indices, or in a loop.
fn check_epilogue(fusion: &Fusion, symbol: &str, roots: &[InstrId], heroes: &[InstrId]) -> Result<(), EmissionError> {
    let name = |id: InstrId| &fusion.computation().instruction(id).name;
    let refused = |message| Err(EmissionError::in_call(symbol, message));
    for &hero in heroes {
        let mut read: Option<(Vec<Expr>, Vec<RuntimeValue>)> = None;
        for &root in roots {
            let readings = match maps_to(&fusion.module, fusion.entry(), (root, 0), hero, heroes) {
                Indexing::Known(readings) => readings,
                Indexing::Unknown(reason) => {
                    return refused(format!(
                        "{} reads the hero {} at unknown indices: {reason}",
                        name(root),
                        name(hero)
                    ));
                }
            };
            for Reading { map, runtime, .. } in readings {
                // Compares only the elements, not the conditions: the conditions are equal on all
                // paths, or the function itself checks them.
                let map = IndexingMap { constraints: Vec::new(), ..map }.simplify();
                let element = (map.results, runtime);
                if !map.ranges.is_empty() || read.as_ref().is_some_and(|known| *known != element) {
                    let (root, hero) = (name(root), name(hero));
                    return refused(format!(
                        "{root} reads several elements of the hero {hero}, but an epilogue receives only one"
                    ));
                }
                read = Some(element);
            }
        }
    }
    Ok(())
}

/// Returns the functions that receive no values of heroes as arguments. One partition contains all
/// these functions, so that they can call common functions.
fn values(fusion: &Fusion, calls: &[&SubgraphCall], used_names: &HashSet<String>) -> Result<Vec<Function>> {
    let request = |call: &&SubgraphCall| match &call.kind {
        SubgraphKind::Values { instructions } => {
            Some(FunctionRequest { symbol: call.symbol.clone(), instructions: instructions.clone() })
        }
        SubgraphKind::Epilogue { .. } | SubgraphKind::Combiner { .. } => None,
    };
    let requests: Vec<FunctionRequest> = calls.iter().filter_map(request).collect();
    let mut partition = Partition::new(&fusion.module, fusion.computation(), &requests, &[], &fusion.name, used_names)?;
    subgraph::functions(&mut partition, &[])
}

/// Returns the calls without repetitions.
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
