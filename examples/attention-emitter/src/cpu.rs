//! Builds the kernel's loops for blocks of one thread.
//!
//! ```text
//! queries of the block, transposed: a vector holds one element of many queries
//! for tile of keys
//!   copy keys and values
//!   for strip of queries, as many as lanes
//!     scores[key]   sum over depth of query * key, then what the host writes
//!     maximum       new one; all so far is scaled by exp(old - new)
//!     scores[key]   exp(score - maximum)
//!     sum, totals   += scores[key], scores[key] * value
//! write totals / sum
//! ```
//!
//! Each lane of a vector computes one query, so no maximum or sum is combined across lanes.
//! Regardless of the sizes of keys and values, only the last strip of queries has idle lanes.

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, OpKind, Scalar, Value};
use fusebox_core::emitter::{EmitError, Fusion, Kernel};

use crate::form::{Attention, Sizes};
use crate::parts::{Of, Parts, larger, subtracted};
use crate::plan::Tiles;

struct Block<'a> {
    parts: Parts<'a>,
    sizes: Sizes,
    tiles: &'a Tiles,
    element: Scalar,
    group: Value,
    first_query: Value,
}

/// Tensors that the loop over tiles carries.
#[derive(Clone, Copy)]
struct State {
    /// `[key, depth]`
    keys: Value,
    /// `[key, feature]`
    values: Value,
    /// `[key, lane]`
    scores: Value,
    /// `[0 or 1, lane]`: row 0 holds the number that is subtracted from the scores, and row 1 holds
    /// the factor that scales the previous sums and totals.
    shift: Value,
    /// `[strip, lane]`
    maxima: Value,
    /// `[strip, lane]`
    sums: Value,
    /// `[strip, feature, lane]`
    totals: Value,
}

impl State {
    const COUNT: usize = 7;

    fn list(self) -> [Value; Self::COUNT] {
        [self.keys, self.values, self.scores, self.shift, self.maxima, self.sums, self.totals]
    }

    fn of(list: &[Value]) -> State {
        let [keys, values, scores, shift, maxima, sums, totals] = std::array::from_fn(|i| list[i]);
        State { keys, values, scores, shift, maxima, sums, totals }
    }
}

pub fn emit(fusion: &Fusion, attention: &Attention, tiles: &Tiles) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let parts = Parts::declare(&mut kernel, fusion, attention);
    let (block, output) = (kernel.block(), kernel.outputs()[0]);
    let b: &mut FunctionBuilder = &mut kernel;
    let place = b.apply_indexing(&tiles.of_block(attention), &[block]);
    let element = attention.computed_in;
    let block = Block { parts, sizes: attention.sizes, tiles, element, group: place[0], first_query: place[1] };
    let written = block.write(b, output);
    kernel.finish(&[written])
}

impl Block<'_> {
    fn write(&self, b: &mut FunctionBuilder, output: Value) -> Value {
        let (lanes, keys) = (self.tiles.lanes, self.tiles.keys);
        let strips = self.tiles.queries / lanes;
        let Sizes { depth, features, .. } = self.sizes;
        let tile = |b: &mut FunctionBuilder, dims: &[i64]| b.allocate_shared(dims, self.element);
        let state = State {
            keys: tile(b, &[keys, depth]),
            values: tile(b, &[keys, features]),
            scores: tile(b, &[keys, lanes]),
            shift: tile(b, &[2, lanes]),
            maxima: tile(b, &[strips, lanes]),
            sums: tile(b, &[strips, lanes]),
            totals: tile(b, &[strips, features, lanes]),
        };
        let (zero, all, step) = (b.index(0), b.index(self.sizes.keys), b.index(keys));
        let queries = b.index(self.sizes.queries);
        let rest = b.subi(queries, self.first_query);
        let count = b.index(self.tiles.queries);
        let count = b.minsi(rest, count);
        let width = b.index(lanes);
        let strips = b.ceildivsi(count, width);
        let queries = self.transposed_queries(b, strips);
        let state = self.start(b, strips, state);
        let state = b.scf_for(zero, all, step, &state.list(), |b, first, state| {
            let rest = b.subi(all, first);
            let count = b.minsi(rest, step);
            let state = self.copied(b, first, count, State::of(state));
            let each = |b: &mut FunctionBuilder, strip: Value, state: &[Value]| {
                let lanes = self.lanes_in_use(b, strip);
                let state = State::of(state);
                let state = self.products(b, queries, strip, count, state);
                let state = self.scores(b, strip, lanes, first, count, state);
                let state = self.softmax(b, strip, count, state);
                self.add_values(b, strip, count, state).list().to_vec()
            };
            self.each(b, strips, &state.list(), each)
        });
        self.results(b, count, State::of(&state), output)
    }

    /// Builds `for i in 0..count`.
    fn each(
        &self,
        b: &mut FunctionBuilder,
        count: Value,
        state: &[Value],
        body: impl FnOnce(&mut FunctionBuilder, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let (zero, one) = (b.index(0), b.index(1));
        b.scf_for(zero, count, one, state, body)
    }

    /// Builds `for i in 0..count` with one tensor as its state.
    fn fill(
        &self,
        b: &mut FunctionBuilder,
        count: Value,
        tensor: Value,
        body: impl FnOnce(&mut FunctionBuilder, Value, Value) -> Value,
    ) -> Value {
        self.each(b, count, &[tensor], |b, i, state| vec![body(b, i, state[0])])[0]
    }

    fn splat(&self, b: &mut FunctionBuilder, value: f64) -> Value {
        let value = b.float(value, self.element);
        b.vector_broadcast(value, self.tiles.lanes)
    }

    fn query(&self, b: &mut FunctionBuilder, strip: Value, lane: Value) -> Value {
        let lanes = b.index(self.tiles.lanes);
        let strip = b.muli(strip, lanes);
        let strip = b.addi(self.first_query, strip);
        b.addi(strip, lane)
    }

    /// Number of queries in a strip. The last strip may have fewer queries than lanes.
    fn lanes_in_use(&self, b: &mut FunctionBuilder, strip: Value) -> Value {
        let (zero, lanes, queries) = (b.index(0), b.index(self.tiles.lanes), b.index(self.sizes.queries));
        let first = self.query(b, strip, zero);
        let rest = b.subi(queries, first);
        b.minsi(rest, lanes)
    }

    /// Returns the queries as a tensor `[strip, depth, lane]`. Lanes without a query repeat the
    /// last query.
    fn transposed_queries(&self, b: &mut FunctionBuilder, strips: Value) -> Value {
        let Sizes { depth, queries, .. } = self.sizes;
        let lanes = self.tiles.lanes;
        let tensor = b.allocate_shared(&[self.tiles.queries / lanes, depth, lanes], self.element);
        let (lanes, depth, last) = (b.index(lanes), b.index(depth), b.index(queries - 1));
        self.fill(b, strips, tensor, |b, strip, tensor| {
            self.fill(b, lanes, tensor, |b, lane, tensor| {
                let query = self.query(b, strip, lane);
                let query = b.minsi(query, last);
                self.fill(b, depth, tensor, |b, depth, tensor| {
                    let element = self.parts.operand(b, Of::Queries, [self.group, query, depth]);
                    b.insert(element, tensor, &[strip, depth, lane])
                })
            })
        })
    }

    fn start(&self, b: &mut FunctionBuilder, strips: Value, state: State) -> State {
        let (zero, features) = (b.index(0), b.index(self.sizes.features));
        let (nothing, lowest) = (self.splat(b, 0.0), self.splat(b, f64::NEG_INFINITY));
        let tensors = [state.maxima, state.sums, state.totals];
        let tensors = self.each(b, strips, &tensors, |b, strip, tensors| {
            let maxima = b.vector_write(lowest, tensors[0], &[strip, zero]);
            let sums = b.vector_write(nothing, tensors[1], &[strip, zero]);
            let totals = self.fill(b, features, tensors[2], |b, feature, totals| {
                b.vector_write(nothing, totals, &[strip, feature, zero])
            });
            vec![maxima, sums, totals]
        });
        State { maxima: tensors[0], sums: tensors[1], totals: tensors[2], ..state }
    }

    /// Copies the tile's keys and values into the loop-carried tensors.
    fn copied(&self, b: &mut FunctionBuilder, first: Value, count: Value, state: State) -> State {
        let mut copy = |of: Of, tensor: Value, size: i64| {
            let size = b.index(size);
            self.fill(b, count, tensor, |b, key, tensor| {
                let from = b.addi(first, key);
                self.fill(b, size, tensor, |b, part, tensor| {
                    let element = self.parts.operand(b, of, [self.group, from, part]);
                    b.insert(element, tensor, &[key, part])
                })
            })
        };
        let keys = copy(Of::Keys, state.keys, self.sizes.depth);
        State { keys, values: copy(Of::Values, state.values, self.sizes.features), ..state }
    }

    /// Computes the dot products of a strip's queries with the tile's keys, several keys at a time.
    /// If the last group of keys is incomplete, repeats the last key.
    fn products(&self, b: &mut FunctionBuilder, queries: Value, strip: Value, count: Value, state: State) -> State {
        let at_once = self.tiles.sums.min(self.tiles.keys);
        let (zero, one, step, depth) = (b.index(0), b.index(1), b.index(at_once), b.index(self.sizes.depth));
        let last = b.subi(count, one);
        let nothing = self.splat(b, 0.0);
        let scores = b.scf_for(zero, count, step, &[state.scores], |b, first, scores| {
            let keys: Vec<Value> = (0..at_once)
                .map(|i| {
                    let i = b.index(i);
                    let key = b.addi(first, i);
                    b.minsi(key, last)
                })
                .collect();
            let sums = self.each(b, depth, &vec![nothing; keys.len()], |b, depth, sums| {
                let query = b.vector_read(queries, &[strip, depth, zero], self.tiles.lanes);
                let key = |b: &mut FunctionBuilder, &key: &Value| b.extract(state.keys, &[key, depth]);
                self.multiplied(b, query, keys.iter(), key, sums)
            });
            let written =
                keys.iter().zip(sums).fold(scores[0], |scores, (&key, sum)| b.vector_write(sum, scores, &[key, zero]));
            vec![written]
        });
        State { scores: scores[0], ..state }
    }

    /// Computes `sum + vector * factor` for each factor and its sum.
    fn multiplied<I>(
        &self,
        b: &mut FunctionBuilder,
        vector: Value,
        factors: impl Iterator<Item = I>,
        factor: impl Fn(&mut FunctionBuilder, I) -> Value,
        sums: &[Value],
    ) -> Vec<Value> {
        let with = |(item, &sum): (I, &Value)| {
            let factor = factor(b, item);
            let factor = b.vector_broadcast(factor, self.tiles.lanes);
            b.fma(vector, factor, sum)
        };
        factors.zip(sums).map(with).collect()
    }

    /// Computes each score by calling the host-generated score function on the product.
    fn scores(
        &self,
        b: &mut FunctionBuilder,
        strip: Value,
        lanes: Value,
        first: Value,
        count: Value,
        state: State,
    ) -> State {
        let scores = self.fill(b, count, state.scores, |b, key, scores| {
            let from = b.addi(first, key);
            self.fill(b, lanes, scores, |b, lane, scores| {
                let query = self.query(b, strip, lane);
                let product = b.extract(scores, &[key, lane]);
                let score = self.parts.score(b, [self.group, query, from], product);
                b.insert(score, scores, &[key, lane])
            })
        });
        State { scores, ..state }
    }

    /// Turns scores into exponentials, and updates the maximum and the sum.
    fn softmax(&self, b: &mut FunctionBuilder, strip: Value, count: Value, state: State) -> State {
        let lanes = self.tiles.lanes;
        let (zero, one, width) = (b.index(0), b.index(1), b.index(lanes));
        let (nothing, lowest) = (self.splat(b, 0.0), self.splat(b, f64::NEG_INFINITY));
        let before = b.vector_read(state.maxima, &[strip, zero], lanes);
        let maximum = self.each(b, count, &[before], |b, key, maximum| {
            let score = b.vector_read(state.scores, &[key, zero], lanes);
            vec![larger(b, maximum[0], score)]
        })[0];
        let maxima = b.vector_write(maximum, state.maxima, &[strip, zero]);
        let shift = subtracted(b, maximum, lowest, nothing);
        let change = b.subf(before, shift);
        let tensor = b.vector_write(shift, state.shift, &[zero, zero]);
        let tensor = b.vector_write(change, tensor, &[one, zero]);
        // By lanes: the host's exponential is scalar; lowering vectorises it in a loop.
        let shift = self.fill(b, width, tensor, |b, lane, tensor| {
            let change = b.extract(tensor, &[one, lane]);
            let factor = b.float_unary(OpKind::Exp, change);
            b.insert(factor, tensor, &[one, lane])
        });
        let scores = self.fill(b, count, state.scores, |b, key, scores| {
            self.fill(b, width, scores, |b, lane, scores| {
                let (score, shift) = (b.extract(scores, &[key, lane]), b.extract(shift, &[zero, lane]));
                let difference = b.subf(score, shift);
                let exponential = b.float_unary(OpKind::Exp, difference);
                b.insert(exponential, scores, &[key, lane])
            })
        });
        let factor = b.vector_read(shift, &[one, zero], lanes);
        let sum = b.vector_read(state.sums, &[strip, zero], lanes);
        let sum = b.mulf(sum, factor);
        let sum = self.each(b, count, &[sum], |b, key, sum| {
            let exponential = b.vector_read(scores, &[key, zero], lanes);
            vec![b.addf(sum[0], exponential)]
        })[0];
        let sums = b.vector_write(sum, state.sums, &[strip, zero]);
        State { scores, shift, maxima, sums, ..state }
    }

    /// Multiplies the values by the exponentials, and adds the products to the totals of a strip's
    /// queries, several features at a time.
    fn add_values(&self, b: &mut FunctionBuilder, strip: Value, count: Value, state: State) -> State {
        let (features, at_once) = (self.sizes.features, self.tiles.sums);
        let whole = features / at_once * at_once;
        let (zero, end, step) = (b.index(0), b.index(whole), b.index(at_once));
        let mut totals = b.scf_for(zero, end, step, &[state.totals], |b, first, totals| {
            vec![self.add_features(b, strip, count, first, at_once, State { totals: totals[0], ..state })]
        })[0];
        if whole < features {
            totals = self.add_features(b, strip, count, end, features - whole, State { totals, ..state });
        }
        State { totals, ..state }
    }

    fn add_features(
        &self,
        b: &mut FunctionBuilder,
        strip: Value,
        count: Value,
        first: Value,
        features: i64,
        state: State,
    ) -> Value {
        let lanes = self.tiles.lanes;
        let (zero, one) = (b.index(0), b.index(1));
        let factor = b.vector_read(state.shift, &[one, zero], lanes);
        let features: Vec<Value> = (0..features)
            .map(|i| {
                let i = b.index(i);
                b.addi(first, i)
            })
            .collect();
        let scaled = features.iter().map(|&feature| {
            let total = b.vector_read(state.totals, &[strip, feature, zero], lanes);
            b.mulf(total, factor)
        });
        let scaled: Vec<Value> = scaled.collect();
        let sums = self.each(b, count, &scaled, |b, key, sums| {
            let exponential = b.vector_read(state.scores, &[key, zero], lanes);
            let value = |b: &mut FunctionBuilder, &feature: &Value| b.extract(state.values, &[key, feature]);
            self.multiplied(b, exponential, features.iter(), value, sums)
        });
        features
            .iter()
            .zip(sums)
            .fold(state.totals, |totals, (&feature, sum)| b.vector_write(sum, totals, &[strip, feature, zero]))
    }

    fn results(&self, b: &mut FunctionBuilder, count: Value, state: State, output: Value) -> Value {
        let (lanes, features) = (b.index(self.tiles.lanes), b.index(self.sizes.features));
        self.fill(b, count, output, |b, number, output| {
            let (strip, lane) = (b.divui(number, lanes), b.remui(number, lanes));
            let query = b.addi(self.first_query, number);
            let sum = b.extract(state.sums, &[strip, lane]);
            self.fill(b, features, output, |b, feature, output| {
                let total = b.extract(state.totals, &[strip, feature, lane]);
                let value = b.divf(total, sum);
                let (value, index) = self.parts.result(b, [self.group, query, feature], value);
                b.insert(value, output, &index)
            })
        })
    }
}
