//! Composes the maps of a computation's instructions. The composed maps state how the results of
//! the computation read its parameters.

use super::of_op::{Indexing, Reading, output_to_input};
use fusebox_hlo::{ComputationId, InstrId, Module, Op, Shape};

/// Largest number of readings of an instruction. If an instruction has more readings, the analysis
/// treats them as unknown. Emitters cannot use so many readings. Without the limit, the number of
/// readings could grow exponentially if instructions have several users.
const MAX_READINGS: usize = 64;

/// How one result of a computation reads the computation's instructions.
#[derive(Clone, Debug, PartialEq)]
pub struct RootMaps {
    /// The instruction that is the result: the root, or an operand of a root tuple.
    pub root: InstrId,
    /// Index of the result's leaf within the shape of the instruction `root`.
    pub leaf: usize,
    /// How the result reads each instruction of the computation. Instructions that the result does
    /// not read have no maps.
    pub instructions: Vec<Indexing>,
    /// How the result reads each parameter, in the order of parameter numbers.
    pub parameters: Vec<Indexing>,
}

/// Returns the maps of a fusion, or of any other computation. The list has one entry per leaf of
/// the result, in order.
pub fn fusion_maps(module: &Module, computation: ComputationId) -> Vec<RootMaps> {
    let count = module.computation(computation).root_instruction().shape.leaves().len();
    (0..count).map(|leaf| maps_of_leaf(module, computation, leaf)).collect()
}

/// Returns the maps of one leaf of the result.
pub(super) fn maps_of_leaf(module: &Module, computation: ComputationId, leaf: usize) -> RootMaps {
    let body = module.computation(computation);
    let (mut root, mut root_leaf) = (body.root, leaf);
    // A tuple computes nothing, so one of the tuple's operands contains the leaf.
    while body.instruction(root).op == Op::Tuple
        && let Some(holder) = body.holder_of_leaf(body.instruction(root), root_leaf)
    {
        (root, root_leaf) = holder;
    }
    maps_from(module, computation, root, root_leaf)
}

/// Returns maps for every instruction of the computation. The maps of an instruction lead from the
/// index of an element in a leaf of `root` to the indices at which this element reads the
/// instruction.
pub fn maps_from(module: &Module, computation: ComputationId, root: InstrId, leaf: usize) -> RootMaps {
    let instructions = maps_through(module, computation, root, leaf, |_| true);
    let parameters = module.computation(computation).parameters().into_iter();
    let parameters = parameters.map(|id| instructions[id.index()].clone()).collect();
    RootMaps { root, leaf, instructions, parameters }
}

/// Returns the maps that state how a leaf of `root` reads the instruction `read`. The maps lead
/// from the index of an element in the leaf to the indices at which this element reads `read`. Does
/// not follow the operands of the instructions `ends`.
pub fn maps_to(
    module: &Module,
    computation: ComputationId,
    (root, leaf): (InstrId, usize),
    read: InstrId,
    ends: &[InstrId],
) -> Indexing {
    let body = module.computation(computation);
    let mut leads_there = vec![false; body.instructions.len()];
    leads_there[read.index()] = true;
    for id in body.ids().filter(|id| !ends.contains(id)) {
        leads_there[id.index()] |= body.instruction(id).operands.iter().any(|operand| leads_there[operand.index()]);
    }
    let passes = |id: InstrId| leads_there[id.index()] && !ends.contains(&id) && id != read;
    maps_through(module, computation, root, leaf, passes).swap_remove(read.index())
}

/// Returns how a leaf of `root` reads each instruction. Follows only the operands of instructions
/// for which `passes` holds.
fn maps_through(
    module: &Module,
    computation: ComputationId,
    root: InstrId,
    leaf: usize,
    passes: impl Fn(InstrId) -> bool,
) -> Vec<Indexing> {
    let body = module.computation(computation);
    let mut instructions = vec![Indexing::Known(Vec::new()); body.instructions.len()];
    instructions[root.index()] = match body.instruction(root).shape.leaves().get(leaf) {
        Some(Shape::Array(shape)) => Indexing::Known(vec![Reading::whole(&shape.dims).of_leaf(leaf)]),
        _ => Indexing::Unknown("the result is not an array".into()),
    };
    for id in body.ids().rev().filter(|&id| id.index() <= root.index() && passes(id)) {
        let (operands, reads) = instructions.split_at_mut(id.index());
        propagate(module, computation, id, &reads[0], operands);
    }
    instructions
}

/// Composes `reads`, the readings of an instruction, with the maps from the instruction to its
/// operands. Adds the composed readings to those of the operands.
fn propagate(
    module: &Module,
    computation: ComputationId,
    id: InstrId,
    reads: &Indexing,
    instructions: &mut [Indexing],
) {
    let instruction = module.computation(computation).instruction(id);
    let merge = |into: &mut [Indexing], operand: InstrId, indexing: Indexing| {
        if let Some(known) = into.get_mut(operand.index()) {
            known.merge(indexing, MAX_READINGS);
        }
    };
    let readings = match reads {
        Indexing::Known(readings) => readings,
        Indexing::Unknown(reason) => {
            for &operand in &instruction.operands {
                merge(instructions, operand, Indexing::Unknown(reason.clone()));
            }
            return;
        }
    };
    let mut leaves: Vec<usize> = readings.iter().map(|reading| reading.leaf).collect();
    leaves.sort_unstable();
    leaves.dedup();
    for leaf in leaves {
        let steps = output_to_input(module, computation, id, leaf);
        for (step, &operand) in steps.iter().zip(&instruction.operands) {
            let indexing = match step {
                Indexing::Unknown(reason) => Indexing::Unknown(reason.clone()),
                Indexing::Known(steps) => {
                    let own = readings.iter().filter(|reading| reading.leaf == leaf);
                    Indexing::Known(own.flat_map(|r| steps.iter().filter_map(|step| r.then(step))).collect())
                }
            };
            merge(instructions, operand, indexing);
        }
    }
}
