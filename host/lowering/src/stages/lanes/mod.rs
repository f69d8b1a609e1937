//! Replaces loops over lanes by operations on vectors. Reductions consist of loops over lanes:
//! every iteration updates its own accumulators in the thread's memory, or adds elements to a sum.
//!
//! ```text
//! for lane in 0..110            t = load 32 x f32 of tile at 0,  x = load 32 x f32 of p at 0, …
//!   tile[lane] += p[i + lane]   … at 32, at 64;  8 x f32 at 96;  4 x f32 at 104;  2 x f32 at 108
//! ```
//!
//! If the number of iterations is a variable, loops over vectors replace the loop, provided that a
//! power of two divides the number.
//!
//! LLVM's vectoriser would produce similar code, but the analysis of each loop and the passes after
//! the vectoriser take longer than all other passes. LLVM keeps accumulators in registers only if
//! the accesses to the accumulators are not in a loop.

mod body;
mod forward;
mod moves;
mod write;

use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Region, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use body::LaneBody;
use forward::forward;
pub(crate) use moves::moves_memory;
use write::LaneWriter;

/// Least number of iterations of a loop that is replaced. Shorter loops are unrolled.
const LEAST_LANES: i64 = 5;
/// Number of bytes of a piece, counted for the widest elements of the loop. A piece is a vector of
/// consecutive lanes. A piece fills several registers, so that operations do not wait for each
/// other.
const PIECE: i64 = 128;
/// If all lanes of a loop together have at most this number of bytes, pieces replace the loop
/// without a loop over pieces.
const STRAIGHT: i64 = 512;
/// Number of bytes that one iteration computes if a loop over pieces replaces a long loop.
const TURN: i64 = 256;
/// Least number of bytes of a piece if a variable determines the number of lanes. The number of
/// lanes must be a multiple of the lanes of this piece, so that no lanes remain.
const LEAST_PIECE: i64 = 32;

/// The facts about a function that decide whether a loop can be replaced.
pub(crate) struct Surroundings {
    constants: FxHashMap<Value, i64>,
    /// Numbers of low bits of integers that are zero, so that a power of two divides the integers.
    low_zeros: FxHashMap<Value, u32>,
    /// Constants whose bytes are all zero.
    zeros: FxHashSet<Value>,
    memories: FxHashMap<Value, Memory>,
    /// Whether loops that only copy elements into arguments are replaced.
    with_copies: bool,
}

/// The memory to which a pointer points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// The thread's own memory, or a table of constants. No other pointer points to this memory.
    Own,
    /// An argument of the function. `is_apart` is true if the argument overlaps no other argument.
    Argument { is_apart: bool },
}

/// Replaces the loops over lanes of a function that the stage `scalars` has written. If innermost
/// loops without vectors remain, LLVM's vectoriser runs anyway. In this case, loops that only copy
/// elements into arguments remain too, because LLVM turns a nest of copying loops into a single
/// `memcpy`.
pub(super) fn in_vectors(function: &mut Function) {
    let mut surroundings = Surroundings::of(function);
    let mut replaced = None;
    for with_copies in [true, false] {
        surroundings.with_copies = with_copies;
        replaced = with_vectors(function, &surroundings);
        if replaced.as_ref().is_none_or(are_loops_vectorised) {
            break;
        }
    }
    if let Some(replaced) = replaced {
        *function = replaced;
    }
}

/// Returns the function with its loops over lanes replaced. Returns `None` if no loop was replaced.
fn with_vectors(function: &Function, surroundings: &Surroundings) -> Option<Function> {
    let mut replaced = function.clone();
    let mut body = std::mem::take(&mut replaced.body);
    replace_in(&mut body, &mut replaced.types, surroundings);
    replaced.body = body;
    (replaced.types.len() > function.types.len()).then(|| {
        replaced.renumber();
        replaced
    })
}

/// Whether all innermost loops compute with vectors, or fill or copy memory. A loop whose
/// iterations together fill or copy memory does not count as a loop, because it becomes a single
/// operation.
fn are_loops_vectorised(function: &Function) -> bool {
    let surroundings = Surroundings::of(function);
    let held = function.body.operations.iter().map(|op| Held::by(op, &function.types, &surroundings));
    held.fold(Held::default(), Held::and).are_vectorised
}

/// The loops and vectors of some operations and of the operations in their regions.
struct Held {
    has_loops: bool,
    /// Whether an operation has vectors, or fills or copies memory.
    has_vectors: bool,
    /// Whether all innermost loops have vectors.
    are_vectorised: bool,
}

impl Default for Held {
    fn default() -> Held {
        Held { has_loops: false, has_vectors: false, are_vectorised: true }
    }
}

impl Held {
    fn by(op: &Operation, types: &[Type], surroundings: &Surroundings) -> Held {
        if moves_memory(op, types, surroundings) {
            return Held { has_vectors: true, ..Held::default() };
        }
        let inner = op.regions.iter().flat_map(|region| &region.operations);
        let inner = inner.map(|op| Held::by(op, types, surroundings)).fold(Held::default(), Held::and);
        let is_vector = |value: &Value| matches!(types[value.number()], Type::Vector(..));
        let has_vectors = inner.has_vectors || op.results.iter().chain(&op.operands).any(is_vector);
        let is_loop = matches!(op.kind, OpKind::For | OpKind::While);
        let is_vectorised = !is_loop || inner.has_loops || has_vectors;
        Held {
            has_loops: is_loop || inner.has_loops,
            has_vectors,
            are_vectorised: inner.are_vectorised && is_vectorised,
        }
    }

    fn and(self, other: Held) -> Held {
        Held {
            has_loops: self.has_loops || other.has_loops,
            has_vectors: self.has_vectors || other.has_vectors,
            are_vectorised: self.are_vectorised && other.are_vectorised,
        }
    }
}

fn replace_in(region: &mut Region, types: &mut Vec<Type>, surroundings: &Surroundings) {
    let mut operations = Vec::with_capacity(region.operations.len());
    for mut op in std::mem::take(&mut region.operations) {
        op.regions.iter_mut().for_each(|region| replace_in(region, types, surroundings));
        match replaced(&op, types, surroundings) {
            Some(replacement) => operations.extend(replacement),
            None => operations.push(op),
        }
    }
    forward(&mut operations, types, surroundings);
    region.operations = operations;
}

/// Returns the operations that replace a loop. `None` if the operation is not a loop over lanes.
fn replaced(op: &Operation, types: &mut Vec<Type>, surroundings: &Surroundings) -> Option<Vec<Operation>> {
    let known = |value: &Value| surroundings.constants.get(value).copied();
    if op.kind != OpKind::For {
        return None;
    }
    match op.operands.first_chunk::<3>()?.each_ref().map(known) {
        [Some(0), Some(count), Some(1)] if count >= LEAST_LANES => of_constant_count(op, count, types, surroundings),
        [Some(0), None, Some(1)] => of_variable_count(op, types, surroundings),
        _ => None,
    }
}

/// Returns the operations that replace a loop with a constant number of lanes.
fn of_constant_count(
    op: &Operation,
    count: i64,
    types: &mut Vec<Type>,
    surroundings: &Surroundings,
) -> Option<Vec<Operation>> {
    let body = LaneBody::of(op, Some(count), types, surroundings)?;
    let bytes = count.checked_mul(body.widest)?;
    let is_sum = !body.sums.is_empty();
    let is_left = body.is_copy_into_argument && !surroundings.with_copies;
    let is_long = bytes > STRAIGHT;
    if is_left || !(is_sum || body.is_in_own_memory) || is_long && (is_sum || body.moves_memory(surroundings)) {
        return None;
    }
    let mut writer = LaneWriter::new(&body, types, op);
    let piece = PIECE / body.widest;
    let turn = if is_long { TURN / body.widest } else { 0 };
    let whole = if turn > 0 { count - count % turn } else { 0 };
    if whole > 0 {
        let end = writer.constant(whole);
        writer.turns([op.operands[0], end], turn, &pieces(0, turn, piece));
    }
    writer.pieces(op.operands[0], &pieces(whole, count, piece));
    writer.finish();
    Some(writer.written)
}

/// Returns the operations that replace a loop whose number of lanes is a variable. An example is a
/// loop over the columns of a block if the last block has fewer columns. The replacement consists
/// of a loop over groups of pieces, and of a loop over the remaining pieces. A group has [`PIECE`]
/// bytes.
fn of_variable_count(op: &Operation, types: &mut Vec<Type>, surroundings: &Surroundings) -> Option<Vec<Operation>> {
    let count = op.operands[1];
    let &zeros = surroundings.low_zeros.get(&count)?;
    let body = LaneBody::of(op, None, types, surroundings)?;
    let turn = PIECE / body.widest;
    let piece = turn.min(1 << zeros.min(PIECE.ilog2()));
    let is_left = body.is_copy_into_argument && !surroundings.with_copies;
    if is_left
        || piece * body.widest < LEAST_PIECE
        || !body.sums.is_empty()
        || !body.is_in_own_memory
        || body.moves_memory(surroundings)
    {
        return None;
    }
    let mut writer = LaneWriter::new(&body, types, op);
    let whole = writer.multiple_below(count, turn);
    writer.turns([op.operands[0], whole], turn, &pieces(0, turn, piece));
    writer.turns([whole, count], piece, &[[0, piece]]);
    Some(writer.written)
}

/// Divides lanes into pieces. A piece has at most `most` lanes, and its number of lanes is a power
/// of two. Returns the first lane and the number of lanes of each piece, the largest pieces first.
fn pieces(first: i64, end: i64, most: i64) -> Vec<[i64; 2]> {
    let (mut at, mut lanes) = (first, most);
    let mut pieces = Vec::new();
    while at < end {
        if lanes <= end - at {
            pieces.push([at, lanes]);
            at += lanes;
        } else {
            lanes /= 2;
        }
    }
    pieces
}

impl Surroundings {
    pub(crate) fn of(function: &Function) -> Surroundings {
        let (mut constants, mut zeros, mut memories) =
            (FxHashMap::default(), FxHashSet::default(), FxHashMap::default());
        let mut zeros_of = FxHashMap::default();
        for (position, &argument) in function.body.arguments.iter().enumerate() {
            let attributes = function.argument_attributes.get(position);
            let is_apart = attributes.is_some_and(|all| all.iter().any(|(name, _)| name == "llvm.noalias"));
            memories.insert(argument, Memory::Argument { is_apart });
        }
        function.body.walk(&mut |op| {
            if op.operands.is_empty() {
                // Only constants have a value and no operands.
                let value = op.attribute("value");
                constants.extend(value.and_then(Attribute::as_integer).map(|value| (op.results[0], value)));
                zeros.extend(value.filter(|value| is_zero(value)).map(|_| op.results[0]));
            }
            zeros_of.extend(low_zeros(op, &constants, &zeros_of).map(|zeros| (op.result(), zeros)));
            if matches!(op.kind, OpKind::StackMemory | OpKind::ConstantMemory) {
                memories.insert(op.result(), Memory::Own);
            }
        });
        Surroundings { constants, low_zeros: zeros_of, zeros, memories, with_copies: true }
    }

    /// Whether an operation is a loop that counts in steps of one.
    fn counts_by_one(&self, op: &Operation) -> bool {
        let step = op.operands.get(2).and_then(|step| self.constants.get(step));
        op.kind == OpKind::For && step == Some(&1)
    }

    /// Whether two pointers never point to the same memory.
    fn are_apart(&self, one: Value, other: Value) -> bool {
        let Some((first, second)) = self.memories.get(&one).zip(self.memories.get(&other)) else { return false };
        let apart = Memory::Argument { is_apart: true };
        one != other && [first, second].into_iter().any(|&memory| memory == Memory::Own || memory == apart)
    }
}

/// Returns the number of low bits of an operation's result that are zero. Returns `None` if no bit
/// is known to be zero.
fn low_zeros(op: &Operation, constants: &FxHashMap<Value, i64>, known: &FxHashMap<Value, u32>) -> Option<u32> {
    let of = |value: &Value| match constants.get(value) {
        Some(constant) => constant.trailing_zeros(),
        None => known.get(value).copied().unwrap_or(0),
    };
    let [one, other] = op.operands.last_chunk::<2>()?.each_ref().map(of);
    match op.kind {
        OpKind::MulI => Some((one + other).min(i64::BITS)),
        OpKind::AddI | OpKind::SubI | OpKind::MinSI | OpKind::MaxSI | OpKind::Select => Some(one.min(other)),
        _ => None,
    }
    .filter(|&zeros| zeros > 0)
}

/// Whether the bytes of a constant number are all zero.
fn is_zero(value: &Attribute) -> bool {
    match value {
        Attribute::Float(bits, _) => *bits == 0,
        value => value.as_integer() == Some(0),
    }
}
