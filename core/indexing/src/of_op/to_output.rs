//! Maps from an operand's index to the output elements that are computed from the operand's
//! element.

use super::reading::{Indexing, Reading};
use super::{Found, Site, array_dims, dynamic, output_to_input, shape};
use crate::Variable;
use fusebox_hlo::{ComputationId, InstrId, Module, Op};

/// Returns the maps from an operand element to the elements of the result that depend on it. `leaf`
/// is the leaf of the result (0 for an array). The dimensions of a map are the operand's index. If
/// several elements of the result depend on one operand element, range variables enumerate them.
pub fn input_to_output(
    module: &Module,
    computation: ComputationId,
    instruction: InstrId,
    operand: usize,
    leaf: usize,
) -> Indexing {
    let site = Site::new(module, computation, instruction);
    match directly(site, operand) {
        Some(Ok(readings)) => Indexing::Known(readings.into_iter().filter_map(Reading::simplified).collect()),
        Some(Err(reason)) => Indexing::Unknown(format!("{}: {reason}", site.instruction.opcode())),
        None => by_inversion(site, output_to_input(module, computation, instruction, leaf), operand, leaf),
    }
}

/// Handles operations for which the map from operand to result is simpler than the map from result
/// to operand.
fn directly(site: Site, operand: usize) -> Option<Found> {
    let one = |reading: Result<Reading, String>| Some(reading.map(|r| vec![r]));
    match &site.instruction.op {
        Op::Reshape => one(site.operand_dims(0).and_then(|from| shape::reshaped(from, site.output_dims(0)?))),
        Op::Bitcast => {
            let from = site.operand(0).ok()?.shape.as_array()?;
            one(shape::same_place(from, site.instruction.shape.as_array()?))
        }
        Op::Scatter { dims, .. } if operand > site.instruction.operands.len() / 2 => {
            one(dynamic::scatter_update(site, operand, dims))
        }
        _ => None,
    }
}

fn by_inversion(site: Site, forward: Vec<Indexing>, operand: usize, leaf: usize) -> Indexing {
    let indexing = forward.into_iter().nth(operand);
    let readings = match indexing {
        Some(Indexing::Known(readings)) => readings,
        Some(unknown) => return unknown,
        None => return Indexing::Unknown(format!("{}: there is no operand {operand}", site.instruction.opcode())),
    };
    let Ok(operand) = site.operand(operand) else { return Indexing::Known(Vec::new()) };
    let leaves = operand.shape.leaves();
    let invert = |reading: &Reading| {
        let dims = array_dims(leaves.get(reading.leaf)?)?;
        reading.inverted(dims)?.of_leaf(leaf).simplified()
    };
    Indexing::Known(readings.iter().filter_map(invert).collect())
}

impl Reading {
    /// Returns the map from an element that is read to the elements that are computed from it.
    /// Returns `None` if the rank does not match.
    fn inverted(&self, read: &[i64]) -> Option<Reading> {
        if self.map.results.len() != read.len() {
            return None;
        }
        let targets = read.iter().map(|&size| Variable::from_size(size)).collect();
        let preimage = self.map.preimage(targets);
        let mut runtime = self.runtime.clone();
        for expr in runtime.iter_mut().flat_map(|value| &mut value.index) {
            *expr = expr.substitute(&preimage.dims, &preimage.ranges, &[]);
        }
        Some(Reading { map: preimage.map, runtime, leaf: 0 })
    }
}
