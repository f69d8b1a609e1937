//! The subgraph functions of one reduction group. These functions compute combiners, epilogues, and
//! the operands at a point of the problem. All emitters of reductions use the functions.

use fusebox_core::analysis::{ReductionGroup, Start};
use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Subgraph, Type, Value};
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{BinaryOp, InstrId};
use fusebox_core::indexing::IndexingMap;

/// Values of all heroes. For each hero, there is one value per operand that the hero reduces.
pub type PerHero = Vec<Vec<Value>>;

/// An element to be written to an output.
pub struct ElementWrite {
    /// Index of the output.
    pub output: usize,
    pub element: Value,
    /// Index of the element in the output.
    pub index: Vec<Value>,
}

/// Values computed at a point of the problem.
pub struct PointValues {
    /// The heroes' operands.
    pub elements: PerHero,
    /// The side outputs.
    pub sides: Vec<ElementWrite>,
}

/// Start values of accumulators.
pub struct StartValues {
    /// Values from which any number of accumulators may start.
    pub start: PerHero,
    initial: PerHero,
}

/// A reduction group and its declared subgraph functions.
pub struct ReductionBody<'g> {
    group: &'g ReductionGroup,
    visits: Vec<PointFunction>,
    initial: Subgraph,
    /// For each value of each hero, the position of that value's initial value among the results of
    /// `initial`.
    initial_places: Vec<Vec<usize>>,
    combiners: Vec<Subgraph>,
    epilogues: Vec<EpilogueFunction>,
}

/// Instructions whose values are needed at one index.
struct PointFunction {
    index: IndexingMap,
    instructions: Vec<InstrId>,
    /// Position of each instruction's first leaf in the list of all instructions' leaves.
    leaves: Vec<usize>,
    values: Subgraph,
}

/// The epilogue function of roots that have equal dimensions and the same heroes.
struct EpilogueFunction {
    index: IndexingMap,
    heroes: Vec<usize>,
    /// Pairs `(output, result of the function)`.
    outputs: Vec<(usize, usize)>,
    function: Subgraph,
}

impl<'g> ReductionBody<'g> {
    pub fn declare(kernel: &mut KernelBuilder, fusion: &Fusion, group: &'g ReductionGroup) -> Self {
        let visits = visits(kernel, fusion, group);
        let epilogues = epilogues(kernel, fusion, group);
        ReductionBody { visits, epilogues, ..ReductionBody::of_combiners(kernel, group) }
    }

    /// Declares only the initial values and combiners, for emitters that compute operands and
    /// results with their own functions.
    pub fn of_combiners(kernel: &mut KernelBuilder, group: &'g ReductionGroup) -> Self {
        let mut distinct: Vec<InstrId> = Vec::new();
        let mut place = |id: InstrId| {
            distinct.iter().position(|&known| known == id).unwrap_or_else(|| {
                distinct.push(id);
                distinct.len() - 1
            })
        };
        let initial_places =
            group.heroes.iter().map(|hero| hero.values.iter().map(|value| place(value.initial)).collect()).collect();
        let initial = kernel.values(&distinct);
        let combiners = group.heroes.iter().map(|hero| kernel.combiner(hero.instruction)).collect();
        ReductionBody { group, visits: Vec::new(), initial, initial_places, combiners, epilogues: Vec::new() }
    }

    pub fn group(&self) -> &'g ReductionGroup {
        self.group
    }

    /// Returns the combiner of a hero, for `shuffle_reduce`.
    pub fn combiner(&self, hero: usize) -> &Subgraph {
        &self.combiners[hero]
    }

    /// Computes the initial values. Call this function once, outside of all loops.
    pub fn starts(&self, b: &mut FunctionBuilder) -> StartValues {
        let values = b.call_subgraph(&self.initial, &[], &[]);
        let pick = |places: &Vec<usize>| places.iter().filter_map(|&place| values.get(place).copied()).collect();
        let initial: PerHero = self.initial_places.iter().map(pick).collect();
        let start = self.group.heroes.iter().zip(&initial).map(|(hero, initial)| match hero.start {
            Start::Initial => initial.clone(),
            Start::Neutral(op) => {
                let types = b.types_of(initial);
                types.iter().map(|ty| neutral(b, op, ty)).collect()
            }
        });
        let start = start.collect();
        StartValues { start, initial }
    }

    /// Computes the operands and side outputs at a point `[d0, d1, d2]` of the canonical problem.
    pub fn visit(&self, b: &mut FunctionBuilder, point: &[Value]) -> PointValues {
        let visited: Vec<(Vec<Value>, Vec<Value>)> = self
            .visits
            .iter()
            .map(|visit| {
                let index = b.apply_indexing(&visit.index, point);
                let values = b.call_subgraph(&visit.values, &index, &[]);
                (index, values)
            })
            .collect();
        let leaf = |index: &IndexingMap, id: InstrId, leaf: usize| {
            let visits = self.visits.iter().zip(&visited);
            let mut held = visits.filter(|(visit, _)| visit.index == *index).filter_map(|(visit, (at, values))| {
                let position = visit.instructions.iter().position(|&known| known == id)?;
                Some((*values.get(visit.leaves[position] + leaf)?, at.clone()))
            });
            held.next()
        };
        let operand = |index, id| leaf(index, id, 0).map(|(value, _)| value);
        let elements = self
            .group
            .heroes
            .iter()
            .map(|hero| hero.values.iter().filter_map(|value| operand(&hero.to_operand, value.operand)).collect());
        let elements = elements.collect();
        let sides = self.group.sides.iter().flat_map(|side| {
            side.outputs.iter().filter_map(|&(output, number)| {
                let (element, index) = leaf(&side.from_canonical, side.instruction, number)?;
                Some(ElementWrite { output, element, index })
            })
        });
        PointValues { elements, sides: sides.collect() }
    }

    /// Combines a hero's accumulator with `values`.
    pub fn combine(&self, b: &mut FunctionBuilder, hero: usize, accumulator: &[Value], values: &[Value]) -> Vec<Value> {
        b.call_subgraph(&self.combiners[hero], &[], &[accumulator, values].concat())
    }

    /// Combines the accumulators of all heroes with `values`. [`combine`](Self::combine) combines
    /// the accumulator of one hero.
    pub fn combine_all(&self, b: &mut FunctionBuilder, accumulators: &[Vec<Value>], values: &[Vec<Value>]) -> PerHero {
        let pairs = accumulators.iter().zip(values).enumerate();
        pairs.map(|(hero, (accumulator, values))| self.combine(b, hero, accumulator, values)).collect()
    }

    /// Returns the results of the reductions: `totals` combined with the initial values.
    pub fn complete(&self, b: &mut FunctionBuilder, starts: &StartValues, totals: &[Vec<Value>]) -> PerHero {
        let mut complete = totals.to_vec();
        for (hero, total) in complete.iter_mut().enumerate() {
            if let Start::Neutral(_) = self.group.heroes[hero].start {
                *total = self.combine(b, hero, &starts.initial[hero], total);
            }
        }
        complete
    }

    /// Combines `totals` with the initial values, and applies the epilogues to the results at the
    /// coordinates `kept`.
    pub fn finish(
        &self,
        b: &mut FunctionBuilder,
        starts: &StartValues,
        kept: &[Value],
        totals: &[Vec<Value>],
    ) -> Vec<ElementWrite> {
        let complete = self.complete(b, starts, totals);
        let mut writes = Vec::new();
        for epilogue in &self.epilogues {
            let index = b.apply_indexing(&epilogue.index, kept);
            let injected: Vec<Value> = epilogue.heroes.iter().flat_map(|&hero| complete[hero].clone()).collect();
            let values = b.call_subgraph(&epilogue.function, &index, &injected);
            let held = epilogue.outputs.iter().filter_map(|&(output, result)| Some((output, *values.get(result)?)));
            writes.extend(held.map(|(output, element)| ElementWrite { output, element, index: index.clone() }));
        }
        writes
    }
}

/// Writes elements and returns the updated outputs.
pub fn write(b: &mut FunctionBuilder, writes: &[ElementWrite], outputs: &[Value]) -> Vec<Value> {
    let mut outputs = outputs.to_vec();
    for write in writes {
        outputs[write.output] = b.insert(write.element, outputs[write.output], &write.index);
    }
    outputs
}

/// Returns the neutral value of an operation.
fn neutral(b: &mut FunctionBuilder, op: BinaryOp, ty: &Type) -> Value {
    use fusebox_core::builder::Scalar;
    match (op, ty.element()) {
        // The neutral value is -0, because a sum that starts from +0 can never be -0.
        (BinaryOp::Add, Scalar::Float(_)) => b.float(-0.0, ty.element()),
        (BinaryOp::Add, Scalar::Complex(part)) => {
            let zero = b.float(-0.0, Scalar::Float(part));
            b.complex(zero, zero)
        }
        (BinaryOp::Multiply, Scalar::Int(_) | Scalar::Index) => b.int(1, ty.element()),
        (BinaryOp::Multiply, Scalar::Float(_)) => b.float(1.0, ty.element()),
        (BinaryOp::Multiply, Scalar::Complex(part)) => {
            let (one, zero) = (b.float(1.0, Scalar::Float(part)), b.float(0.0, Scalar::Float(part)));
            b.complex(one, zero)
        }
        _ => b.zero(ty),
    }
}

/// Declares the functions for operands and side outputs. One function computes all values at an
/// index, so that common subexpressions are computed once.
fn visits(kernel: &mut KernelBuilder, fusion: &Fusion, group: &ReductionGroup) -> Vec<PointFunction> {
    let operands =
        group.heroes.iter().flat_map(|hero| hero.values.iter().map(|value| (&hero.to_operand, value.operand)));
    let sides = group.sides.iter().map(|side| (&side.from_canonical, side.instruction));
    let mut visits: Vec<(&IndexingMap, Vec<i64>, Vec<InstrId>)> = Vec::new();
    for (index, id) in operands.chain(sides) {
        let dims = dims_of(fusion, id);
        match visits.iter_mut().find(|(known, known_dims, _)| *known == index && *known_dims == dims) {
            Some((_, _, list)) if list.contains(&id) => {}
            Some((_, _, list)) => list.push(id),
            None => visits.push((index, dims, vec![id])),
        }
    }
    let declare = |(index, _, instructions): (&IndexingMap, Vec<i64>, Vec<InstrId>)| {
        let values = kernel.values(&instructions);
        let leaves = first_leaves(fusion, &instructions);
        PointFunction { index: index.clone(), instructions, leaves, values }
    };
    visits.into_iter().map(declare).collect()
}

fn epilogues(kernel: &mut KernelBuilder, fusion: &Fusion, group: &ReductionGroup) -> Vec<EpilogueFunction> {
    let mut classes: Vec<(Vec<i64>, Vec<usize>)> = Vec::new();
    for root in &group.roots {
        let class = (dims_of(fusion, root.instruction), root.heroes.clone());
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    let mut epilogues = Vec::new();
    for (dims, heroes) in classes {
        let members =
            group.roots.iter().filter(|root| root.heroes == heroes && dims_of(fusion, root.instruction) == dims);
        let members: Vec<_> = members.collect();
        let instructions: Vec<InstrId> = members.iter().map(|root| root.instruction).collect();
        let leaves = first_leaves(fusion, &instructions);
        let outputs = members
            .iter()
            .zip(leaves)
            .flat_map(|(root, first)| root.outputs.iter().map(move |&(output, leaf)| (output, first + leaf)));
        let outputs = outputs.collect();
        let ids: Vec<InstrId> = heroes.iter().map(|&hero| group.heroes[hero].instruction).collect();
        let function = if ids.is_empty() { kernel.values(&instructions) } else { kernel.epilogue(&instructions, &ids) };
        let index = members.first().map(|root| root.from_kept.clone()).unwrap_or_default();
        epilogues.push(EpilogueFunction { index, heroes, outputs, function });
    }
    epilogues
}

fn dims_of(fusion: &Fusion, id: InstrId) -> Vec<i64> {
    let leaves = fusion.computation().instruction(id).shape.leaves();
    leaves.first().and_then(|leaf| leaf.as_array()).map(|array| array.dims.clone()).unwrap_or_default()
}

/// Returns the position of each instruction's first leaf in the list of all instructions' leaves.
fn first_leaves(fusion: &Fusion, instructions: &[InstrId]) -> Vec<usize> {
    let mut next = 0;
    let mut first = |&id: &InstrId| {
        let this = next;
        next += fusion.computation().instruction(id).shape.leaves().len();
        this
    };
    instructions.iter().map(&mut first).collect()
}
