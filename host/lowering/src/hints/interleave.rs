//! Finds the loops whose vectors LLVM interleaves: each iteration of the vectorised loop computes
//! several vectors, one operation after the other for all of them.
//!
//! The operations of a math function depend on each other. While one operation waits for the
//! preceding one, a processor executes operations of later iterations, but its window holds few
//! iterations of a long body. If the loop is interleaved, the processor can execute an operation of
//! another vector at once. By its own heuristics, LLVM interleaves only short bodies and sums. On
//! Zen 4, functions of 131,072 numbers in the caches take 0.80 of the time with AVX2, and 0.89 with
//! AVX-512 (geometric means of 45 functions).

use fusebox_core::ir::{Function, OpKind, Operation, Region, Scalar, Type, Value};
use rustc_hash::FxHashMap;

use super::jam;
use crate::{launch, math};

/// Numbers of vectors per iteration, in order of preference. LLVM ignores numbers that are not
/// powers of two.
const COUNTS: [i64; 3] = [8, 4, 2];
/// Maximum number of vectors per iteration. With 8 vectors, the values of functions of f32 or f64
/// do not fit in the registers: on Zen 5 with AVX2, such functions take 1.04 (f32) and 1.00 (f64)
/// of the time.
const MOST: i64 = 4;
/// Maximum number of vectors if the elements have at most two bytes and the body calls a math
/// function. LLVM reads half a vector of such elements. On Zen 5, functions of bf16 take 0.92 of
/// the time with AVX2, and 0.95 with AVX-512, compared with 4 vectors. A softmax takes 0.78 and
/// 0.90, compared with the number that LLVM chooses. Bodies without functions only take longer to
/// compile.
const MOST_OF_SHORT: i64 = 8;
/// Widest vector register, in bytes. LLVM may choose narrower ones.
const WIDEST: i64 = 64;
/// Minimum length of the longest chain of dependent operations. If chains are shorter, the window
/// of a processor holds enough iterations.
const LEAST_CHAIN: u32 = 16;
/// Approximate length of the chain of a math function.
const CHAIN_OF_FUNCTION: u32 = 16;
/// Minimum number of iterations if the iterations do not fill the vectors, for up to [`MOST`]
/// vectors. The loop for remaining iterations then takes little of the time.
const LEAST_WITH_REMAINDER: i64 = 512;
/// Maximum number of operations of a body. The copies of a longer body take long to compile.
const MOST_OPERATIONS: usize = 256;
/// Minimum size of a kernel's arrays, in bytes. Compiling the copies takes a few milliseconds. With
/// smaller arrays, thousands of executions would not save this time.
const LEAST_BYTES: i64 = 1 << 19;
/// Minimum size if there are more than [`MOST`] vectors.
const LEAST_BYTES_OF_SHORT: i64 = 1 << 21;

/// Returns how many vectors LLVM should compute in one iteration of a loop, or `None` if LLVM
/// decides. `number` returns the value of a constant integer.
///
/// The body of the loop must be straight-line code with long chains of operations on elements. The
/// number of iterations must fill the vectors, or be so large that the loop for remaining
/// iterations takes little of the time. A loop that carries values must access only short elements
/// and call a math function, like the loop over exponentials in a softmax of bf16.
pub(super) fn count(
    op: &Operation,
    body: &Region,
    function: &Function,
    number: &dyn Fn(Value) -> Option<i64>,
) -> Option<i64> {
    let [Some(0), turns, Some(1)] = jam::bounds(op, number) else { return None };
    if body.operations.len() > MOST_OPERATIONS
        || launch::bytes_of_arguments(function) < LEAST_BYTES
        || longest_chain(body, &function.types)? < LEAST_CHAIN
    {
        return None;
    }
    let element = widest_element(body, &function.types)?;
    let is_short = element <= 2 && calls_function(body) && launch::bytes_of_arguments(function) >= LEAST_BYTES_OF_SHORT;
    // LLVM interleaves other loops that carry values by itself.
    if !op.results.is_empty() && !is_short {
        return None;
    }
    let (lanes, most) = (WIDEST / element, if is_short { MOST_OF_SHORT } else { MOST });
    let longest = turns.or_else(|| constant_in_minimum(*op.operands.get(1)?, function, number))?;
    let mut counts = COUNTS.into_iter().filter(|&count| count <= most);
    counts.find(|count| {
        let fills = turns.is_some_and(|turns| turns > 0 && turns % (count * lanes) == 0);
        fills || longest >= LEAST_WITH_REMAINDER * count.max(&MOST) / MOST
    })
}

/// Returns the constant if a value is the minimum of a constant and another number. In loops over
/// blocks, the constant is the size of all blocks but the last one.
fn constant_in_minimum(value: Value, function: &Function, number: &dyn Fn(Value) -> Option<i64>) -> Option<i64> {
    let mut constant = None;
    function.body.walk(&mut |op| {
        if op.kind == OpKind::MinSI && op.results.first() == Some(&value) {
            constant = op.operands.iter().find_map(|&operand| number(operand));
        }
    });
    constant
}

/// Returns the length of the longest chain of operations on elements in which each operation
/// depends on the preceding one. Returns `None` if the body contains anything but operations on
/// scalars.
fn longest_chain(body: &Region, types: &[Type]) -> Option<u32> {
    let mut lengths: FxHashMap<Value, u32> = FxHashMap::default();
    for op in &body.operations {
        let before = op.operands.iter().filter_map(|operand| lengths.get(operand)).max().copied().unwrap_or(0);
        let own = length(op)?;
        for &result in &op.results {
            match types[result.number()] {
                // An index. Elements of this type are left out, because the type is the same.
                Type::Scalar(Scalar::Int(64)) => {}
                Type::Scalar(_) => {
                    lengths.insert(result, before + own);
                }
                _ => return None,
            }
        }
    }
    lengths.into_values().max()
}

/// Returns the approximate length of the chain of operations that computes an operation. Returns
/// `None` if the operation has regions or calls a function that is not from the math library.
/// Comparisons and selections take one cycle each, and chains of them ran no faster with several
/// vectors.
fn length(op: &Operation) -> Option<u32> {
    match op.callee() {
        Some(callee) if math::has_long_chain(callee) => Some(CHAIN_OF_FUNCTION),
        Some(callee) => math::symbol(callee).map(|_| 1),
        None if !op.regions.is_empty() => None,
        None => Some(if matches!(op.kind, OpKind::CmpF | OpKind::CmpI | OpKind::Select) { 0 } else { 1 }),
    }
}

/// Whether a body calls a math function with a long chain of operations.
fn calls_function(body: &Region) -> bool {
    body.operations.iter().filter_map(Operation::callee).any(math::has_long_chain)
}

/// Returns the size in bytes of the widest element that a body reads or writes. This size
/// determines the number of lanes of LLVM's vectors.
fn widest_element(body: &Region, types: &[Type]) -> Option<i64> {
    let accessed = |op: &Operation| match op.kind {
        OpKind::Load => op.results.first().copied(),
        OpKind::Store => op.operands.first().copied(),
        _ => None,
    };
    let sizes = body.operations.iter().filter_map(accessed).map(|value| types[value.number()].element().byte_size());
    sizes.max().map(|size| size as i64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use fusebox_core::ir::Attribute;
    use fusebox_kernel_text::parse;

    use super::*;

    /// Returns [`count`] for a loop of `turns` iterations in a kernel whose arrays have `bytes`
    /// bytes each. `body` computes `%y`, which is stored, from `%x`. Both have the type `ty`.
    fn count_of(turns: i64, bytes: i64, ty: &str, body: &str) -> Option<i64> {
        let number = format!(r#"%turns = "arith.constant"() {{value = {turns} : i64}} : () -> i64"#);
        count_up_to(&number, bytes, ty, body)
    }

    /// Like [`count_of`]. `end` computes the number of iterations, `%turns`, from `%rest`.
    fn count_up_to(end: &str, bytes: i64, ty: &str, body: &str) -> Option<i64> {
        let text = format!(
            r#""func.func"() ({{
            ^bb0(%a: !llvm.ptr, %out: !llvm.ptr, %rest: i64):
              %c0 = "arith.constant"() {{value = 0 : i64}} : () -> i64
              %c1 = "arith.constant"() {{value = 1 : i64}} : () -> i64
              {end}
              "scf.for"(%c0, %turns, %c1) ({{
              ^bb0(%n: i64):
                %x = "xla_gpu.load"(%a, %n) {{alignment = 4 : i64}} : (!llvm.ptr, i64) -> {ty}
                {body}
                "xla_gpu.store"(%y, %out, %n) {{alignment = 4 : i64}} : ({ty}, !llvm.ptr, i64) -> ()
                "scf.yield"() : () -> ()
              }}) : (i64, i64, i64) -> ()
              "func.return"() : () -> ()
            }}) {{sym_name = "f", function_type = (!llvm.ptr, !llvm.ptr, i64) -> (),
                  arg_attrs = [{{fusebox.bytes = {bytes} : i64}}, {{fusebox.bytes = {bytes} : i64}}, {{}}]}} : () -> ()"#
        );
        let functions = parse("chain.mlir", &text).unwrap_or_else(|error| panic!("{error}"));
        let function = &functions[0];
        let mut numbers = HashMap::new();
        let number = |op: &Operation| op.attribute("value").and_then(Attribute::as_integer);
        function.body.walk(&mut |op| numbers.extend(number(op).map(|number| (op.result(), number))));
        let op = function.body.operations.iter().find(|op| op.kind == OpKind::For).expect("the loop");
        count(op, &op.regions[0], function, &|value| numbers.get(&value).copied())
    }

    fn call(name: &str, ty: &str) -> String {
        format!(r#"%y = "func.call"(%x) {{callee = @{name}}} : ({ty}) -> {ty}"#)
    }

    /// Returns products of f32 of which each depends on the preceding one.
    fn chain(length: usize) -> String {
        chain_of("arith.mulf", "f32", length)
    }

    /// Returns operations on numbers of type `ty` of which each depends on the preceding one.
    fn chain_of(operation: &str, ty: &str, length: usize) -> String {
        let value = |at: usize| match at {
            0 => "%x".to_owned(),
            at if at == length => "%y".to_owned(),
            at => format!("%v{at}"),
        };
        let step =
            |at| format!(r#"{} = "{operation}"({}, %x) : ({ty}, {ty}) -> {ty}"#, value(at + 1), value(at)) + "\n";
        (0..length).map(step).collect()
    }

    const LARGE: i64 = LEAST_BYTES / 2;

    #[test]
    fn functions_of_large_arrays_are_interleaved() {
        let tanh = call("fusebox_tanh_f32", "f32");
        assert_eq!(count_of(1024, LARGE, "f32", &tanh), Some(4));
        assert_eq!(count_of(96, LARGE, "f32", &tanh), Some(2), "four vectors of 16 lanes would leave a remainder");
        assert_eq!(count_of(100, LARGE, "f32", &tanh), None, "every number of vectors leaves a remainder");
        assert_eq!(count_of(1000, LARGE, "f32", &tanh), Some(4), "the remainder matters little");
        assert_eq!(count_of(300, LARGE, "f32", &tanh), None, "the remainder would matter");
        assert_eq!(count_of(32, LARGE, "f64", &call("fusebox_tanh_f64", "f64")), Some(4), "vectors of 8 lanes");
        assert_eq!(count_of(1024, LARGE - 1, "f32", &tanh), None, "small arrays");
        assert_eq!(count_of(1024, LARGE, "f32", &call("other", "f32")), None, "a function of unknown length");
    }

    #[test]
    fn short_elements_fill_more_vectors() {
        let large = LEAST_BYTES_OF_SHORT / 2;
        let tanh = r#"%w = "arith.extf"(%x) : (bf16) -> f32
                      %v = "func.call"(%w) {callee = @fusebox_tanh_f32} : (f32) -> f32
                      %y = "arith.truncf"(%v) : (f32) -> bf16"#;
        assert_eq!(count_of(1024, large, "bf16", tanh), Some(8));
        assert_eq!(count_of(1024, large - 1, "bf16", tanh), Some(4), "small arrays");
        assert_eq!(count_of(128, large, "bf16", tanh), Some(4), "eight vectors of 32 lanes would leave a remainder");
        assert_eq!(count_of(1000, large, "bf16", tanh), Some(4), "the remainder of eight vectors would matter");
        assert_eq!(count_of(1024, large, "f32", &call("fusebox_tanh_f32", "f32")), Some(4));
        let products = chain_of("arith.muli", "i16", LEAST_CHAIN as usize);
        assert_eq!(count_of(1024, large, "i16", &products), Some(4), "no function");
    }

    #[test]
    fn the_size_of_most_blocks_counts() {
        let tanh = call("fusebox_tanh_f32", "f32");
        let minimum = |most: i64| {
            format!(
                r#"%most = "arith.constant"() {{value = {most} : i64}} : () -> i64
                   %turns = "arith.minsi"(%most, %rest) : (i64, i64) -> i64"#
            )
        };
        assert_eq!(count_up_to(&minimum(2000), LARGE, "f32", &tanh), Some(4));
        assert_eq!(count_up_to(&minimum(64), LARGE, "f32", &tanh), None);
        let unknown = r#"%turns = "arith.addi"(%rest, %c1) : (i64, i64) -> i64"#;
        assert_eq!(count_up_to(unknown, LARGE, "f32", &tanh), None);
    }

    #[test]
    fn only_long_chains_are_interleaved() {
        assert_eq!(count_of(1024, LARGE, "f32", &chain(LEAST_CHAIN as usize)), Some(4));
        assert_eq!(count_of(1024, LARGE, "f32", &chain(4)), None);
        assert_eq!(count_of(1024, LARGE, "f32", &chain(MOST_OPERATIONS)), None);
        assert_eq!(count_of(1024, LARGE, "f32", &call("fusebox_rsqrt_f32", "f32")), None);
    }
}
