//! Emits the kernel for the schedules of a fusion's groups.

use fusebox_core::analysis::ReductionFusion;
use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Type, Value};
use fusebox_core::emitter::{EmitError, Fusion, Kernel};
use fusebox_core::indexing::IndexingMap;

use super::schedule::{GroupSchedule, PartialsTile, all_lanes, ranges_as_dims};
use super::short_sums::{ShortSums, are_rounded};
use crate::body::{PerHero, ReductionBody, StartValues, write};
use crate::dispatch::by_group;

/// Builds the kernel. Each group has separate blocks.
pub fn emit(fusion: &Fusion, reductions: &ReductionFusion, schedules: &[GroupSchedule]) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let bodies: Vec<ReductionBody> =
        reductions.groups.iter().map(|group| ReductionBody::declare(&mut kernel, fusion, group)).collect();
    let counts: Vec<i64> = schedules.iter().map(|schedule| schedule.blocks).collect();
    let (thread, block) = (kernel.thread(), kernel.block());
    let outputs = kernel.outputs().to_vec();
    let written = by_group(&mut kernel, block, &counts, &outputs, &mut |b, group, block, outputs| {
        let writer = GroupEmitter { body: &bodies[group], schedule: &schedules[group], at: [thread, block] };
        writer.group(b, outputs)
    });
    kernel.finish(&written)
}

/// State for emitting one group.
struct GroupEmitter<'a> {
    body: &'a ReductionBody<'a>,
    schedule: &'a GroupSchedule,
    /// The thread, and the block's number within the group.
    at: [Value; 2],
}

/// The accumulators of all heroes, for each lane.
type LaneAccumulators = Vec<PerHero>;

impl GroupEmitter<'_> {
    fn group(&self, b: &mut FunctionBuilder, outputs: &[Value]) -> Vec<Value> {
        let starts = self.body.starts(b);
        let (outputs, lanes) = self.walk(b, &starts, outputs);
        let lanes: LaneAccumulators =
            lanes.into_iter().map(|lane| self.shuffled(b, lane, self.schedule.shuffled)).collect();
        match &self.schedule.tile {
            Some(tile) => self.through_tile(b, tile, &starts, &lanes, outputs),
            None => self.write_lanes(b, &starts, &lanes, outputs),
        }
    }

    /// Emits the phase in which each thread reads elements, writes side outputs and accumulates.
    fn walk(&self, b: &mut FunctionBuilder, starts: &StartValues, outputs: &[Value]) -> (Vec<Value>, LaneAccumulators) {
        let lanes = self.schedule.lanes as usize;
        let map = all_lanes(&self.schedule.walk, self.schedule.lanes);
        let start: LaneAccumulators = vec![starts.start.clone(); lanes];
        let unrolled = &self.schedule.unrolled;
        let split = if are_rounded(self.body.group()) { ShortSums::of(&map, unrolled) } else { None };
        let Some(sums) = split else { return self.accumulate(b, (&map, unrolled), &self.at, outputs, &start) };
        let state = [outputs, &flat(&start)].concat();
        let state = b.indexed_loop(&sums.outer, &self.at, &state, &sums.outer_unrolled, |b, turn, _, state| {
            let (outputs, held) = state.split_at(outputs.len());
            let at = [self.at.as_slice(), turn].concat();
            let (outputs, short) = self.accumulate(b, (&sums.inner, &sums.inner_unrolled), &at, outputs, &start);
            let held = like(&start, held).into_iter().zip(short);
            let held: LaneAccumulators = held.map(|(held, short)| self.body.combine_all(b, &held, &short)).collect();
            [outputs, flat(&held)].concat()
        });
        let (outputs, accumulators) = state.split_at(outputs.len());
        (outputs.to_vec(), like(&start, accumulators))
    }

    /// Combines all elements to which `map` maps the point `at`. Returns the new outputs and
    /// accumulators. Unrolls the range variables in `unrolled`.
    fn accumulate(
        &self,
        b: &mut FunctionBuilder,
        (map, unrolled): (&IndexingMap, &[usize]),
        at: &[Value],
        outputs: &[Value],
        start: &LaneAccumulators,
    ) -> (Vec<Value>, LaneAccumulators) {
        let state = [outputs, &flat(start)].concat();
        let state = b.indexed_loop(map, at, &state, unrolled, |b, _, points, state| {
            let (outputs, accumulators) = state.split_at(outputs.len());
            let mut outputs = outputs.to_vec();
            let mut next: LaneAccumulators = Vec::with_capacity(start.len());
            for (point, accumulators) in points.chunks(3).zip(like(start, accumulators)) {
                let visited = self.body.visit(b, point);
                outputs = write(b, &visited.sides, &outputs);
                next.push(self.body.combine_all(b, &accumulators, &visited.elements));
            }
            [outputs, flat(&next)].concat()
        });
        let (outputs, accumulators) = state.split_at(outputs.len());
        (outputs.to_vec(), like(start, accumulators))
    }

    /// Combines the accumulators of `threads` adjacent threads with shuffles. The result is in the
    /// first of these threads.
    fn shuffled(&self, b: &mut FunctionBuilder, accumulators: PerHero, threads: i64) -> PerHero {
        if threads < 2 {
            return accumulators;
        }
        let combine = |(hero, values): (usize, Vec<Value>)| {
            let combiner = self.body.combiner(hero).symbol().to_owned();
            b.shuffle_reduce(&combiner, &values, threads / 2)
        };
        accumulators.into_iter().enumerate().map(combine).collect()
    }

    /// Writes the results of a group that needs no tile to combine partial results.
    fn write_lanes(
        &self,
        b: &mut FunctionBuilder,
        starts: &StartValues,
        lanes: &LaneAccumulators,
        outputs: Vec<Value>,
    ) -> Vec<Value> {
        let map = all_lanes(&self.schedule.kept, self.schedule.lanes);
        let rank = map.results.len() / lanes.len().max(1);
        b.indexed_loop(&map, &self.at, &outputs, &[], |b, _, kept, outputs| {
            let mut outputs = outputs.to_vec();
            for (kept, totals) in kept.chunks(rank.max(1)).zip(lanes) {
                let writes = self.body.finish(b, starts, kept, totals);
                outputs = write(b, &writes, &outputs);
            }
            outputs
        })
    }

    /// Emits the phase that combines results across warps.
    fn through_tile(
        &self,
        b: &mut FunctionBuilder,
        tile: &PartialsTile,
        starts: &StartValues,
        lanes: &LaneAccumulators,
        outputs: Vec<Value>,
    ) -> Vec<Value> {
        let allocate = |b: &mut FunctionBuilder, value: &Value| {
            let element = b.type_of(*value).element();
            b.allocate_shared(&[tile.columns, tile.pitch], element)
        };
        let values: Vec<Value> = starts.start.concat();
        let tiles: Vec<Value> = values.iter().map(|value| allocate(b, value)).collect();
        let map = all_lanes(&tile.write, self.schedule.lanes);
        let tiles = b.indexed_loop(&map, &self.at, &tiles, &[], |b, _, places, tiles| {
            let mut tiles = tiles.to_vec();
            for (place, accumulators) in places.chunks(2).zip(lanes) {
                for (tile, value) in tiles.iter_mut().zip(accumulators.concat()) {
                    *tile = b.insert(value, *tile, place);
                }
            }
            tiles
        });
        let tiles = b.sync_threads(&tiles);
        let threads = self.schedule.walk.dims[0].bounds.size() as i64;
        if tile.reading >= threads {
            return self.read_tile(b, tile, starts, &tiles, &outputs);
        }
        let reading = b.index(tile.reading);
        let reads = b.cmpi(IntPredicate::Slt, self.at[0], reading);
        let types: Vec<Type> = b.types_of(&outputs);
        b.scf_if(reads, &types, |b| self.read_tile(b, tile, starts, &tiles, &outputs), |_| outputs.clone())
    }

    /// Reads the tile and writes results. If any thread of a warp reads the tile, all threads of
    /// the warp take part in the shuffles.
    fn read_tile(
        &self,
        b: &mut FunctionBuilder,
        tile: &PartialsTile,
        starts: &StartValues,
        tiles: &[Value],
        outputs: &[Value],
    ) -> Vec<Value> {
        let unrolled: Vec<usize> = (0..tile.read.ranges.len()).collect();
        b.indexed_loop(&tile.read, &self.at, outputs, &unrolled, |b, pass, place, outputs| {
            let totals = self.read_column(b, tile, starts, tiles, place);
            let totals = self.shuffled(b, totals, tile.readers);
            let kept: IndexingMap = ranges_as_dims(&self.schedule.kept);
            let point = [self.at.as_slice(), pass].concat();
            b.indexed_loop(&kept, &point, outputs, &[], |b, _, kept, outputs| {
                let writes = self.body.finish(b, starts, kept, &totals);
                write(b, &writes, outputs)
            })
        })
    }

    /// Reads one thread's share of a column's partial results, and combines this share.
    fn read_column(
        &self,
        b: &mut FunctionBuilder,
        tile: &PartialsTile,
        starts: &StartValues,
        tiles: &[Value],
        place: &[Value],
    ) -> PerHero {
        let &[column, first] = place else { return starts.start.clone() };
        let mut total: Option<PerHero> = None;
        for step in 0..tile.steps() {
            let offset = b.index(step * tile.readers);
            let partial = b.addi(first, offset);
            let inside = self.is_inside(b, tile, column, partial, step);
            let mut tiles = tiles.iter();
            let mut read = |start: &Value, tile: &Value| match inside {
                Some(inside) => b.predicated_extract(inside, *start, *tile, &[column, partial]),
                None => b.extract(*tile, &[column, partial]),
            };
            let values: PerHero = starts
                .start
                .iter()
                .map(|starts| starts.iter().zip(tiles.by_ref()).map(|(start, tile)| read(start, tile)).collect())
                .collect();
            total = Some(match total {
                None => values,
                Some(total) => self.body.combine_all(b, &total, &values),
            });
        }
        total.unwrap_or_else(|| starts.start.clone())
    }

    /// Returns whether a partial result exists at the place that a thread reads. Returns `None` if
    /// all threads read places with partial results.
    fn is_inside(
        &self,
        b: &mut FunctionBuilder,
        tile: &PartialsTile,
        column: Value,
        partial: Value,
        step: i64,
    ) -> Option<Value> {
        let groups = tile.reading / tile.readers * tile.passes();
        let mut inside = None;
        if groups > tile.columns {
            let columns = b.index(tile.columns);
            inside = Some(b.cmpi(IntPredicate::Slt, column, columns));
        }
        if (step + 1) * tile.readers > tile.partials {
            let partials = b.index(tile.partials);
            let within = b.cmpi(IntPredicate::Slt, partial, partials);
            inside = Some(match inside {
                Some(inside) => b.andi(inside, within),
                None => within,
            });
        }
        inside
    }
}

fn flat(lanes: &LaneAccumulators) -> Vec<Value> {
    lanes.iter().flatten().flatten().copied().collect()
}

/// Groups values by lane and hero. The number of values per hero is the same as in `shape`.
fn like(shape: &LaneAccumulators, values: &[Value]) -> LaneAccumulators {
    let mut values = values.iter().copied();
    shape.iter().map(|lane| lane.iter().map(|hero| values.by_ref().take(hero.len()).collect()).collect()).collect()
}
