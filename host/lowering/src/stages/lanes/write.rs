//! Writes the operations on vectors that replace a loop.

use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Place, Region, Type, Value};
use rustc_hash::FxHashMap;

use super::body::{LaneBody, vectors_of};
use super::forward::part;
use crate::stages::writer::integer;

/// Writes the replacement of one loop.
pub(super) struct LaneWriter<'b, 'o> {
    body: &'b LaneBody<'o>,
    types: &'b mut Vec<Type>,
    op: &'o Operation,
    pub(super) written: Vec<Operation>,
    /// For each loop-carried value, the sum of the pieces written so far, and the number of lanes
    /// of this sum.
    sums: Vec<Option<(Value, i64)>>,
    /// Vectors whose lanes are all equal. The key is the value of a lane and the number of lanes.
    splats: FxHashMap<(Value, i64), Value>,
}

impl<'b, 'o> LaneWriter<'b, 'o> {
    pub(super) fn new(body: &'b LaneBody<'o>, types: &'b mut Vec<Type>, op: &'o Operation) -> Self {
        let sums = vec![None; body.sums.len()];
        LaneWriter { body, types, op, written: Vec::new(), sums, splats: FxHashMap::default() }
    }

    /// Writes a loop over the lanes from `first` to `end`. Each iteration computes `step` lanes,
    /// divided into these pieces.
    pub(super) fn turns(&mut self, [first, end]: [Value; 2], step: i64, pieces: &[[i64; 2]]) {
        let step = self.constant(step);
        let before = std::mem::take(&mut self.written);
        let start = Function::add_value(self.types, self.types[first.number()].clone());
        self.pieces(start, pieces);
        self.splats.clear();
        self.written.push(Operation::new(OpKind::Yield, Vec::new(), Vec::new()));
        let operations = std::mem::replace(&mut self.written, before);
        let body = Region { arguments: vec![start], operations };
        let operands = vec![first, end, step];
        let turns = Operation { regions: vec![body], ..Operation::new(self.op.kind, operands, Vec::new()) };
        self.written.push(Operation { place: self.op.place.clone(), ..turns });
    }

    /// Returns the largest multiple of `step` that is at most `count`, or zero if `count` is
    /// negative. `step` is a power of two.
    pub(super) fn multiple_below(&mut self, count: Value, step: i64) -> Value {
        let [zero, bits] = [0, -step].map(|value| self.constant(value));
        let count = self.binary(OpKind::MaxSI, [count, zero]);
        self.binary(OpKind::AndI, [count, bits])
    }

    /// Writes an operation on two integers of the same type.
    fn binary(&mut self, kind: OpKind, operands: [Value; 2]) -> Value {
        let result = Function::add_value(self.types, self.types[operands[0].number()].clone());
        let binary = Operation::new(kind, operands.to_vec(), vec![result]);
        self.written.push(Operation { place: self.op.place.clone(), ..binary });
        result
    }

    /// Writes pieces. The first lane of a piece is counted from the lane `start`.
    pub(super) fn pieces(&mut self, start: Value, pieces: &[[i64; 2]]) {
        if pieces.is_empty() {
            return;
        }
        let mut shared = FxHashMap::from_iter([(self.body.lane, start)]);
        for op in &self.body.shared {
            let operands = op.operands.iter().map(|&operand| named(&shared, operand)).collect();
            let ty = self.types[op.result().number()].clone();
            let result = self.push(op, operands, Some(ty), None);
            shared.extend(result.map(|result| (op.result(), result)));
        }
        for &piece in pieces {
            self.piece(&shared, piece);
        }
    }

    fn piece(&mut self, shared: &FxHashMap<Value, Value>, [first, lanes]: [i64; 2]) {
        let mut of_lanes: FxHashMap<Value, Value> = FxHashMap::default();
        for op in &self.body.of_lanes {
            let (values, places) = op.operands.split_at(vectors_of(op));
            let mut operands = Vec::with_capacity(op.operands.len());
            for &value in values {
                operands.push(match of_lanes.get(&value) {
                    Some(&vector) => vector,
                    None => self.splat(named(shared, value), lanes, &op.place),
                });
            }
            operands.extend(places.iter().map(|&value| named(shared, value)));
            let ty = op.results.first().map(|result| of(&self.types[result.number()], lanes));
            let offset = (!places.is_empty()).then_some(first);
            let result = self.push(op, operands, ty, offset);
            of_lanes.extend(result.map(|result| (op.result(), result)));
        }
        for number in 0..self.body.sums.len() {
            if let Some(&value) = of_lanes.get(&self.body.sums[number].value) {
                self.add(number, value, lanes);
            }
        }
    }

    /// Adds a piece to a sum. Pieces that are added later have at most as many lanes.
    fn add(&mut self, number: usize, value: Value, lanes: i64) {
        let sum = match self.sums[number].take() {
            Some(sum) => {
                let sum = self.narrowed(number, sum, lanes);
                self.combined(number, sum, value, lanes, None)
            }
            None => value,
        };
        self.sums[number] = Some((sum, lanes));
    }

    /// Adds one half of a sum's lanes to the other half, until the sum has `wanted` lanes.
    fn narrowed(&mut self, number: usize, (mut sum, mut lanes): (Value, i64), wanted: i64) -> Value {
        while lanes > wanted {
            lanes /= 2;
            let halves = [0, lanes].map(|first| self.part(sum, first, lanes));
            sum = self.combined(number, halves[0], halves[1], lanes, None);
        }
        sum
    }

    /// Writes the results of the loop.
    pub(super) fn finish(&mut self) {
        for number in 0..self.sums.len() {
            let Some(sum) = self.sums[number].take() else { continue };
            let sum = self.narrowed(number, sum, 1);
            let start = self.op.operands[3 + number];
            self.combined(number, start, sum, 1, Some(self.op.results[number]));
        }
    }

    /// Combines two values of `lanes` lanes. The operation's result is `result` if the caller
    /// passes a `result`, else a new value.
    fn combined(&mut self, number: usize, one: Value, other: Value, lanes: i64, result: Option<Value>) -> Value {
        let op = self.body.sums[number].op;
        let ty = of(&self.types[op.result().number()], lanes);
        let result = result.unwrap_or_else(|| Function::add_value(self.types, ty));
        let attributes = op.attributes.clone();
        let combined = Operation { attributes, ..Operation::new(op.kind, vec![one, other], vec![result]) };
        self.written.push(Operation { place: op.place.clone(), ..combined });
        result
    }

    /// Returns `lanes` lanes of a vector, from the lane `first` on.
    fn part(&mut self, vector: Value, first: i64, lanes: i64) -> Value {
        let element = self.types[vector.number()].element();
        let result = Function::add_value(self.types, of(&element.into(), lanes));
        let part = match lanes {
            1 => part(OpKind::VectorExtract, vec![vector], ("static_position", vec![first]), result),
            _ => part(OpKind::Shuffle, vec![vector; 2], ("mask", (first..first + lanes).collect()), result),
        };
        self.written.push(Operation { place: self.op.place.clone(), ..part });
        result
    }

    /// Returns a vector with this value in all lanes.
    fn splat(&mut self, value: Value, lanes: i64, place: &Place) -> Value {
        if lanes == 1 {
            return value;
        }
        if let Some(&known) = self.splats.get(&(value, lanes)) {
            return known;
        }
        let ty = of(&self.types[value.number()], lanes);
        let result = Function::add_value(self.types, ty);
        let splat = Operation::new(OpKind::Broadcast, vec![value], vec![result]);
        self.written.push(Operation { place: place.clone(), ..splat });
        self.splats.insert((value, lanes), result);
        result
    }

    /// Returns a constant of the loop variable's type.
    pub(super) fn constant(&mut self, value: i64) -> Value {
        let ty = self.types[self.op.operands[0].number()].clone();
        let result = Function::add_value(self.types, ty.clone());
        self.written.push(integer(value, &ty, result));
        result
    }

    /// Copies an operation with other operands and another type of the result. For an access, adds
    /// `offset` elements to the address.
    fn push(&mut self, op: &Operation, operands: Vec<Value>, ty: Option<Type>, offset: Option<i64>) -> Option<Value> {
        let result = ty.map(|ty| Function::add_value(self.types, ty));
        let mut attributes = op.attributes.clone();
        if let Some(offset) = offset.filter(|&offset| offset != 0) {
            let sum = Attribute::i64(op.integer("offset").unwrap_or(0) + offset);
            match attributes.iter_mut().find(|(name, _)| name == "offset") {
                Some((_, known)) => *known = sum,
                None => attributes.push(("offset".into(), sum)),
            }
        }
        let copy = Operation { attributes, ..Operation::new(op.kind, operands, result.into_iter().collect()) };
        self.written.push(Operation { place: op.place.clone(), ..copy });
        result
    }
}

/// Returns the type of a vector of `lanes` lanes, or the scalar type itself for one lane.
fn of(ty: &Type, lanes: i64) -> Type {
    match ty.as_scalar() {
        Some(element) if lanes > 1 => Type::vector(&[lanes], element),
        Some(element) => Type::Scalar(element),
        None => ty.clone(),
    }
}

fn named(names: &FxHashMap<Value, Value>, value: Value) -> Value {
    names.get(&value).copied().unwrap_or(value)
}
