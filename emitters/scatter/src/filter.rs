//! The loops in which a block of one thread skips the slices of other blocks.
//!
//! The processor cannot predict whether a slice belongs to the block, so a branch on this condition
//! costs more than applying the slice. Three loops without a branch per slice process a thousand
//! slices at a time:
//!
//! ```text
//! look     index vectors   7 2 9 1 8 0 3 5 …     block owns rows 0 .. 4; a vector compares eight
//!          is mine         0 1 0 1 0 1 1 0
//! list     positions         1   3   5 6         each is written at the end; if mine, the end advances
//! apply    the slices at these positions, in order
//! ```

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Value};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

use crate::body::{ApplySlice, ScatterBody, reaches};
use crate::problem::ScatterProblem;

/// Number of slices that a block examines before it applies the listed slices. With this number,
/// the lists stay in the nearest cache.
const CHUNK: i64 = 1024;
/// Number of positions that one loop iteration lists.
const UNROLLED: i64 = 4;

/// Returns the number of bytes of the lists.
pub fn list_bytes(problem: &ScatterProblem) -> u32 {
    let index_bytes = problem.index_type.byte_size() as i64;
    (CHUNK * (4 + index_bytes * (1 + problem.shape.components.len() as i64))) as u32
}

/// A filter for the slices of one block. The operand dimension `dim` is distributed over blocks,
/// and `own` is the block's range of positions in this dimension.
struct SliceFilter<'a, 'p> {
    body: &'a ScatterBody<'p>,
    dim: usize,
    own: (Value, Value),
}

/// The lists `positions` and `is mine`, and one list for each component of the index vectors. Each
/// list is a tensor of [`CHUNK`] elements.
struct SliceLists {
    positions: Value,
    mine: Value,
    vectors: Vec<Value>,
}

/// Visits all slices in order. Applies each slice that fits and starts in the block's range of
/// operand dimension `dim`. `own` consists of the first position and the end of the block's range.
/// Slices have size 1 in dimension `dim`.
pub fn walk_own(
    kernel: &mut KernelBuilder,
    body: &ScatterBody,
    dim: usize,
    own: (Value, Value),
    outputs: &[Value],
    apply: &ApplySlice<'_>,
) -> Vec<Value> {
    let shape = &body.problem.shape;
    let ty = Scalar::of_element(body.problem.index_type);
    let filter = SliceFilter { body, dim, own };
    let lists = SliceLists {
        positions: kernel.allocate_shared(&[CHUNK], Scalar::I32),
        mine: kernel.allocate_shared(&[CHUNK], ty),
        vectors: shape.components.iter().map(|_| kernel.allocate_shared(&[CHUNK], ty)).collect(),
    };
    let slices = shape.slices();
    let whole = slices / CHUNK * CHUNK;
    let (zero, end, step) = (kernel.index(0), kernel.index(whole), kernel.index(CHUNK));
    let state = [lists.all(), outputs.to_vec()].concat();
    let state = kernel.scf_for(zero, end, step, &state, |b, first, state| {
        let (lists, outputs) = SliceLists::split(state, shape.components.len());
        filter.chunk(b, (first, CHUNK), lists, outputs, apply)
    });
    let (lists, outputs) = SliceLists::split(&state, shape.components.len());
    if whole == slices {
        return outputs.to_vec();
    }
    let rest = filter.chunk(kernel, (end, slices - whole), lists, outputs, apply);
    SliceLists::split(&rest, shape.components.len()).1.to_vec()
}

impl SliceFilter<'_, '_> {
    /// Processes the slices `first .. first + length`. Returns the lists, then the outputs.
    fn chunk(
        &self,
        b: &mut FunctionBuilder,
        (first, length): (Value, i64),
        lists: SliceLists,
        outputs: &[Value],
        apply: &ApplySlice<'_>,
    ) -> Vec<Value> {
        let lists = self.look(b, (first, length), &lists);
        let (count, lists) = list(b, length, lists);
        let (zero, one) = (b.index(0), b.index(1));
        let outputs = b.scf_for(zero, count, one, outputs, |b, entry, outputs| {
            let position = b.extract(lists.positions, &[entry]);
            let position = b.index_castui(position, Scalar::Index);
            let vector: Vec<Value> = lists.vectors.iter().map(|&list| b.extract(list, &[position])).collect();
            let position = b.addi(first, position);
            let slice = self.body.slice(b, position);
            apply(b, &slice, &vector, outputs)
        });
        [lists.all(), outputs].concat()
    }

    /// Stores for each slice the index vector, and whether the slice belongs to the block.
    fn look(&self, b: &mut FunctionBuilder, (first, length): (Value, i64), lists: &SliceLists) -> SliceLists {
        let components = lists.vectors.len();
        let (zero, one, end) = (b.index(0), b.index(1), b.index(length));
        let state = b.scf_for(zero, end, one, &lists.all(), |b, at, state| {
            let (lists, _) = SliceLists::split(state, components);
            let position = b.addi(first, at);
            let slice = self.body.slice(b, position);
            let vector = self.body.index_vector(b, &slice);
            let mine = self.is_mine(b, &vector);
            let mine = b.extui(mine, Scalar::of_element(self.body.problem.index_type));
            let mine = b.insert(mine, lists.mine, &[at]);
            let written = vector.iter().zip(&lists.vectors);
            let vectors = written.map(|(&component, &list)| b.insert(component, list, &[at])).collect();
            SliceLists { positions: lists.positions, mine, vectors }.all()
        });
        SliceLists::split(&state, components).0
    }

    /// Whether a slice fits and starts in the block's range.
    fn is_mine(&self, b: &mut FunctionBuilder, vector: &[Value]) -> Value {
        let problem = self.body.problem;
        let own = problem.shape.components.iter().position(|&dim| dim == self.dim);
        let (ty, signed) = (Scalar::of_element(problem.index_type), problem.index_type.is_signed_integer());
        let mut mine = self.body.fits(b, vector);
        let Some(&value) = own.and_then(|own| vector.get(own)) else { return mine };
        // Compares in the program's type if this type can represent the bounds, because this
        // vectorises best.
        let own = [self.own.0, self.own.1];
        let (value, ends) = if reaches(problem.index_type, problem.shape.operand[self.dim].size) {
            (value, own.map(|end| b.index_cast(end, ty)))
        } else if signed {
            (b.index_cast(value, Scalar::Index), own)
        } else {
            (b.index_castui(value, Scalar::Index), own)
        };
        for (predicate, end) in [(IntPredicate::Sge, ends[0]), (IntPredicate::Slt, ends[1])] {
            let test = b.cmpi(predicate, value, end);
            mine = b.andi(mine, test);
        }
        mine
    }
}

/// Lists the positions below `length` whose slices belong to the block. Returns the number of these
/// positions, and the lists.
fn list(b: &mut FunctionBuilder, length: i64, lists: SliceLists) -> (Value, SliceLists) {
    let zero = b.index(0);
    let lanes = if length % UNROLLED == 0 { UNROLLED } else { 1 };
    let map = IndexingMap {
        ranges: vec![Variable::from_size(length / lanes), Variable::from_size(lanes)],
        results: vec![Expr::range(0) * lanes + Expr::range(1)],
        ..IndexingMap::default()
    };
    let mine = lists.mine;
    let state = b.indexed_loop(&map, &[], &[zero, lists.positions], &[1], |b, _, at, state| {
        let position = b.index_cast(at[0], Scalar::I32);
        let positions = b.insert(position, state[1], &[state[0]]);
        let counts = b.extract(mine, at);
        let counts = b.index_castui(counts, Scalar::Index);
        vec![b.addi(state[0], counts), positions]
    });
    (state[0], SliceLists { positions: state[1], ..lists })
}

impl SliceLists {
    fn all(&self) -> Vec<Value> {
        [&[self.positions, self.mine], self.vectors.as_slice()].concat()
    }

    /// Splits a state into the lists and the remaining values. The lists are the state's first
    /// values.
    fn split(state: &[Value], components: usize) -> (SliceLists, &[Value]) {
        let (lists, rest) = state.split_at(2 + components);
        (SliceLists { positions: lists[0], mine: lists[1], vectors: lists[2..].to_vec() }, rest)
    }
}
