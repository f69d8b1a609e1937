//! Hints for LLVM's optimiser. Hints do not change the results of a kernel, except for the order of
//! sums that may be regrouped. All lowerings give LLVM the same hints.

mod interleave;
mod jam;

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use fusebox_core::ir::{Attribute, Effect, Function, OpKind, Operation, Region, Value};

use crate::targets::TargetInfo;

/// Numbers of iterations for which LLVM would use a single masked vector. Loops with fewer than 5
/// iterations are unrolled. For loops with more than 15 iterations, LLVM chooses a scalar remainder
/// loop.
const FEW_TURNS: RangeInclusive<i64> = 5..=15;
/// Strides, in elements per iteration, for which LLVM reads interleaved groups although gathers are
/// faster.
const GROUPS: RangeInclusive<i64> = 5..=8;
/// A loop fills whole vectors of 32-bit elements if its number of iterations is a multiple of this
/// number.
const WHOLE_VECTORS: i64 = 16;

/// A kernel's buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) no_alias: bool,
    pub(crate) read_only: bool,
}

/// Decides for each buffer whether to mark it `noalias`, which means that the buffer overlaps no
/// other buffer.
///
/// Reads never conflict. If no written buffer overlaps another buffer, it suffices to mark the
/// written buffers. LLVM attaches a list to each access. The list contains the marked buffers that
/// the access does not touch. LLVM then compares the lists of each pair of accesses. If all buffers
/// are marked, the time of these comparisons grows with the cube of the number of buffers.
pub(crate) fn named(buffers: &[Buffer]) -> Vec<bool> {
    let writes_suffice = buffers.iter().all(|it| it.read_only || it.no_alias);
    buffers.iter().map(|it| it.no_alias && !(it.read_only && writes_suffice)).collect()
}

/// Whether a function has no effect except reading memory. Assumes that all functions that this
/// function calls also only read memory.
pub(crate) fn only_reads(function: &Function) -> bool {
    let mut only_reads = true;
    function.body.walk(&mut |op| {
        only_reads &= matches!(op.kind, OpKind::Load | OpKind::Call)
            || !matches!(op.kind.effect(), Effect::Memory | Effect::Allocates);
    });
    only_reads
}

/// Request to LLVM: to transform a loop, or not to transform it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopWish {
    /// LLVM decides.
    None,
    /// Keep one copy of the loop's body. LLVM may vectorise the loop but neither unroll nor
    /// interleave the loop.
    OneCopy,
    /// Leave the loop as it is: its iterations run in order.
    InOrder,
    /// Use full vectors, and a scalar loop for the remaining iterations.
    WholeVectors,
    /// Add no scalar loop for remaining iterations.
    NoRemainder,
    /// Compute this many iterations together: unroll the loop, and join the copies of its inner
    /// loop.
    Jammed(i64),
    /// Compute this many vectors in each iteration of the vectorised loop.
    Interleaved(i64),
}

/// Returns the request for a loop of a function. If an SSA value is a constant, `number` returns
/// the value as an integer.
pub(crate) fn wish(
    op: &Operation,
    body: &Region,
    function: &Function,
    number: &dyn Fn(Value) -> Option<i64>,
    target: &TargetInfo,
) -> LoopWish {
    let bounds = jam::bounds(op, number);
    if is_short_copy(bounds, body, target) {
        LoopWish::WholeVectors
    } else if gathers(body) > target.most_gathers {
        LoopWish::InOrder
    } else if stays(op) {
        LoopWish::OneCopy
    } else if fills_vectors(bounds) && target.gpu.is_none() && reads_parts_of_groups(body, number) {
        LoopWish::NoRemainder
    } else if target.gpu.is_some() {
        LoopWish::None
    } else if let Some(count) = jam::count(op, body, &function.types, number) {
        LoopWish::Jammed(count)
    } else {
        interleave::count(op, body, function, number).map_or(LoopWish::None, LoopWish::Interleaved)
    }
}

/// Whether a loop for the cpu has few iterations, contains a store, and contains neither calls nor
/// operations with regions. LLVM would use one masked vector for a loop of few iterations. On AMD's
/// processors without AVX-512 a masked store takes about twenty operations. Loops that call a
/// function are excluded, because they run faster with one masked vector than with full vectors and
/// a scalar loop.
fn is_short_copy(bounds: [Option<i64>; 3], body: &Region, target: &TargetInfo) -> bool {
    let is_short = matches!(bounds, [Some(0), Some(turns), Some(1)] if FEW_TURNS.contains(&turns));
    let is_plain = |op: &Operation| op.regions.is_empty() && !matches!(op.kind, OpKind::Call | OpKind::PureCall);
    is_short
        && target.gpu.is_none()
        && body.operations.iter().all(is_plain)
        && body.operations.iter().any(|op| op.kind == OpKind::Store)
}

/// Whether the iterations of a loop fill whole vectors.
fn fills_vectors(bounds: [Option<i64>; 3]) -> bool {
    matches!(bounds, [Some(0), Some(turns), Some(1)] if turns > 0 && turns % WHOLE_VECTORS == 0)
}

/// Whether a loop reads interleaved groups of elements, but not all elements of each group, for
/// example one element of each row. If a loop reads only parts of groups, LLVM reserves the last
/// iterations for a scalar loop, because reading whole groups would exceed the last group. If a
/// scalar loop is not allowed, LLVM reads the elements one by one or by gathers.
fn reads_parts_of_groups(body: &Region, number: &dyn Fn(Value) -> Option<i64>) -> bool {
    let Some(&counter) = body.arguments.first() else { return false };
    let mut distances: HashMap<Value, i64> = HashMap::new();
    let mut reads: HashMap<i64, i64> = HashMap::new();
    for op in &body.operations {
        let distance = match (op.kind, op.operands.as_slice()) {
            (OpKind::MulI, &[a, b]) if a == counter => number(b),
            (OpKind::AddI, [a, b]) => distances.get(a).or_else(|| distances.get(b)).copied(),
            (OpKind::Load, [_, at]) => {
                distances.get(at).into_iter().for_each(|&distance| *reads.entry(distance).or_default() += 1);
                None
            }
            _ => None,
        };
        if let (Some(distance), Some(&result)) = (distance, op.results.first()) {
            distances.insert(result, distance);
        }
    }
    reads.iter().any(|(distance, &reads)| GROUPS.contains(distance) && reads < *distance)
}

/// Whether LLVM must keep one copy of the loop's body.
fn stays(op: &Operation) -> bool {
    matches!(op.attribute("fusebox.unroll"), Some(Attribute::Str(wish)) if wish == "never")
}

/// Counts the indirect reads in a loop's body: the reads at addresses that depend on another read.
/// In a vectorised loop each indirect read is a gather.
fn gathers(body: &Region) -> usize {
    let mut read: HashSet<Value> = HashSet::new();
    let mut count = 0;
    for op in &body.operations {
        let depends = op.operands.iter().any(|operand| read.contains(operand));
        count += usize::from(op.kind == OpKind::Load && depends);
        if op.kind == OpKind::Load || depends {
            read.extend(&op.results);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use fusebox_kernel_text::parse;

    use super::*;
    use crate::targets::Target;

    const READ: Buffer = Buffer { no_alias: true, read_only: true };
    const WRITTEN: Buffer = Buffer { no_alias: true, read_only: false };
    const SHARED: Buffer = Buffer { no_alias: false, read_only: false };

    #[test]
    fn what_is_only_read_is_named_where_a_write_is_not() {
        assert_eq!(named(&[READ, READ, WRITTEN]), [false, false, true]);
        assert_eq!(named(&[READ, SHARED, WRITTEN]), [true, false, true]);
        assert_eq!(named(&[READ, READ]), [false, false]);
    }

    #[test]
    fn gathers_are_reads_at_places_that_were_read() {
        let text = r#"
            "func.func"() ({
            ^bb0(%a: !llvm.ptr, %b: !llvm.ptr, %i: i64, %j: i64):
              %0 = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> i32
              %1 = "arith.extui"(%0) : (i32) -> i64
              %2 = "arith.addi"(%1, %j) : (i64, i64) -> i64
              %3 = "xla_gpu.load"(%b, %2) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
              %4 = "xla_gpu.load"(%b, %j) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
              "xla_gpu.store"(%3, %b, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
              "func.return"() : () -> ()
            }) {sym_name = "f", function_type = (!llvm.ptr, !llvm.ptr, i64, i64) -> ()} : () -> ()"#;
        let functions = parse("gathers.mlir", text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(gathers(&functions[0].body), 1);
    }

    /// Returns the restriction for a loop of 32 iterations, each of which reads the first `reads`
    /// elements of a row of `distance` elements.
    fn wish_for_reads(distance: i64, reads: usize) -> LoopWish {
        let read = |at: usize| {
            format!(
                r#"%a{at} = "arith.addi"(%m, %c{at}) : (i64, i64) -> i64
                   %v{at} = "xla_gpu.load"(%a, %a{at}) {{alignment = 4 : i64}} : (!llvm.ptr, i64) -> f32
                   "xla_gpu.store"(%v{at}, %b, %i) {{alignment = 4 : i64}} : (f32, !llvm.ptr, i64) -> ()"#
            )
        };
        let number =
            |name: &str, value: i64| format!(r#"%{name} = "arith.constant"() {{value = {value} : i64}} : () -> i64"#);
        let offsets: String = (0..reads).map(|at| number(&format!("c{at}"), at as i64) + "\n").collect();
        let reads: String = (0..reads).map(|at| read(at) + "\n").collect();
        let [zero, one, end, distance] =
            [("z", 0), ("o", 1), ("e", 32), ("d", distance)].map(|(name, value)| number(name, value));
        let text = format!(
            r#""func.func"() ({{
            ^bb0(%a: !llvm.ptr, %b: !llvm.ptr):
              {zero}
              {one}
              {end}
              {distance}
              {offsets}
              "scf.for"(%z, %e, %o) ({{
              ^bb0(%i: i64):
                %m = "arith.muli"(%i, %d) : (i64, i64) -> i64
                {reads}
                "scf.yield"() : () -> ()
              }}) : (i64, i64, i64) -> ()
              "func.return"() : () -> ()
            }}) {{sym_name = "f", function_type = (!llvm.ptr, !llvm.ptr) -> ()}} : () -> ()"#
        );
        let functions = parse("reads.mlir", &text).unwrap_or_else(|error| panic!("{error}"));
        let mut numbers = HashMap::new();
        let body = &functions[0].body;
        body.walk(&mut |op| {
            numbers.extend(op.attribute("value").and_then(Attribute::as_integer).map(|number| (op.result(), number)));
        });
        let op = body.operations.iter().find(|op| op.kind == OpKind::For).expect("the loop");
        wish(op, &op.regions[0], &functions[0], &|value| numbers.get(&value).copied(), Target::cpu().info())
    }

    #[test]
    fn loops_that_read_parts_of_groups_have_no_remainder() {
        assert_eq!(wish_for_reads(5, 1), LoopWish::NoRemainder);
        assert_eq!(wish_for_reads(8, 7), LoopWish::NoRemainder);
        assert_eq!(wish_for_reads(8, 8), LoopWish::None, "whole groups");
        assert_eq!(wish_for_reads(2, 1), LoopWish::None, "shuffles are faster");
        assert_eq!(wish_for_reads(9, 1), LoopWish::None, "LLVM forms no groups");
    }
}
