//! What is computed for a point of a visit, and where parameters are read for it.
//!
//! Elementwise operations stay at the place they are asked at; others lead to places of their own, with loops where they
//! combine several elements.

use std::collections::HashSet;

use super::traffic::{SHORT_LOOP, WRITTEN_OUT};
use crate::cost;
use crate::emitter::Fusion;
use crate::hlo::{Computation, InstrId, Instruction, Module, Op};
use crate::indexing::{Expr, ExprKind, IndexingMap, access};

/// The place of the visited values themselves.
pub const WHERE: usize = 0;
/// Further places are taken for the one they would be read from: nobody reads as much.
const MOST_PLACES: usize = 64;
/// The same for pairs of instruction and place.
const MOST_VALUES: usize = 1 << 12;

/// Where something is computed or read.
pub struct Place {
    /// The place from which it is asked for; [`WHERE`] is its own.
    pub from: usize,
    /// From an index there to one here.
    pub map: IndexingMap,
    /// Number of loops around it before its own.
    pub first_loop: usize,
    /// Sizes of all loops around it.
    pub loops: Vec<i64>,
    /// Of each dimension of its index, how many of the loops there are up to the innermost that it depends on.
    depths: Vec<usize>,
    /// Which part of its points is looked at: less than 1 of one of several operands.
    share: f64,
    /// How many points of it are looked at for one of the visit.
    pub times: f64,
    /// Whether its loops are those of windows that slide over an array.
    pub is_of_window: bool,
}

/// A parameter that is read at a place.
pub struct Read {
    /// The parameter.
    pub parameter: InstrId,
    /// Number of the place.
    pub place: usize,
}

/// All of it.
pub struct Reached {
    /// In the order in which they were found.
    pub places: Vec<Place>,
    /// Additions for a point that may be done for several points at once.
    pub additions: f64,
    /// Additions for a point of which each waits for the one before.
    pub waiting: f64,
    /// Those that are the same in any order, so that a core makes several at once.
    pub regrouped: f64,
    /// How many sums, or what else is regrouped, there are for a point.
    pub sums: f64,
    /// What is read.
    pub reads: Vec<Read>,
}

impl Reached {
    /// Nothing but the points of the visit.
    pub fn nothing() -> Self {
        let map = IndexingMap::default();
        let here = Place {
            from: WHERE,
            map,
            first_loop: 0,
            loops: Vec::new(),
            depths: Vec::new(),
            share: 1.0,
            times: 1.0,
            is_of_window: false,
        };
        Reached { places: vec![here], additions: 0.0, waiting: 0.0, regrouped: 0.0, sums: 0.0, reads: Vec::new() }
    }

    /// Walks from values up to parameters and to what is given.
    pub fn new(fusion: &Fusion, values: &[InstrId], given: &[InstrId]) -> Self {
        let computation = fusion.computation();
        let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); computation.instructions.len()];
        for id in values {
            wanted[id.index()] = vec![WHERE];
        }
        let given: HashSet<InstrId> = given.iter().copied().collect();
        let mut reached = Reached::nothing();
        let mut count = 0;
        for id in computation.ids().rev().filter(|id| !given.contains(id)) {
            let instruction = computation.instruction(id);
            for place in std::mem::take(&mut wanted[id.index()]) {
                count += 1;
                reached.operation(&fusion.module, computation, instruction, place);
                match instruction.op {
                    Op::Parameter { .. } => {
                        reached.reads.extend(large(instruction).then_some(Read { parameter: id, place }))
                    }
                    _ if count > MOST_VALUES => {}
                    _ => {
                        for (operand, at) in reached.operands(computation, instruction, place) {
                            let known = &mut wanted[operand.index()];
                            known.extend((!known.contains(&at)).then_some(at));
                        }
                    }
                }
            }
        }
        reached
    }

    /// Counts an operation. What there is only one of is computed once, unless it takes long.
    fn operation(&mut self, module: &Module, computation: &Computation, instruction: &Instruction, place: usize) {
        let times = self.places[place].times;
        let one = cost::per_element(computation, instruction);
        match &instruction.op {
            // A few elements are combined in straight-line code, for several results at a time.
            op if cost::is_heavy(op) && !is_written_out(op, cost::steps(computation, instruction)) => {
                match cost::is_regrouped(module, instruction) {
                    true => {
                        self.regrouped += times * one / 2.0;
                        self.sums += times;
                    }
                    false => self.waiting += times * one / 2.0,
                }
            }
            Op::Transpose { .. } => {}
            // Its operands are tried one after the other.
            Op::Concatenate { .. } => self.additions += times * one.max(instruction.operands.len() as f64),
            _ if large(instruction) => self.additions += times * one,
            _ => {}
        }
    }

    /// The operands and the places where they are needed.
    fn operands(
        &mut self,
        computation: &Computation,
        instruction: &Instruction,
        place: usize,
    ) -> Vec<(InstrId, usize)> {
        let dims = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| &array.dims);
        let own = instruction.shape.as_array().map(|array| &array.dims);
        let stays = |operand: &InstrId| own.is_some() && dims(*operand) == own;
        if matches!(instruction.op, Op::Tuple)
            || (instruction.op.is_elementwise() && instruction.operands.iter().all(stays))
        {
            return instruction.operands.iter().map(|&operand| (operand, place)).collect();
        }
        let Ok(access) = access(computation, instruction) else {
            return instruction.operands.iter().map(|&operand| (operand, place)).collect();
        };
        let loops: Vec<i64> = access.loops.iter().flatten().map(|variable| variable.bounds.size() as i64).collect();
        let share = |operand: InstrId| match &instruction.op {
            // One of them is chosen.
            Op::Concatenate { .. } | Op::Pad { .. } => {
                let elements = |it: &Instruction| cost::first_array(it).map_or(1, |array| array.element_count()) as f64;
                (elements(computation.instruction(operand)) / elements(instruction).max(1.0)).min(1.0)
            }
            _ => 1.0,
        };
        let is_window = matches!(instruction.op, Op::ReduceWindow { .. });
        let reads = access.reads.into_iter();
        reads
            .map(|read| {
                (read.instruction, self.place(place, read.reading.map, &loops, share(read.instruction), is_window))
            })
            .collect()
    }

    fn place(&mut self, from: usize, map: IndexingMap, loops: &[i64], share: f64, is_window: bool) -> usize {
        let around = &self.places[from];
        // Whatever reads it this way reads it once.
        let known = self.places.iter().position(|place| place.from == from && place.map == map);
        if let Some(known) = known.filter(|&known| known != WHERE) {
            return known;
        }
        if self.places.len() >= MOST_PLACES {
            return from;
        }
        let first_loop = around.loops.len();
        let depths: Vec<usize> = map.results.iter().map(|index| depth(index, around)).collect();
        let is_within = around.loops.is_empty() || around.is_of_window;
        let is_of_window = is_within && (loops.is_empty() || is_window);
        // It is computed before the loops that it does not depend on.
        let mut loops = [&around.loops, loops].concat();
        loops.truncate(depths.iter().copied().max().unwrap_or(0));
        let share = around.share * share;
        let times = share * loops.iter().map(|&size| size as f64).product::<f64>();
        self.places.push(Place { from, map, first_loop, loops, depths, share, times, is_of_window });
        self.places.len() - 1
    }
}

/// How many of the loops there are up to the innermost that an index depends on, which is computed from a place's.
fn depth(index: &Expr, around: &Place) -> usize {
    let mut depth = 0;
    index.visit_leaves(&mut |leaf| {
        depth = depth.max(match *leaf {
            ExprKind::Dim(dim) => around.depths.get(dim as usize).copied().unwrap_or(0),
            ExprKind::Range(number) => around.loops.len() + number as usize + 1,
            _ => 0,
        });
    });
    depth
}

/// Whether the loops in which an operation combines elements are written out, as short ones are.
fn is_written_out(op: &Op, steps: f64) -> bool {
    let is_window =
        matches!(op, Op::ReduceWindow { window, .. } if window.dims.iter().all(|dim| dim.size <= SHORT_LOOP));
    steps <= SHORT_LOOP as f64 || is_window && steps <= WRITTEN_OUT
}

/// Whether there are several elements.
fn large(instruction: &Instruction) -> bool {
    cost::first_array(instruction).is_some_and(|array| array.element_count() > 1)
}
