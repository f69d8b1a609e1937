//! Finds the loops of which LLVM computes several iterations together ("unroll and jam"): the outer
//! loop is unrolled, and the copies of its inner loop become one loop.
//!
//! A product of a matrix and a vector is an example. If each row is a loop of its own, each row
//! reads the whole vector. If one loop computes four rows, it reads the vector once for four rows,
//! and it reads memory at four places at the same time. On Zen 3, a kernel with four rows per loop
//! multiplies 4,096 by 4,096 numbers in 0.71 to 0.95 of the time of one row per loop.

use std::collections::HashSet;

use fusebox_core::ir::{Effect, OpKind, Operation, Region, Type, Value};

/// Numbers of iterations to compute together, in order of preference. A number that divides the
/// number of all iterations needs no other loop for remaining iterations. With more than five
/// iterations, the sums and their operands would not fit into 16 vector registers.
const COUNTS: [i64; 4] = [4, 5, 3, 2];
/// Minimum number of iterations of the outer loop if LLVM needs another loop for remaining
/// iterations.
const LEAST_WITH_REMAINDER: i64 = 16;
/// Minimum number of iterations of the inner loop. A shorter loop ends after a few vectors.
const LEAST_TURNS: i64 = 64;
/// Maximum number of operations of the inner loop. The values of a longer loop would not fit into
/// the registers several times.
const MOST_OPERATIONS: usize = 24;

/// Returns how many iterations of a loop LLVM should compute together, or `None` if LLVM should
/// compute each iteration alone. `number` returns the value of a constant integer.
///
/// The loop must contain one inner loop that computes one sum (or another reduction) of adjacent
/// elements. At least one read of the inner loop must be the same in all iterations of the outer
/// loop, and at least one must not be.
pub(super) fn count(
    op: &Operation,
    body: &Region,
    types: &[Type],
    number: &dyn Fn(Value) -> Option<i64>,
) -> Option<i64> {
    let mut nested = body.operations.iter().filter(|operation| !operation.regions.is_empty());
    let (Some(inner), None) = (nested.next(), nested.next()) else { return None };
    if inner.kind != op.kind || !op.results.is_empty() {
        return None;
    }
    let count = count_for(bounds(op, number))?;
    let mut varying = HashSet::from([*body.arguments.first()?]);
    for operation in &body.operations {
        if !std::ptr::eq(operation, inner) && !is_plain(operation, types) {
            return None;
        }
        follow(operation, &mut varying);
    }
    shares_reads(inner, varying, types, number).then_some(count)
}

/// Returns the number of iterations to compute together of a loop with these bounds. LLVM does not
/// unroll and jam a loop whose number of iterations is an expression such as a minimum, so the
/// bounds must be constants.
fn count_for(bounds: [Option<i64>; 3]) -> Option<i64> {
    let [Some(0), Some(turns), Some(1)] = bounds else { return None };
    let exact = COUNTS.into_iter().find(|count| turns >= *count && turns % count == 0);
    exact.or_else(|| (turns >= LEAST_WITH_REMAINDER).then_some(COUNTS[0]))
}

/// Returns the lower bound, the upper bound and the step of a loop, each if it is a constant.
pub(super) fn bounds(op: &Operation, number: &dyn Fn(Value) -> Option<i64>) -> [Option<i64>; 3] {
    [0, 1, 2].map(|at| op.operands.get(at).and_then(|&bound| number(bound)))
}

/// Whether an operation calls no function and computes scalars.
fn is_plain(op: &Operation, types: &[Type]) -> bool {
    let is_scalar = |value: &Value| !matches!(types[value.number()], Type::Vector(..));
    op.callee().is_none() && op.results.iter().chain(&op.operands).all(is_scalar)
}

/// Adds the results of an operation to a set of values if the set contains one of its operands.
fn follow(op: &Operation, values: &mut HashSet<Value>) {
    if op.operands.iter().any(|operand| values.contains(operand)) {
        values.extend(&op.results);
    }
}

/// Whether an inner loop fulfils the conditions of [`count`]. `varying` are the values outside of
/// the inner loop that are not the same in all iterations of the outer loop.
fn shares_reads(
    inner: &Operation,
    mut varying: HashSet<Value>,
    types: &[Type],
    number: &dyn Fn(Value) -> Option<i64>,
) -> bool {
    let [body] = inner.regions.as_slice() else { return false };
    let Some((&counter, _)) = body.arguments.split_first() else { return false };
    let is_long = matches!(bounds(inner, number), [Some(0), Some(turns), Some(1)] if turns >= LEAST_TURNS);
    if !is_long || inner.results.len() != 1 || body.operations.len() > MOST_OPERATIONS {
        return false;
    }
    // Values that depend on the inner loop's counter, and indices that advance by one with it.
    let (mut counted, mut adjacent) = (HashSet::from([counter]), HashSet::from([counter]));
    let (mut shared, mut own) = (false, false);
    for op in &body.operations {
        let is_read = op.kind == OpKind::Load;
        let has_effect = matches!(op.kind.effect(), Effect::Memory | Effect::Allocates);
        if !op.regions.is_empty() || !is_plain(op, types) || has_effect && !is_read {
            return false;
        }
        if let (true, &[_, at]) = (is_read, op.operands.as_slice())
            && counted.contains(&at)
        {
            if !adjacent.contains(&at) {
                return false;
            }
            *(if varying.contains(&at) { &mut own } else { &mut shared }) = true;
        }
        let steps = op.operands.iter().filter(|operand| counted.contains(operand)).count();
        if op.kind == OpKind::AddI && steps == 1 && op.operands.iter().any(|operand| adjacent.contains(operand)) {
            adjacent.extend(&op.results);
        }
        follow(op, &mut counted);
        follow(op, &mut varying);
    }
    shared && own
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use fusebox_core::ir::Attribute;
    use fusebox_kernel_text::parse;

    use super::*;

    /// Returns [`count`] for a loop over `rows` rows. Each row is the sum of 100 products. `index`
    /// computes `%at`, the index of an element of the matrix, from the row `%r` and the column
    /// `%c`. `factor` is the index of the other factor, and `more` are more operations of the inner
    /// loop.
    fn count_of(rows: &str, index: &str, factor: &str, more: &str) -> Option<i64> {
        let text = format!(
            r#""func.func"() ({{
            ^bb0(%a: !llvm.ptr, %b: !llvm.ptr, %out: !llvm.ptr, %any: i64):
              %c0 = "arith.constant"() {{value = 0 : i64}} : () -> i64
              %c1 = "arith.constant"() {{value = 1 : i64}} : () -> i64
              %c7 = "arith.constant"() {{value = 7 : i64}} : () -> i64
              %c12 = "arith.constant"() {{value = 12 : i64}} : () -> i64
              %c17 = "arith.constant"() {{value = 17 : i64}} : () -> i64
              %c15 = "arith.constant"() {{value = 15 : i64}} : () -> i64
              %c100 = "arith.constant"() {{value = 100 : i64}} : () -> i64
              %zero = "arith.constant"() {{value = 0.0 : f32}} : () -> f32
              "scf.for"(%c0, {rows}, %c1) ({{
              ^bb0(%r: i64):
                %sum = "scf.for"(%c0, %c100, %c1, %zero) ({{
                ^bb0(%c: i64, %before: f32):
                  %row = "arith.muli"(%r, %c100) : (i64, i64) -> i64
                  {index}
                  %x = "xla_gpu.load"(%a, %at) {{alignment = 4 : i64}} : (!llvm.ptr, i64) -> f32
                  %y = "xla_gpu.load"(%b, {factor}) {{alignment = 4 : i64}} : (!llvm.ptr, i64) -> f32
                  %product = "arith.mulf"(%x, %y) : (f32, f32) -> f32
                  {more}
                  %after = "arith.addf"(%before, %product) : (f32, f32) -> f32
                  "scf.yield"(%after) : (f32) -> ()
                }}) : (i64, i64, i64, f32) -> f32
                "xla_gpu.store"(%sum, %out, %r) {{alignment = 4 : i64}} : (f32, !llvm.ptr, i64) -> ()
                "scf.yield"() : () -> ()
              }}) : (i64, i64, i64) -> ()
              "func.return"() : () -> ()
            }}) {{sym_name = "f", function_type = (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()}} : () -> ()"#
        );
        let functions = parse("rows.mlir", &text).unwrap_or_else(|error| panic!("{error}"));
        let function = &functions[0];
        let mut numbers = HashMap::new();
        let number = |op: &Operation| op.attribute("value").and_then(Attribute::as_integer);
        function.body.walk(&mut |op| numbers.extend(number(op).map(|number| (op.result(), number))));
        let outer = function.body.operations.iter().find(|op| !op.regions.is_empty()).expect("the loop");
        count(outer, &outer.regions[0], &function.types, &|value| numbers.get(&value).copied())
    }

    const ADJACENT: &str = r#"%at = "arith.addi"(%row, %c) : (i64, i64) -> i64"#;

    #[test]
    fn rows_that_read_the_same_vector_are_computed_together() {
        assert_eq!(count_of("%c12", ADJACENT, "%c", ""), Some(4));
        assert_eq!(count_of("%c15", ADJACENT, "%c", ""), Some(5));
        assert_eq!(count_of("%c17", ADJACENT, "%c", ""), Some(4), "with a loop for the last row");
        assert_eq!(count_of("%any", ADJACENT, "%c", ""), None, "LLVM would not join them");
        assert_eq!(count_of("%c7", ADJACENT, "%c", ""), None, "too few rows for a second loop");
    }

    #[test]
    fn other_loops_are_left_alone() {
        let columns = r#"%apart = "arith.muli"(%c, %c12) : (i64, i64) -> i64
            %at = "arith.addi"(%row, %apart) : (i64, i64) -> i64"#;
        assert_eq!(count_of("%c12", columns, "%c", ""), None, "elements are not adjacent");
        assert_eq!(count_of("%c12", ADJACENT, "%at", ""), None, "each row reads its own elements");
        let same = r#"%at = "arith.addi"(%c12, %c) : (i64, i64) -> i64"#;
        assert_eq!(count_of("%c12", same, "%c", ""), None, "all rows read the same elements");
        let write = r#""xla_gpu.store"(%x, %out, %at) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()"#;
        assert_eq!(count_of("%c12", ADJACENT, "%c", write), None, "the inner loop writes");
        let many: String =
            (0..20).map(|at| format!(r#"%m{at} = "arith.addf"(%x, %y) : (f32, f32) -> f32"#) + "\n").collect();
        assert_eq!(count_of("%c12", ADJACENT, "%c", &many), None, "too many operations");
    }
}
