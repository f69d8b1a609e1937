//! Checks that a kernel reads each element of a parameter before it writes the output's element at
//! the same index.

use std::collections::HashSet;

use fusebox_core::ir::{Function, OpKind, Operation, Region, Value};

use super::definitions::{InductionMap, ValueDefinitions};
use super::tensor_tracer::{TensorIndex, TensorTracer};

/// Least number of iterations of a loop that may write a row in-place after an earlier loop has
/// read the row. LLVM unrolls loops over shorter rows completely if it knows that output and input
/// do not alias.
const LONG: i64 = 64;

/// For an index of at most this rank, the check tries all candidate operands of each component.
const MOST_TRIED: usize = 6;

/// Checks the reads of a kernel against its writes of one output.
pub struct ReadOrderCheck<'f> {
    functions: &'f [Function],
    entry: &'f Function,
    /// All SSA values that represent the output.
    output: HashSet<Value>,
    definitions: &'f ValueDefinitions<'f>,
}

impl<'f> ReadOrderCheck<'f> {
    /// Creates a check for a kernel whose entry function is `entry`. `output` contains all SSA
    /// values that represent the output. `definitions` are the definitions of the entry's values.
    pub fn new(
        functions: &'f [Function],
        entry: &'f Function,
        output: HashSet<Value>,
        definitions: &'f ValueDefinitions<'f>,
    ) -> ReadOrderCheck<'f> {
        ReadOrderCheck { functions, entry, output, definitions }
    }

    /// Whether, after each read of a parameter, a region around the read inserts the output's
    /// elements at the same index. Because the kernel writes no element twice, an insertion after
    /// each read implies that the kernel reads each element before it writes the element.
    pub fn precede_writes(&self, parameter: Value) -> bool {
        self.left_over(&self.entry.body, parameter).is_empty()
    }

    /// Returns the operations of a region that read elements of a parameter, and that have no later
    /// counterpart. A counterpart is an operation of the region that inserts the output's elements
    /// at the same indices. Ignores a call that receives the parameter but does not read it.
    fn left_over(&self, region: &'f Region, parameter: Value) -> Vec<&'f Operation> {
        let mut left = Vec::new();
        for (place, op) in region.operations.iter().enumerate() {
            let behind = &region.operations[place + 1..];
            let mut reads: Vec<&'f Operation> =
                op.regions.iter().flat_map(|inner| self.left_over(inner, parameter)).collect();
            if op.operands.contains(&parameter) && !self.reads_nothing(op, parameter) {
                reads.push(op);
            }
            reads.retain(|read| !behind.iter().any(|it| self.inserts(it, &mut Vec::new(), read, parameter)));
            left.extend(reads);
        }
        left
    }

    /// Whether an operation inserts all elements that another operation reads from a tensor.
    /// `around`: the loops around the insertion that begin after the read.
    fn inserts(&self, op: &'f Operation, around: &mut Vec<&'f Operation>, read: &'f Operation, tensor: Value) -> bool {
        match (op.kind, &op.regions[..]) {
            (OpKind::Insert | OpKind::TransferWrite, _) => {
                let is_of_output = op.operands.get(1).is_some_and(|tensor| self.output.contains(tensor));
                is_of_output && self.reads_what_is_inserted(read, tensor, op, around)
            }
            // Each iteration executes all operations of the body.
            (OpKind::For, [body]) if op.results.iter().any(|result| self.output.contains(result)) => {
                around.push(op);
                let inserts = body.operations.iter().any(|inner| self.inserts(inner, around, read, tensor));
                around.pop();
                inserts
            }
            _ => false,
        }
    }

    /// Whether an operation reads only those elements of a tensor that an insertion writes in some
    /// iteration of the loops `around` the insertion.
    fn reads_what_is_inserted(
        &self,
        op: &'f Operation,
        tensor: Value,
        insertion: &Operation,
        around: &[&'f Operation],
    ) -> bool {
        let index = insertion.operands.get(2..).unwrap_or_default();
        if op.kind == OpKind::TransferRead {
            let is_as_wide = || match (op.results.first(), insertion.operands.first()) {
                (Some(&read), Some(&written)) => self.entry.type_of(read) == self.entry.type_of(written),
                _ => false,
            };
            return around.is_empty() && op.operands.get(1..).is_some_and(|at| at.starts_with(index)) && is_as_wide();
        }
        if insertion.kind != OpKind::Insert && !around.is_empty() {
            return false;
        }
        if !around.is_empty() && around.iter().all(|it| self.definitions.count(it).is_none_or(|turns| turns < LONG)) {
            return false;
        }
        self.is_read_at(index, op, tensor, around, &mut Vec::new(), &InductionMap::new())
    }

    /// Whether an operation reads a tensor at only one index, and a write has the same index in
    /// some iterations of the loops around the write. `around` contains the loops around the write.
    /// `found` holds the operands that match the first components of the index.
    fn is_read_at(
        &self,
        index: &[Value],
        op: &'f Operation,
        tensor: Value,
        around: &[&'f Operation],
        found: &mut TensorIndex,
        turns: &InductionMap,
    ) -> bool {
        let Some(&component) = index.get(found.len()) else {
            // A loop that might have no iterations would insert nothing.
            return self.definitions.all_iterate(around, turns)
                && TensorTracer::new(self.functions).is_at(self.entry, op, tensor, found);
        };
        let mut is_read_with = |operand: Option<Value>, turns: &InductionMap| {
            found.push(operand);
            let is_read = self.is_read_at(index, op, tensor, around, found, turns);
            found.pop();
            is_read
        };
        let mut candidates = self.definitions.candidates(component, &op.operands, around, turns);
        if index.len() > MOST_TRIED {
            candidates.truncate(1);
        }
        if candidates.is_empty() {
            is_read_with(None, turns)
        } else {
            candidates.iter().any(|(operand, turns)| is_read_with(Some(*operand), turns))
        }
    }

    /// Whether an operation has a tensor as operand but reads none of its elements.
    fn reads_nothing(&self, op: &'f Operation, tensor: Value) -> bool {
        // No tensor has this many dimensions, so only a call without reads passes this check.
        let rank = op.operands.len() + self.entry.body.arguments.len();
        op.kind == OpKind::PureCall
            && TensorTracer::new(self.functions).is_at(self.entry, op, tensor, &vec![None; rank])
    }
}

#[cfg(test)]
mod tests {
    use fusebox_kernel_text::parse;

    use super::super::output_aliases;
    use super::{ReadOrderCheck, ValueDefinitions};

    /// Prints the loop in which a kernel reads its parameter, or the loop in which it writes its
    /// output. `end`: upper bound of the loop. `index`: operations that compute the indices.
    fn one(reads: bool, end: &str, index: &str) -> String {
        if reads {
            format!(
                r#"%sum = "scf.for"(%zero, {end}, %one, %none) ({{
    ^bb0(%j: index, %before: f32):
      {index}
      %x = "tensor.extract"(%in, %a, %b) : (tensor<64x64xf32>, index, index) -> f32
      %after = "arith.addf"(%before, %x) : (f32, f32) -> f32
      "scf.yield"(%after) : (f32) -> ()
    }}) : (index, index, index, f32) -> f32
"#
            )
        } else {
            format!(
                r#"%row = "scf.for"(%zero, {end}, %one, %rows) ({{
    ^bb0(%k: index, %old: tensor<64x64xf32>):
      {index}
      %new = "tensor.insert"(%none, %old, %c, %d) : (f32, tensor<64x64xf32>, index, index) -> tensor<64x64xf32>
      "scf.yield"(%new) : (tensor<64x64xf32>) -> ()
    }}) : (index, index, index, tensor<64x64xf32>) -> tensor<64x64xf32>
"#
            )
        }
    }

    /// Whether a kernel with two loops per row reads each element before it writes the element.
    fn comes_first(loops: [String; 2]) -> bool {
        let [first, second] = loops;
        let text = format!(
            r#"
"func.func"() ({{
^bb0(%in: tensor<64x64xf32>, %out: tensor<64x64xf32>):
  %zero = "arith.constant"() {{value = 0 : index}} : () -> index
  %one = "arith.constant"() {{value = 1 : index}} : () -> index
  %most = "arith.constant"() {{value = 64 : index}} : () -> index
  %fewer = "arith.constant"() {{value = 63 : index}} : () -> index
  %few = "arith.constant"() {{value = 32 : index}} : () -> index
  %none = "arith.constant"() {{value = 0.0 : f32}} : () -> f32
  %all = "scf.for"(%zero, %most, %one, %out) ({{
  ^bb0(%i: index, %rows: tensor<64x64xf32>):
    {first}    {second}
    "scf.yield"(%row) : (tensor<64x64xf32>) -> ()
  }}) : (index, index, index, tensor<64x64xf32>) -> tensor<64x64xf32>
  "func.return"(%all) : (tensor<64x64xf32>) -> ()
}}) {{sym_name = "kernel", function_type = (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>}} : () -> ()
"#
        );
        let functions = parse("kernel.mlir", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let entry = &functions[0];
        let [parameter, output] = entry.body.arguments[..] else { panic!("{text}") };
        ReadOrderCheck::new(&functions, entry, output_aliases(entry, output), &ValueDefinitions::of(entry))
            .precede_writes(parameter)
    }

    fn copy(to: &str, from: &str) -> String {
        format!(r#"%{to} = "arith.addi"(%{from}, %zero) : (index, index) -> index"#)
    }

    /// Prints operations that compute the indices `names` from other values.
    fn at(names: [&str; 2], values: [&str; 2]) -> String {
        format!("{}\n      {}", copy(names[0], values[0]), copy(names[1], values[1]))
    }

    fn read(end: &str, values: [&str; 2]) -> String {
        one(true, end, &at(["a", "b"], values))
    }

    fn write(end: &str, values: [&str; 2]) -> String {
        one(false, end, &at(["c", "d"], values))
    }

    #[test]
    fn a_row_may_be_read_in_a_loop_before_the_one_that_writes_it() {
        assert!(comes_first([read("%most", ["i", "j"]), write("%most", ["i", "k"])]));
        assert!(comes_first([read("%fewer", ["i", "j"]), write("%most", ["i", "k"])]), "a part of it");
    }

    #[test]
    fn what_another_turn_writes_may_not_be_read() {
        assert!(!comes_first([write("%most", ["i", "k"]), read("%most", ["i", "j"])]), "after it was written");
        assert!(!comes_first([read("%most", ["i", "j"]), write("%fewer", ["i", "k"])]), "more than is written");
        assert!(!comes_first([read("%most", ["j", "i"]), write("%most", ["i", "k"])]), "a column");
        assert!(!comes_first([read("%most", ["i", "j"]), write("%most", ["k", "k"])]), "the diagonal is written");
        assert!(!comes_first([read("%few", ["i", "j"]), write("%few", ["i", "k"])]), "a short row");
    }
}
