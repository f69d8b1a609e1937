//! From what each thread of a row has combined to the row's result, for all of its threads.
//!
//! ```text
//! warp     shuffles over the row's threads ─> lane 0 writes a tile ─> barrier ─> all read it
//! warps    shuffles in each warp ─> lane 0 writes its part ─> barrier ─> all read all parts and combine them
//!          more than a few parts: a part per lane, shuffles in each warp, and the way of a single warp again
//! ```
//!
//! Each tile is written once, before one barrier, and read after it: no second barrier has to protect it. All threads of
//! the block come here, those of rows that do not exist too.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Type, Value};

use super::layout::Layout;
use crate::body::{Body, PerHero, Starts};

/// A thread's place in its block.
#[derive(Clone, Copy)]
pub struct Place {
    /// Its row's number in the block.
    pub row_in_block: Value,
    /// Its number among the threads of the row.
    pub in_row: Value,
}

/// The combiners and the place of one thread.
pub struct Across<'a> {
    pub layout: &'a Layout,
    pub body: &'a Body<'a>,
    pub starts: &'a Starts,
    pub place: Place,
}

impl Across<'_> {
    /// The results of the row, initial values that matter not included.
    pub fn totals(&self, b: &mut FunctionBuilder, own: PerHero) -> PerHero {
        let layout = self.layout;
        if layout.threads == 1 {
            return own;
        }
        let own = self.shuffled(b, own, layout.threads.min(layout.warp));
        let zero = b.index(0);
        if layout.parts() == 1 {
            let lane = self.place.in_row;
            return self.through_tile(b, &own, lane, zero, |b, read| read(b, zero));
        }
        let warp = b.index(layout.warp);
        let (part, lane) = (b.divui(self.place.in_row, warp), b.remui(self.place.in_row, warp));
        if layout.has_few_parts() {
            return self.through_tile(b, &own, lane, part, |b, read| {
                let all = (0..layout.parts()).map(|part| b.index(part)).collect::<Vec<Value>>();
                let all = all.into_iter().map(|part| read(b, part)).collect();
                self.in_pairs(b, all)
            });
        }
        let own = self.through_tile(b, &own, lane, part, |b, read| self.part_of_lane(b, lane, read));
        let own = self.shuffled(b, own, (layout.parts() as u64).next_power_of_two() as i64);
        self.through_tile(b, &own, lane, part, |b, read| read(b, part))
    }

    /// Combines over that many threads next to each other; the first has the result.
    fn shuffled(&self, b: &mut FunctionBuilder, own: PerHero, threads: i64) -> PerHero {
        let combine = |(hero, values): (usize, Vec<Value>)| {
            let combiner = self.body.combiner(hero).symbol().to_owned();
            b.shuffle_reduce(&combiner, &values, threads / 2)
        };
        own.into_iter().enumerate().map(combine).collect()
    }

    /// The values of threads that are `lane` 0, written to `part` of their row; `read` gives any part of the own row.
    fn through_tile(
        &self,
        b: &mut FunctionBuilder,
        own: &PerHero,
        lane: Value,
        part: Value,
        use_parts: impl FnOnce(&mut FunctionBuilder, &mut dyn FnMut(&mut FunctionBuilder, Value) -> PerHero) -> PerHero,
    ) -> PerHero {
        let values = own.concat();
        let types = b.types_of(&values);
        let dims = self.layout.parts_dims();
        let tiles: Vec<Value> = types.iter().map(|ty| b.allocate_shared(&dims, ty.element())).collect();
        let zero = b.index(0);
        let is_first = b.cmpi(IntPredicate::Eq, lane, zero);
        let types: Vec<Type> = b.types_of(&tiles);
        let row = self.place.row_in_block;
        let insert = |b: &mut FunctionBuilder| {
            values.iter().zip(&tiles).map(|(&value, &tile)| b.insert(value, tile, &[row, part])).collect()
        };
        let tiles = b.scf_if(is_first, &types, insert, |_| tiles.clone());
        let tiles = b.sync_threads(&tiles);
        use_parts(b, &mut |b, part| {
            let read = tiles.iter().map(|&tile| b.extract(tile, &[row, part])).collect::<Vec<Value>>();
            like(own, &read)
        })
    }

    /// The part with the lane's number; what changes nothing, where there are fewer.
    fn part_of_lane(
        &self,
        b: &mut FunctionBuilder,
        lane: Value,
        read: &mut dyn FnMut(&mut FunctionBuilder, Value) -> PerHero,
    ) -> PerHero {
        let parts = self.layout.parts();
        if parts == self.layout.warp {
            return read(b, lane);
        }
        let (count, last) = (b.index(parts), b.index(parts - 1));
        let is_part = b.cmpi(IntPredicate::Slt, lane, count);
        let nearest = b.minsi(lane, last);
        let found = read(b, nearest).concat();
        let start = self.starts.start.concat();
        let chosen: Vec<Value> = found.iter().zip(&start).map(|(&own, &start)| b.select(is_part, own, start)).collect();
        like(&self.starts.start, &chosen)
    }

    /// Combines neighbours, then neighbouring results, …
    fn in_pairs(&self, b: &mut FunctionBuilder, mut all: Vec<PerHero>) -> PerHero {
        while all.len() > 1 {
            let pairs = all.chunks(2);
            let combined = pairs.map(|pair| match pair {
                [one, other] => self.body.combine_all(b, one, other),
                rest => rest.concat(),
            });
            all = combined.collect();
        }
        all.pop().unwrap_or_else(|| self.starts.start.clone())
    }
}

/// Values in the arrangement of `shape`.
pub fn like(shape: &PerHero, values: &[Value]) -> PerHero {
    let mut values = values.iter().copied();
    shape.iter().map(|hero| values.by_ref().take(hero.len()).collect()).collect()
}
