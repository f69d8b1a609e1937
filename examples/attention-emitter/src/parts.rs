//! The functions that the host generates. Kernels for attentions of the same sizes and type differ
//! only in these functions.

use fusebox_core::builder::{FloatPredicate, FunctionBuilder, KernelBuilder, Scalar, Subgraph, Value};
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::InstrId;

use crate::form::{Attention, Operand};

/// An operand of the dots.
#[derive(Clone, Copy)]
pub enum Of {
    Queries,
    Keys,
    Values,
}

/// Declared functions. The methods of `Parts` convert between the types of the declared functions
/// and the type in which the kernel computes.
pub struct Parts<'a> {
    attention: &'a Attention,
    operands: [(Subgraph, &'a Operand); 3],
    scores: Subgraph,
    root: Subgraph,
    /// Element types of the dots.
    first: Scalar,
    second: Scalar,
}

impl<'a> Parts<'a> {
    pub fn declare(kernel: &mut KernelBuilder<'_>, fusion: &Fusion, attention: &'a Attention) -> Parts<'a> {
        let element = |id: InstrId| {
            let array = fusion.computation().instruction(id).shape.as_array();
            array.map_or(attention.computed_in, |array| Scalar::of_element(array.element_type))
        };
        let operands = [&attention.queries, &attention.keys, &attention.values];
        Parts {
            attention,
            operands: operands.map(|operand| (kernel.values(&[operand.instruction]), operand)),
            scores: kernel.epilogue(&[attention.scores], &[attention.first]),
            root: kernel.epilogue(&[attention.root], &[attention.second]),
            first: element(attention.first),
            second: element(attention.second),
        }
    }

    /// Computes an element of a query at `(group, query, depth)`, of a key at `(group, key,
    /// depth)`, or of a value at `(group, key, feature)`.
    pub fn operand(&self, b: &mut FunctionBuilder, of: Of, point: [Value; 3]) -> Value {
        let (subgraph, operand) = &self.operands[of as usize];
        let index = b.apply_indexing(&operand.at, &point);
        let found = b.call_subgraph(subgraph, &index, &[]);
        as_type(b, found[0], self.attention.computed_in)
    }

    /// Computes the score at `(group, query, key)` from the product of query and key.
    pub fn score(&self, b: &mut FunctionBuilder, point: [Value; 3], product: Value) -> Value {
        let index = b.apply_indexing(&self.attention.scores_at, &point);
        let product = as_type(b, product, self.first);
        let found = b.call_subgraph(&self.scores, &index, &[product]);
        as_type(b, found[0], self.attention.computed_in)
    }

    /// Computes the result's element at `(group, query, feature)` from the element of the second
    /// dot. Also returns the index of the result's element.
    pub fn result(&self, b: &mut FunctionBuilder, point: [Value; 3], value: Value) -> (Value, Vec<Value>) {
        let index = b.apply_indexing(&self.attention.root_at, &point);
        let value = as_type(b, value, self.second);
        (b.call_subgraph(&self.root, &index, &[value])[0], index)
    }
}

/// Returns the larger of a running maximum and a score. Skips a score that is NaN, because its
/// exponential makes the sum NaN anyway.
pub fn larger(b: &mut FunctionBuilder, maximum: Value, score: Value) -> Value {
    let is_larger = b.cmpf(FloatPredicate::Ogt, score, maximum);
    b.select(is_larger, score, maximum)
}

/// Returns the number to subtract from scores: their maximum, or zero if all are minus infinity. If
/// all scores are minus infinity, the attention's result is zero divided by zero: NaN, as in the
/// program.
pub fn subtracted(b: &mut FunctionBuilder, maximum: Value, infinity: Value, zero: Value) -> Value {
    let is_empty = b.cmpf(FloatPredicate::Oeq, maximum, infinity);
    b.select(is_empty, zero, maximum)
}

fn as_type(b: &mut FunctionBuilder, value: Value, to: Scalar) -> Value {
    match b.type_of(value).as_scalar() {
        Some(from) if from.bits() < to.bits() => b.extf(value, to),
        Some(from) if from.bits() > to.bits() => b.truncf(value, to),
        _ => value,
    }
}
