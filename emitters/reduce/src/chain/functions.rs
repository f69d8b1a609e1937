//! The subgraph functions of a chain.

use fusebox_core::analysis::{ReductionGroup, ReductionProblem, RowChain, RowPlace};
use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Subgraph, Value};
use fusebox_core::emitter::{Fusion, Visit};
use fusebox_core::hlo::InstrId;
use fusebox_core::indexing::IndexingMap;

use super::kept_values::{KeptValue, wanted};
use crate::body::{ElementWrite, PerHero};

/// Values that are already computed, each with its instruction.
pub type ComputedValues = Vec<(InstrId, Vec<Value>)>;

/// A function that computes instructions of equal dimensions. The caller passes in ("injects") the
/// values of some operands.
pub struct ChainFunction {
    index: IndexingMap,
    instructions: Vec<InstrId>,
    /// Number of leaves of each instruction.
    leaves: Vec<usize>,
    /// Instructions whose values the caller passes in.
    injected: Vec<InstrId>,
    function: Subgraph,
}

/// One loop over a row, and the computations after the loop.
pub struct Phase {
    /// Functions to compute for every element.
    pub elements: Vec<ChainFunction>,
    /// Instructions that this phase stores for later phases.
    pub stored: Vec<InstrId>,
    /// Instructions that earlier phases have stored.
    pub loaded: Vec<InstrId>,
    /// Functions to compute once per row, after the loop.
    pub row: Vec<ChainFunction>,
}

impl ChainFunction {
    /// Calls the function at a point, which is `(row, element)` or `(row)`.
    pub fn compute(&self, b: &mut FunctionBuilder, point: &[Value], known: &[(InstrId, Vec<Value>)]) -> ComputedValues {
        let index = b.apply_indexing(&self.index, point);
        let of = |id: &InstrId| known.iter().find(|(known, _)| known == id).map(|(_, values)| values.clone());
        let injected: Vec<Value> = self.injected.iter().filter_map(of).flatten().collect();
        let mut values = b.call_subgraph(&self.function, &index, &injected).into_iter();
        let computed_values = self.instructions.iter().zip(&self.leaves);
        computed_values.map(|(&id, &count)| (id, values.by_ref().take(count).collect())).collect()
    }
}

/// Element values that a phase computes, stores and loads.
struct PhaseValues {
    stored: Vec<InstrId>,
    loaded: Vec<InstrId>,
    /// Instructions that the phase computes.
    outputs: Vec<InstrId>,
    /// Instructions whose values are available: row values and loaded values.
    injected: Vec<InstrId>,
}

fn steps(chain: &RowChain, kept: &[KeptValue]) -> Vec<PhaseValues> {
    let step = |(phase, wanted): (usize, Vec<InstrId>)| {
        let stored: Vec<InstrId> = kept.iter().filter(|(_, by)| *by == phase).map(|(id, _)| *id).collect();
        let loaded: Vec<InstrId> = kept.iter().filter(|(_, by)| *by < phase).map(|(id, _)| *id).collect();
        let mut outputs = wanted;
        outputs.extend(&stored);
        outputs.retain(|id| !loaded.contains(id));
        outputs.sort_unstable();
        outputs.dedup();
        let known = chain.row_values.iter().filter(|id| chain.levels[id.index()] <= phase);
        let injected = known.chain(&loaded).copied().collect();
        PhaseValues { stored, loaded, outputs, injected }
    };
    wanted(chain).into_iter().enumerate().map(step).collect()
}

/// Returns the visits of a plan. `map` returns the map to the indices at which the kernel visits an
/// array. The first argument of `map` states whether the array has one value for each row, or one
/// for each element of each row. The second argument is the list of the array's dimensions.
pub fn visits(
    fusion: &Fusion,
    chain: &RowChain,
    kept: &[KeptValue],
    map: &dyn Fn(RowPlace, &[i64]) -> IndexingMap,
) -> Vec<Visit> {
    let visit = |place, id: InstrId, given| Visit { map: map(place, &dims_of(fusion, id)), values: vec![id], given };
    let mut visits: Vec<Visit> = Vec::new();
    for PhaseValues { outputs, injected, .. } in steps(chain, kept) {
        let first = visits.len();
        for id in outputs {
            let next = visit(RowPlace::Element, id, injected.clone());
            match visits[first..].iter_mut().find(|visit| visit.map == next.map) {
                Some(visit) => visit.values.push(id),
                None => visits.push(next),
            }
        }
    }
    let heroes: Vec<InstrId> = chain.phases.iter().flatten().map(|hero| hero.instruction).collect();
    let of_rows = chain.roots.iter().filter(|root| root.place == RowPlace::Row);
    visits.extend(of_rows.map(|root| visit(RowPlace::Row, root.instruction, heroes.clone())));
    visits
}

/// Declares the phases of a chain. The last phase writes the roots.
pub fn phases(kernel: &mut KernelBuilder, fusion: &Fusion, chain: &RowChain, kept: &[KeptValue]) -> Vec<Phase> {
    let steps = steps(chain, kept);
    let last = steps.len() - 1;
    let mut phases = Vec::with_capacity(steps.len());
    for (phase, PhaseValues { stored, loaded, outputs, injected }) in steps.into_iter().enumerate() {
        let known = |limit: usize| chain.row_values.iter().copied().filter(move |id| chain.levels[id.index()] <= limit);
        let elements = parts(kernel, fusion, chain, RowPlace::Element, &outputs, &injected);
        let of_row: Vec<InstrId> = if phase == last {
            let roots = chain.roots.iter().filter(|root| root.place == RowPlace::Row);
            roots.map(|root| root.instruction).collect()
        } else {
            known(phase + 1).filter(|id| chain.levels[id.index()] == phase + 1).collect()
        };
        let heroes: Vec<InstrId> = chain.phases.iter().take(phase + 1).flatten().map(|hero| hero.instruction).collect();
        let of_row: Vec<InstrId> = of_row.into_iter().filter(|id| !heroes.contains(id)).collect();
        let row = parts(kernel, fusion, chain, RowPlace::Row, &of_row, &heroes);
        phases.push(Phase { elements, stored, loaded, row });
    }
    phases
}

fn parts(
    kernel: &mut KernelBuilder,
    fusion: &Fusion,
    chain: &RowChain,
    place: RowPlace,
    instructions: &[InstrId],
    injected: &[InstrId],
) -> Vec<ChainFunction> {
    let shape = |id: InstrId| &fusion.computation().instruction(id).shape;
    let dims_of = |id: InstrId| dims_of(fusion, id);
    let mut classes: Vec<(Vec<i64>, Vec<InstrId>)> = Vec::new();
    for &id in instructions {
        let dims = dims_of(id);
        match classes.iter_mut().find(|(known, _)| *known == dims) {
            Some((_, members)) => members.push(id),
            None => classes.push((dims, vec![id])),
        }
    }
    let declare = |(dims, members): (Vec<i64>, Vec<InstrId>)| {
        let index = match place {
            RowPlace::Row => chain.space.row_index(&dims),
            _ => chain.space.element_index(&dims),
        };
        let function = if injected.is_empty() { kernel.values(&members) } else { kernel.epilogue(&members, injected) };
        let leaves = members.iter().map(|&id| shape(id).leaves().len()).collect();
        ChainFunction { index, instructions: members, leaves, injected: injected.to_vec(), function }
    };
    classes.into_iter().map(declare).collect()
}

/// Returns the reductions of each phase as a group without roots.
pub fn groups(chain: &RowChain) -> Vec<ReductionGroup> {
    let group = |heroes: &Vec<fusebox_core::analysis::ReductionHero>| {
        let problem: Option<ReductionProblem> = heroes.first().map(|hero| hero.problem);
        problem.map(|problem| ReductionGroup { problem, heroes: heroes.clone(), roots: Vec::new(), sides: Vec::new() })
    };
    chain.phases.iter().filter_map(group).collect()
}

/// Calls several functions at a point.
pub fn computed(
    b: &mut FunctionBuilder,
    parts: &[ChainFunction],
    point: &[Value],
    known: &[(InstrId, Vec<Value>)],
) -> ComputedValues {
    parts.iter().flat_map(|part| part.compute(b, point, known)).collect()
}

pub fn operands(group: &ReductionGroup, computed_values: &[(InstrId, Vec<Value>)]) -> PerHero {
    let operand = |id: InstrId| value_of(computed_values, id).and_then(|values| values.first().copied());
    let heroes = group.heroes.iter();
    heroes.map(|hero| hero.values.iter().filter_map(|value| operand(value.operand)).collect()).collect()
}

pub fn value_of(known: &[(InstrId, Vec<Value>)], id: InstrId) -> Option<&Vec<Value>> {
    known.iter().find(|(known, _)| *known == id).map(|(_, values)| values)
}

/// Computes the row values that depend on a phase's reductions, after the reductions are complete.
pub fn row_values(
    b: &mut FunctionBuilder,
    chain: &RowChain,
    phase: &Phase,
    row: Value,
    heroes: &[(InstrId, Vec<Value>)],
    known: &[(InstrId, Vec<Value>)],
) -> ComputedValues {
    let computed_values = computed(b, &phase.row, &[row], heroes);
    let news = heroes.iter().chain(&computed_values).filter(|(id, _)| chain.row_values.contains(id));
    news.filter(|(id, _)| value_of(known, *id).is_none()).cloned().collect()
}

/// Returns the writes of the roots at a point, which is `(row, element)` or `(row)`.
/// `computed_values` contains the elements to write.
pub fn root_writes(
    b: &mut FunctionBuilder,
    fusion: &Fusion,
    chain: &RowChain,
    place: RowPlace,
    point: &[Value],
    computed_values: &[(InstrId, Vec<Value>)],
) -> Vec<ElementWrite> {
    let mut writes = Vec::new();
    for root in chain.roots.iter().filter(|root| root.place == place) {
        let dims = dims_of(fusion, root.instruction);
        let index = match place {
            RowPlace::Row => chain.space.row_index(&dims),
            _ => chain.space.element_index(&dims),
        };
        let index = b.apply_indexing(&index, point);
        let values = value_of(computed_values, root.instruction).into_iter().flatten().enumerate();
        writes.extend(values.map(|(leaf, &element)| ElementWrite {
            output: root.output + leaf,
            element,
            index: index.clone(),
        }));
    }
    writes
}

/// Returns the dimensions of an instruction's first leaf.
pub fn dims_of(fusion: &Fusion, id: InstrId) -> Vec<i64> {
    let leaves = fusion.computation().instruction(id).shape.leaves();
    leaves.first().and_then(|leaf| leaf.as_array()).map(|array| array.dims.clone()).unwrap_or_default()
}
