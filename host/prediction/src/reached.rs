//! The operations that a visit computes per point, and the places where it reads parameters. A
//! *place* is an index at which operations are computed or parameters are read. Each place is
//! derived from the index of the visited values.
//!
//! An elementwise operation reads its operands at the place where the operation is computed. Any
//! other operation creates a new place for each operand, with loops if the operation combines
//! several elements.

use std::collections::HashSet;

use fusebox_core::cost;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Computation, InstrId, Instruction, Module, Op};
use fusebox_core::indexing::{Expr, ExprKind, IndexingMap, Reading, access};

/// Index of the place at which the visited values are computed.
pub const HERE: usize = 0;
/// Largest number of places. Beyond this limit, the model counts a read at the place of the
/// instruction that reads. No real kernel has this many places.
const MOST_PLACES: usize = 64;
/// Largest number of pairs (instruction, place) for which the walk continues to the operands.
const MOST_VALUES: usize = 1 << 12;
/// Largest number of iterations of a loop that is unrolled so that the loop around it can be
/// vectorised. Chosen: LLVM fully unrolls loops of about this size. No measurement of this constant
/// is recorded.
pub const SHORT_LOOP: i64 = 8;
/// Largest number of points that nested unrolled loops have together. Only the loop around the
/// unrolled loops has an overhead. Chosen without a recorded measurement.
pub const MOST_UNROLLED: f64 = 32.0;

/// A place: an index at which operations are computed or parameters are read.
pub struct Place {
    /// Index of the user's place. The user is computed at the place with this index, and reads its
    /// operand at the place that this struct describes. For [`HERE`], the index is [`HERE`] itself.
    pub from: usize,
    /// Map from the index of the user's place to the index of this place.
    pub map: IndexingMap,
    /// For each runtime variable of `map`: the index of the element that is its value.
    pub runtime: Vec<Vec<Expr>>,
    /// Number of loops around the user's place.
    pub first_loop: usize,
    /// Sizes of all loops around this place.
    pub loops: Vec<i64>,
    /// For each dimension of the index: number of loops from the outermost loop to the innermost
    /// loop on which the dimension depends.
    depths: Vec<usize>,
    /// Fraction of the points at which the operand is read. The fraction is less than 1 for
    /// operands of `concatenate` and `pad`, because these operations read only one operand per
    /// point.
    share: f64,
    /// Number of points of this place per point of the visit.
    pub times: f64,
    /// Whether the loops around this place iterate over windows that slide over an array.
    pub is_of_window: bool,
}

/// A parameter that is read at a place.
pub struct Read {
    /// The parameter.
    pub parameter: InstrId,
    /// Index of the place.
    pub place: usize,
}

/// All operations and reads that a visit reaches.
pub struct Reached {
    /// The places in the order of their discovery.
    pub places: Vec<Place>,
    /// Additions per point that can be vectorised over several points.
    pub additions: f64,
    /// Additions per point that each depend on the previous addition.
    pub waiting: f64,
    /// Additions per point that may be reordered, so that a core can compute several at once.
    pub regrouped: f64,
    /// Number of reductions per point whose additions may be reordered.
    pub sums: f64,
    /// The parameters read.
    pub reads: Vec<Read>,
}

impl Reached {
    /// Describes a visit that computes nothing. The only place of the visit is [`HERE`].
    pub fn nothing() -> Self {
        let map = IndexingMap::default();
        let here = Place {
            from: HERE,
            map,
            runtime: Vec::new(),
            first_loop: 0,
            loops: Vec::new(),
            depths: Vec::new(),
            share: 1.0,
            times: 1.0,
            is_of_window: false,
        };
        Reached { places: vec![here], additions: 0.0, waiting: 0.0, regrouped: 0.0, sums: 0.0, reads: Vec::new() }
    }

    /// Walks from the visited values through their operands. The walk ends at parameters, and at
    /// values that the kernel already holds (`given`).
    pub fn new(fusion: &Fusion, values: &[InstrId], given: &[InstrId]) -> Self {
        let computation = fusion.computation();
        let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); computation.instructions.len()];
        for id in values {
            wanted[id.index()] = vec![HERE];
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

    /// Adds the cost of an operation. An operation with a single element is computed only once, so
    /// its cost is counted only if the operation is heavy (see [`cost::is_heavy`]).
    fn operation(&mut self, module: &Module, computation: &Computation, instruction: &Instruction, place: usize) {
        let times = self.places[place].times;
        let one = cost::per_element(computation, instruction);
        match &instruction.op {
            // If an operation combines only few elements, it becomes straight-line code, which is
            // vectorised over several results.
            op if cost::is_heavy(op) && !is_unrolled(op, cost::steps(computation, instruction)) => {
                if cost::is_regrouped(module, instruction) {
                    self.regrouped += times * one / 2.0;
                    self.sums += times;
                } else {
                    self.waiting += times * one / 2.0
                }
            }
            Op::Transpose { .. } => {}
            // The code compares the index with the range of each operand in turn.
            Op::Concatenate { .. } => self.additions += times * one.max(instruction.operands.len() as f64),
            _ if large(instruction) => self.additions += times * one,
            _ => {}
        }
    }

    /// Returns the operands and the places where they are read.
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
            // These operations read only one operand per element.
            Op::Concatenate { .. } | Op::Pad { .. } => {
                let elements = |it: &Instruction| cost::first_array(it).map_or(1, |array| array.element_count()) as f64;
                (elements(computation.instruction(operand)) / elements(instruction).max(1.0)).min(1.0)
            }
            _ => 1.0,
        };
        let is_window = matches!(instruction.op, Op::ReduceWindow { .. });
        let reads = access.reads.into_iter();
        reads
            .map(|read| (read.instruction, self.place(place, read.reading, &loops, share(read.instruction), is_window)))
            .collect()
    }

    fn place(&mut self, from: usize, reading: Reading, loops: &[i64], share: f64, is_window: bool) -> usize {
        let map = reading.map;
        let runtime: Vec<Vec<Expr>> = reading.runtime.into_iter().map(|value| value.index).collect();
        let around = &self.places[from];
        // If two users at the same place read through the same map, both use one new place, so that
        // the read is counted once.
        let is_known = |place: &Place| place.from == from && place.map == map && place.runtime == runtime;
        let known = self.places.iter().position(is_known);
        if let Some(known) = known.filter(|&known| known != HERE) {
            return known;
        }
        if self.places.len() >= MOST_PLACES {
            return from;
        }
        let first_loop = around.loops.len();
        let depths: Vec<usize> = map.results.iter().map(|index| depth(index, around)).collect();
        let is_within = around.loops.is_empty() || around.is_of_window;
        let is_of_window = is_within && (loops.is_empty() || is_window);
        // The value is computed outside of inner loops on which it does not depend.
        let mut loops = [&around.loops, loops].concat();
        loops.truncate(depths.iter().copied().max().unwrap_or(0));
        let share = around.share * share;
        let times = share * loops.iter().map(|&size| size as f64).product::<f64>();
        self.places.push(Place { from, map, runtime, first_loop, loops, depths, share, times, is_of_window });
        self.places.len() - 1
    }
}

/// Returns the number of loops from the outermost loop to the innermost loop on which `index`
/// depends. `index` is computed from the index of the place `around`.
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

/// Whether the loops in which an operation combines elements are short enough to be unrolled.
fn is_unrolled(op: &Op, steps: f64) -> bool {
    let is_window =
        matches!(op, Op::ReduceWindow { window, .. } if window.dims.iter().all(|dim| dim.size <= SHORT_LOOP));
    steps <= SHORT_LOOP as f64 || is_window && steps <= MOST_UNROLLED
}

/// Whether the instruction has several elements.
fn large(instruction: &Instruction) -> bool {
    cost::first_array(instruction).is_some_and(|array| array.element_count() > 1)
}
