//! Builds the kernel's loops for blocks of many threads.
//!
//! ```text
//! thread   query = th / sharers, place = th % sharers     sharers threads have one query
//! queries of the block into shared memory
//! for tile of keys
//!   keys and values into shared memory                    barrier
//!   scores of keys place, place + sharers, …              barrier
//!   maximum over all keys of the tile; all so far is scaled by exp(old - new)
//!                                                         barrier
//!   scores become exponentials                            barrier
//!   sum += scores; totals of features place, place + sharers, … += scores * values
//!                                                         barrier
//! write totals / sum
//! ```
//!
//! Each thread of a query computes the query's whole maximum and sum, which takes less time than
//! exchanging partial results between the threads. Rows in shared memory have one element of
//! padding, so that threads that read one column of different rows access different banks.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, OpKind, Scalar, Value};
use fusebox_core::emitter::{EmitError, Fusion, Kernel};
use fusebox_core::indexing::{Expr, IndexingMap, ceil_div};

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
    thread: Value,
    /// Index, within the block, of the query that the thread computes.
    row: Value,
    /// Index of the thread among the threads of its query.
    place: Value,
}

pub fn emit(fusion: &Fusion, attention: &Attention, tiles: &Tiles) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let parts = Parts::declare(&mut kernel, fusion, attention);
    let (block, thread, output) = (kernel.block(), kernel.thread(), kernel.outputs()[0]);
    let b: &mut FunctionBuilder = &mut kernel;
    let of_block = b.apply_indexing(&tiles.of_block(attention), &[block]);
    let of_thread = b.apply_indexing(&split(tiles.threads, tiles.threads_per_query()), &[thread]);
    let block = Block {
        parts,
        sizes: attention.sizes,
        tiles,
        element: attention.computed_in,
        group: of_block[0],
        first_query: of_block[1],
        thread,
        row: of_thread[0],
        place: of_thread[1],
    };
    let written = block.write(b, output);
    kernel.finish(&[written])
}

/// Returns the map `(number) -> (number / by, number % by)`.
fn split(size: i64, by: i64) -> IndexingMap {
    let number = Expr::dim(0);
    IndexingMap::from_tensor_sizes(vec![number.clone().floor_div(by), number.modulo(by)], &[size], &[])
}

impl Block<'_> {
    fn write(&self, b: &mut FunctionBuilder, output: Value) -> Value {
        let Sizes { depth, features, keys, .. } = self.sizes;
        let (tile, queries) = (self.tiles.keys, self.tiles.queries);
        let own_query = b.addi(self.first_query, self.row);
        let query = self.within(b, own_query, self.sizes.queries);
        let rows = b.allocate_shared(&[queries, depth + 1], self.element);
        let rows = self.shared(b, rows, [queries, depth], |b, row, depth| {
            let row = b.addi(self.first_query, row);
            let row = self.within(b, row, self.sizes.queries);
            self.parts.operand(b, Of::Queries, [self.group, row, depth])
        });
        let tensors = [[tile, depth + 1], [tile, features], [queries, tile + 1]];
        let tensors = tensors.map(|dims| b.allocate_shared(&dims, self.element));
        let (zero, lowest) = (b.float(0.0, self.element), b.float(f64::NEG_INFINITY, self.element));
        let totals = ceil_div(features, self.tiles.threads_per_query()) as usize;
        let state = [tensors.as_slice(), &[lowest, zero], &vec![zero; totals]].concat();
        let (start, end, step) = (b.index(0), b.index(keys), b.index(tile));
        let state = b.scf_for(start, end, step, &state, |b, first, state| {
            let keys = self.shared(b, state[0], [tile, depth], |b, key, depth| {
                let key = b.addi(first, key);
                let key = self.within(b, key, self.sizes.keys);
                self.parts.operand(b, Of::Keys, [self.group, key, depth])
            });
            let values = self.shared(b, state[1], [tile, features], |b, key, feature| {
                let key = b.addi(first, key);
                let value_key = self.within(b, key, self.sizes.keys);
                let value = self.parts.operand(b, Of::Values, [self.group, value_key, feature]);
                // The product of zero and an invalid key's value must be zero.
                let is_key = self.is_below(b, key, self.sizes.keys);
                b.select(is_key, value, zero)
            });
            let ready = b.sync_threads(&[rows, keys, values]);
            let (rows, keys, values) = (ready[0], ready[1], ready[2]);
            let scores = self.scores(b, query, first, rows, keys, state[2]);
            let (scores, maximum, factor) = self.exponentials(b, scores, state[3]);
            let sums = self.sums(b, scores, values, factor, &state[4..]);
            let after = b.sync_threads(&[keys, values, scores]);
            [after, vec![maximum], sums].concat()
        });
        self.results(b, own_query, query, state[4], &state[5..], output)
    }

    /// Returns the index, or the last valid index if that is smaller.
    fn within(&self, b: &mut FunctionBuilder, index: Value, size: i64) -> Value {
        let last = b.index(size - 1);
        b.minsi(index, last)
    }

    fn is_below(&self, b: &mut FunctionBuilder, index: Value, size: i64) -> Value {
        let size = b.index(size);
        b.cmpi(IntPredicate::Slt, index, size)
    }

    /// Returns the index of the thread's column number `number` in a row. The thread's columns are
    /// `threads_per_query` apart.
    fn own(&self, b: &mut FunctionBuilder, number: i64) -> Value {
        let distance = b.index(number * self.tiles.threads_per_query());
        b.addi(self.place, distance)
    }

    /// Fills a tensor in shared memory. Adjacent threads fill adjacent columns.
    fn shared(
        &self,
        b: &mut FunctionBuilder,
        tensor: Value,
        [rows, columns]: [i64; 2],
        element: impl FnOnce(&mut FunctionBuilder, Value, Value) -> Value,
    ) -> Value {
        let (end, step) = (b.index(rows * columns), b.index(self.tiles.threads));
        b.scf_for(self.thread, end, step, &[tensor], |b, number, tensor| {
            let at = b.apply_indexing(&split(rows * columns, columns), &[number]);
            let element = element(b, at[0], at[1]);
            vec![b.insert(element, tensor[0], &at)]
        })[0]
    }

    /// Computes the scores of the thread's keys.
    fn scores(
        &self,
        b: &mut FunctionBuilder,
        query: Value,
        first: Value,
        rows: Value,
        keys: Value,
        scores: Value,
    ) -> Value {
        let count = ceil_div(self.tiles.keys, self.tiles.threads_per_query());
        let own: Vec<Value> = (0..count).map(|i| self.own(b, i)).collect();
        let own: Vec<Value> = own.into_iter().map(|key| self.within(b, key, self.tiles.keys)).collect();
        let (zero, one, depth) = (b.index(0), b.index(1), b.index(self.sizes.depth));
        let nothing = b.float(0.0, self.element);
        let products = b.scf_for(zero, depth, one, &vec![nothing; own.len()], |b, depth, sums| {
            let query = b.extract(rows, &[self.row, depth]);
            let with = |(&key, &sum): (&Value, &Value)| {
                let key = b.extract(keys, &[key, depth]);
                b.fma(query, key, sum)
            };
            own.iter().zip(sums).map(with).collect()
        });
        let lowest = b.float(f64::NEG_INFINITY, self.element);
        let scores = own.iter().zip(products).fold(scores, |scores, (&key, product)| {
            let number = b.addi(first, key);
            let known = self.within(b, number, self.sizes.keys);
            let score = self.parts.score(b, [self.group, query, known], product);
            let is_key = self.is_below(b, number, self.sizes.keys);
            let score = b.select(is_key, score, lowest);
            b.insert(score, scores, &[self.row, key])
        });
        b.sync_threads(&[scores])[0]
    }

    /// Computes the exponentials of the tile's scores. Also computes the new maximum, and the
    /// factor that scales the previous sums and totals.
    fn exponentials(&self, b: &mut FunctionBuilder, scores: Value, before: Value) -> (Value, Value, Value) {
        let (zero, one, keys) = (b.index(0), b.index(1), b.index(self.tiles.keys));
        let maximum = b.scf_for(zero, keys, one, &[before], |b, key, maximum| {
            let score = b.extract(scores, &[self.row, key]);
            vec![larger(b, maximum[0], score)]
        })[0];
        let (nothing, lowest) = (b.float(0.0, self.element), b.float(f64::NEG_INFINITY, self.element));
        let shift = subtracted(b, maximum, lowest, nothing);
        let change = b.subf(before, shift);
        let factor = b.float_unary(OpKind::Exp, change);
        let scores = b.sync_threads(&[scores])[0];
        let step = b.index(self.tiles.threads_per_query());
        let scores = b.scf_for(self.place, keys, step, &[scores], |b, key, scores| {
            let score = b.extract(scores[0], &[self.row, key]);
            let difference = b.subf(score, shift);
            let exponential = b.float_unary(OpKind::Exp, difference);
            vec![b.insert(exponential, scores[0], &[self.row, key])]
        });
        (b.sync_threads(&scores)[0], maximum, factor)
    }

    /// Adds the tile's exponentials to the sum, and the products of exponentials and values to the
    /// totals of the thread's features.
    fn sums(
        &self,
        b: &mut FunctionBuilder,
        scores: Value,
        values: Value,
        factor: Value,
        before: &[Value],
    ) -> Vec<Value> {
        let features: Vec<Value> = (0..before.len() as i64 - 1).map(|i| self.own(b, i)).collect();
        let features: Vec<Value> = features.into_iter().map(|it| self.within(b, it, self.sizes.features)).collect();
        let scaled: Vec<Value> = before.iter().map(|&sum| b.mulf(sum, factor)).collect();
        let (zero, one, keys) = (b.index(0), b.index(1), b.index(self.tiles.keys));
        b.scf_for(zero, keys, one, &scaled, |b, key, sums| {
            let exponential = b.extract(scores, &[self.row, key]);
            let mut next = vec![b.addf(sums[0], exponential)];
            for (&feature, &total) in features.iter().zip(&sums[1..]) {
                let value = b.extract(values, &[key, feature]);
                next.push(b.fma(exponential, value, total));
            }
            next
        })
    }

    fn results(
        &self,
        b: &mut FunctionBuilder,
        own_query: Value,
        query: Value,
        sum: Value,
        totals: &[Value],
        output: Value,
    ) -> Value {
        let is_query = self.is_below(b, own_query, self.sizes.queries);
        totals.iter().enumerate().fold(output, |output, (i, &total)| {
            let own = self.own(b, i as i64);
            let feature = self.within(b, own, self.sizes.features);
            let is_feature = self.is_below(b, own, self.sizes.features);
            let is_own = b.andi(is_query, is_feature);
            let value = b.divf(total, sum);
            let (value, index) = self.parts.result(b, [self.group, query, feature], value);
            b.predicated_insert(is_own, value, output, &index)
        })
    }
}
