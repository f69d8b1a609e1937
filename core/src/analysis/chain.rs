//! Chains of row reductions: operations on the elements of a row use the results of earlier
//! reductions of that row.
//!
//! ```text
//! softmax   x ─> max ─> exp(x - max) ─> sum ─> exp(x - max) / sum
//!           phase 1     phase 2               last phase
//! ```
//!
//! An array that depends on a reduction has either one element for each row, or one element for
//! each element of each row. In row-major order, the elements of an array that depends on a
//! reduction follow the order of the rows. So a kernel may process the rows one by one and walk
//! over each row several times. In each *phase*, the kernel computes the reductions that depend
//! only on reductions of earlier phases.

use super::epilogue::keeps_positions;
use super::reduction::{ReductionHero, ReductionKind, ReductionProblem, hero};
use crate::emitter::{Analysis, Decline, Fusion};
use crate::hlo::{ArrayShape, Computation, InstrId, Instruction, Module, Op, Shape};
use crate::indexing::{Expr, IndexingMap, delinearize};

/// How the elements of an array correspond to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowPlace {
    /// The array depends on no reduction of the chain. The elements of the array may correspond to
    /// rows in any way.
    Free,
    /// One element per row.
    Row,
    /// One element for each element of each row.
    Element,
    /// The array depends on a reduction of the chain, but its elements correspond neither to rows
    /// nor to the elements of rows.
    Elsewhere,
}

/// A set of rows of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowSpace {
    /// Number of rows.
    pub rows: i64,
    /// Number of elements in each row.
    pub length: i64,
}

/// A fusion that is a chain of row reductions.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChain {
    /// The rows.
    pub space: RowSpace,
    /// For each instruction of the fused computation, how its elements correspond to rows.
    pub places: Vec<RowPlace>,
    /// For each instruction, the number of phases that must be complete before its value is known.
    pub levels: Vec<usize>,
    /// The reductions of each phase. `phases[0]` has the reductions that depend on no other
    /// reduction.
    pub phases: Vec<Vec<ReductionHero>>,
    /// Values that have one element per row, and that are operands of broadcasts. The broadcast of
    /// a value repeats the element of each row for all elements of the row. `row_values` omits a
    /// reduction if only other values with one element per row use this reduction.
    pub row_values: Vec<InstrId>,
    /// The roots in order, with their output numbers.
    pub roots: Vec<ChainRoot>,
}

/// A root of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainRoot {
    /// The root.
    pub instruction: InstrId,
    /// `Row` or `Element`.
    pub place: RowPlace,
    /// Index of the root's first output.
    pub output: usize,
}

impl RowSpace {
    /// Returns the rows of a reduction if the rows are contiguous and have several elements each,
    /// else `None`.
    pub fn of(problem: ReductionProblem) -> Option<RowSpace> {
        let [major, rows, length] = problem.dims;
        (problem.kind == ReductionKind::Row && major == 1 && length > 1).then_some(RowSpace { rows, length })
    }

    /// Total number of elements of all rows.
    pub fn element_count(&self) -> i64 {
        self.rows.saturating_mul(self.length)
    }

    /// Returns the map from `(row, element)` to the index in an array that has one element for each
    /// element of each row.
    pub fn element_index(&self, dims: &[i64]) -> IndexingMap {
        let position = Expr::dim(0) * self.length + Expr::dim(1);
        IndexingMap::from_tensor_sizes(delinearize(&position, dims), &[self.rows, self.length], &[]).simplify()
    }

    /// Returns the map from `(row)` to the index in an array with one element per row.
    pub fn row_index(&self, dims: &[i64]) -> IndexingMap {
        IndexingMap::from_tensor_sizes(delinearize(&Expr::dim(0), dims), &[self.rows], &[]).simplify()
    }

    /// Returns how an instruction's elements correspond to rows. `place_of` returns how the
    /// elements of an operand correspond to rows. A reduction of the rows of this [`RowSpace`]
    /// belongs to the chain.
    pub fn place(
        &self,
        module: &Module,
        computation: &Computation,
        id: InstrId,
        place_of: &dyn Fn(InstrId) -> RowPlace,
    ) -> RowPlace {
        let instruction = computation.instruction(id);
        if let Op::Reduce { .. } = instruction.op
            && let Some(place) = self.place_of_reduce(module, computation, id, place_of)
        {
            return place;
        }
        let bound: Vec<RowPlace> =
            instruction.operands.iter().map(|&id| place_of(id)).filter(|&place| place != RowPlace::Free).collect();
        let Some(&first) = bound.first() else { return RowPlace::Free };
        if bound.iter().any(|&place| place != first) {
            return RowPlace::Elsewhere;
        }
        match &instruction.op {
            Op::Broadcast { dimensions } => self.place_of_broadcast(computation, instruction, dimensions, first),
            Op::GetTupleElement { .. } => first,
            _ if keeps_positions(computation, instruction) => first,
            _ => RowPlace::Elsewhere,
        }
    }

    /// Returns how the results of a reduction correspond to rows; `None` if the instruction is not
    /// a reduction of the rows of this [`RowSpace`].
    fn place_of_reduce(
        &self,
        module: &Module,
        computation: &Computation,
        id: InstrId,
        place_of: &dyn Fn(InstrId) -> RowPlace,
    ) -> Option<RowPlace> {
        let hero = hero(module, computation, id).ok()?;
        if RowSpace::of(hero.problem) != Some(*self) {
            return None;
        }
        let fits = hero.values.iter().all(|value| {
            matches!(place_of(value.operand), RowPlace::Free | RowPlace::Element)
                && place_of(value.initial) == RowPlace::Free
        });
        Some(if fits { RowPlace::Row } else { RowPlace::Elsewhere })
    }

    fn place_of_broadcast(
        &self,
        computation: &Computation,
        instruction: &Instruction,
        dimensions: &[i64],
        from: RowPlace,
    ) -> RowPlace {
        let (Some(operand), Some(result)) =
            (computation.instruction(instruction.operands[0]).shape.as_array(), instruction.shape.as_array())
        else {
            return RowPlace::Elsewhere;
        };
        // Dimensions of the result that come from the operand and are larger than 1, in the
        // operand's order.
        let kept: Vec<usize> = dimensions
            .iter()
            .map(|&dim| dim as usize)
            .filter(|&dim| result.dims.get(dim).is_some_and(|&d| d > 1))
            .collect();
        let is_new = |dim: &usize| result.dims[*dim] > 1 && !kept.contains(dim);
        let first_new = (0..result.rank()).find(|dim| is_new(dim)).unwrap_or(result.rank());
        let in_front = kept.is_sorted() && kept.iter().all(|&dim| dim < first_new);
        let factor = result.element_count() / operand.element_count().max(1);
        match (from, factor) {
            (_, 1) if kept.is_sorted() => from,
            (RowPlace::Row, factor) if in_front && factor == self.length => RowPlace::Element,
            _ => RowPlace::Elsewhere,
        }
    }
}

impl Analysis for RowChain {
    fn of(fusion: &Fusion) -> Result<RowChain, Decline> {
        let (module, computation) = (&fusion.module, fusion.computation());
        let Some(space) = first_space(module, computation) else {
            return Err(Decline::new("there is no reduction of contiguous rows"));
        };
        let places = places(module, computation, space);
        let mut chain = RowChain {
            space,
            levels: vec![0; places.len()],
            places,
            phases: Vec::new(),
            row_values: Vec::new(),
            roots: Vec::new(),
        };
        for id in computation.ids() {
            chain.enter(module, computation, id)?;
        }
        if chain.row_values.is_empty() {
            return Err(Decline::new("no operation on the rows reads the result of their reduction"));
        }
        chain.roots = chain.roots_of(fusion)?;
        Ok(chain)
    }
}

impl RowChain {
    fn enter(&mut self, module: &Module, computation: &Computation, id: InstrId) -> Result<(), Decline> {
        let instruction = computation.instruction(id);
        let level = instruction.operands.iter().map(|operand| self.levels[operand.index()]).max().unwrap_or(0);
        self.levels[id.index()] = level;
        match self.places[id.index()] {
            _ if matches!(instruction.op, Op::Tuple) => {}
            RowPlace::Elsewhere => {
                let reason = format!("{} depends on a reduction, but not row by row", instruction.name);
                return Err(Decline::at(instruction, reason));
            }
            RowPlace::Row if matches!(instruction.op, Op::Reduce { .. }) => {
                let hero = hero(module, computation, id).map_err(|reason| Decline::at(instruction, reason))?;
                self.levels[id.index()] = level + 1;
                self.phases.resize(self.phases.len().max(level + 1), Vec::new());
                self.phases[level].push(hero);
            }
            RowPlace::Element if matches!(instruction.op, Op::Broadcast { .. }) => {
                let operand = instruction.operands[0];
                if self.places[operand.index()] == RowPlace::Row && !self.row_values.contains(&operand) {
                    self.row_values.push(operand);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn roots_of(&self, fusion: &Fusion) -> Result<Vec<ChainRoot>, Decline> {
        let mut output = 0;
        let mut roots = Vec::with_capacity(fusion.roots.len());
        for &id in &fusion.roots {
            let instruction = fusion.computation().instruction(id);
            let leaves = instruction.shape.leaves();
            let count = leaves.first().and_then(|leaf| leaf.as_array()).map_or(0, ArrayShape::element_count);
            let place = match self.places[id.index()] {
                RowPlace::Free if count == self.space.element_count() => RowPlace::Element,
                RowPlace::Free if count == self.space.rows => RowPlace::Row,
                RowPlace::Free => {
                    let reason =
                        format!("{} has neither one element per row nor one per element of the rows", instruction.name);
                    return Err(Decline::at(instruction, reason));
                }
                place => place,
            };
            roots.push(ChainRoot { instruction: id, place, output });
            output += leaves.len();
        }
        Ok(roots)
    }
}

/// Returns the rows of a reduction; `None` if the reduction cannot be part of a chain.
pub fn row_space(module: &Module, computation: &Computation, reduce: InstrId) -> Option<RowSpace> {
    hero(module, computation, reduce).ok().and_then(|hero| RowSpace::of(hero.problem))
}

/// Returns the rows of the first reduction that can be part of a chain.
fn first_space(module: &Module, computation: &Computation) -> Option<RowSpace> {
    computation.ids().find_map(|id| row_space(module, computation, id))
}

fn places(module: &Module, computation: &Computation, space: RowSpace) -> Vec<RowPlace> {
    let mut places: Vec<RowPlace> = Vec::with_capacity(computation.instructions.len());
    for id in computation.ids() {
        let place = match computation.instruction(id).shape {
            Shape::Token | Shape::Opaque => RowPlace::Elsewhere,
            _ => space.place(module, computation, id, &|operand| places[operand.index()]),
        };
        places.push(place);
    }
    places
}
