//! Reductions over the threads of a block. A single call of the builder records these reductions.
//!
//! ```text
//! one warp     shuffles ─> lane 0 writes a tile ─> barrier ─> all threads read it
//! few warps    shuffles in each warp ─> lane 0 writes its part ─> barrier ─> each thread combines all parts
//! more warps   as above to the barrier ─> each lane reads one part ─> then as for one warp
//! ```
//!
//! The threads write each shared-memory tile once before the barrier, and read the tile only after
//! the barrier. A tile therefore needs no second barrier.

use super::{FunctionBuilder, IntPredicate, Subgraph, Type, Value};
use fusebox_indexing::ceil_div;

/// If a group has at most this number of warps, each thread by itself combines the partial results
/// of all warps. If a group has more warps, a second shuffle combines the partial results.
pub const FEW_WARPS: i64 = 8;

/// A division of the threads of a block into groups of adjacent threads. All groups have the same
/// size, and each group computes its own results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadGroups {
    /// Number of groups in the block.
    pub groups: i64,
    /// Number of threads per group. In a group of at most one warp, the number of threads is a
    /// power of two. In a larger group, the number of threads is a multiple of the warp size.
    pub threads: i64,
    /// Number of threads per warp.
    pub warp: i64,
}

/// Position of a thread in its block: the thread's group, and the thread's number in the group.
#[derive(Clone, Copy, Debug)]
pub struct GroupPlace {
    /// Number of the thread's group.
    pub group: Value,
    /// Index of the thread in its group.
    pub thread: Value,
}

/// One thread's partial result of one reduction.
#[derive(Clone, Debug)]
pub struct Partial<'a> {
    /// Function that combines the values of two threads.
    pub combiner: &'a Subgraph,
    /// The thread's values, one per array that the reduction combines.
    pub values: Vec<Value>,
    /// Neutral values of the same types as `values`. Combining a value with a neutral value any
    /// number of times does not change the value.
    pub neutral: Vec<Value>,
}

impl ThreadGroups {
    /// Returns the number of warps that a group occupies. The group may occupy the last warp only
    /// in part.
    pub fn warps(&self) -> i64 {
        ceil_div(self.threads, self.warp)
    }

    /// Returns the number of elements of shared memory that one value of a [`Partial`] needs.
    pub fn tile_elements(&self) -> i64 {
        match self.threads {
            1 => 0,
            _ if self.warps() <= FEW_WARPS => self.groups * self.warps(),
            _ => 2 * self.groups * self.warps(),
        }
    }

    /// Whether shuffles can combine the values of all threads of a warp, and then the partial
    /// results of all warps of a group.
    fn are_possible(&self) -> bool {
        if self.threads <= self.warp {
            self.threads > 0 && self.threads & (self.threads - 1) == 0
        } else {
            self.threads % self.warp == 0 && self.warps() <= self.warp
        }
    }

    /// Returns the dimensions of a shared-memory tile, which holds one partial result per warp of
    /// each group.
    pub fn tile_dims(&self) -> [i64; 2] {
        [self.groups, self.warps()]
    }
}

impl FunctionBuilder {
    /// Combines the partial results of the threads of each group. Every thread of the group gets
    /// all results, one list of values per reduction. All reductions use the same barriers.
    ///
    /// All threads of the block must reach this call, including threads of groups without work. The
    /// plan's `shared_bytes` must have room for all values; each value needs
    /// [`tile_elements`](ThreadGroups::tile_elements) elements.
    ///
    /// ```
    /// use fusebox_core::builder::{GroupPlace, KernelBuilder, Partial, ThreadGroups};
    /// use fusebox_core::emitter::Fusion;
    /// use fusebox_core::hlo::{InstrId, parse_module};
    ///
    /// // Sums 256 elements with a block of 256 threads.
    /// let text = "HloModule m
    /// add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
    /// ENTRY fused {
    ///   p = f32[256] parameter(0)
    ///   zero = f32[] constant(0)
    ///   ROOT sum = f32[] reduce(p, zero), dimensions={0}, to_apply=add
    /// }";
    /// let module = parse_module(text, "sum.hlo").unwrap();
    /// let fusion = Fusion::new("sum", module).unwrap();
    /// let [operand, initial, sum] = [InstrId(0), InstrId(1), InstrId(2)];
    ///
    /// let mut kernel = KernelBuilder::new(&fusion);
    /// let (operand, initial, combiner) = (kernel.values(&[operand]), kernel.values(&[initial]), kernel.combiner(sum));
    /// let (thread, output) = (kernel.thread(), kernel.outputs()[0]);
    /// let place = GroupPlace { group: kernel.index(0), thread };
    /// let values = kernel.call_subgraph(&operand, &[thread], &[]);
    /// let neutral = kernel.call_subgraph(&initial, &[], &[]);
    ///
    /// let groups = ThreadGroups { groups: 1, threads: 256, warp: 32 };
    /// let partial = Partial { combiner: &combiner, values, neutral };
    /// let total = kernel.reduce_across_threads(&groups, place, &[partial])[0][0];
    ///
    /// let (zero, is_first) = (kernel.index(0), kernel.type_of(output).clone());
    /// let first = kernel.cmpi(fusebox_core::builder::IntPredicate::Eq, thread, zero);
    /// let written = kernel.scf_if(first, &[is_first], |b| vec![b.insert(total, output, &[])], |_| vec![output]);
    /// let text = kernel.finish(&written)?.code.to_string();
    /// // Each warp writes its part once. Every thread reads all parts.
    /// assert_eq!(text.matches("xla_gpu.shuffle_reduce").count(), 1);
    /// assert_eq!(text.matches("xla_gpu.sync_threads").count(), 1);
    /// assert!(text.contains("tensor<1x8xf32>"));
    /// # Ok::<(), fusebox_core::emitter::EmitError>(())
    /// ```
    #[track_caller]
    pub fn reduce_across_threads(
        &mut self,
        groups: &ThreadGroups,
        place: GroupPlace,
        partials: &[Partial<'_>],
    ) -> Vec<Vec<Value>> {
        let own = partials.iter().map(|partial| partial.values.clone()).collect();
        if !groups.are_possible() {
            let message =
                "groups are a power of two of threads up to a warp, or up to as many whole warps as a warp has threads";
            self.refuse("reduce_across_threads", message);
        }
        if groups.threads == 1 || !groups.are_possible() {
            return own;
        }
        let across = Across { groups, place, partials };
        let own = across.shuffled(self, own, groups.threads.min(groups.warp));
        if groups.warps() == 1 {
            let (lane, zero) = (place.thread, self.index(0));
            return across.through_tile(self, &own, lane, zero, |b, read| read(b, zero));
        }
        let size = self.index(groups.warp);
        let (warp, lane) = (self.divui(place.thread, size), self.remui(place.thread, size));
        if groups.warps() <= FEW_WARPS {
            return across.through_tile(self, &own, lane, warp, |b, read| {
                let all: Vec<Value> = (0..groups.warps()).map(|warp| b.index(warp)).collect();
                let all = all.into_iter().map(|warp| read(b, warp)).collect();
                across.in_pairs(b, all)
            });
        }
        let own = across.through_tile(self, &own, lane, warp, |b, read| across.part_of_lane(b, lane, read));
        let own = across.shuffled(self, own, (groups.warps() as u64).next_power_of_two() as i64);
        across.through_tile(self, &own, lane, warp, |b, read| read(b, warp))
    }
}

/// One list of values per reduction.
type Values = Vec<Vec<Value>>;
/// Function that reads the partial results of one warp of the thread's group from a tile.
type Read<'r> = dyn FnMut(&mut FunctionBuilder, Value) -> Values + 'r;

struct Across<'a> {
    groups: &'a ThreadGroups,
    place: GroupPlace,
    partials: &'a [Partial<'a>],
}

impl Across<'_> {
    /// Combines the values of `threads` adjacent threads by shuffles. The first of the `threads`
    /// threads receives the result.
    fn shuffled(&self, b: &mut FunctionBuilder, own: Values, threads: i64) -> Values {
        let pairs = self.partials.iter().zip(own);
        pairs.map(|(partial, own)| b.shuffle_reduce(partial.combiner.symbol(), &own, threads / 2)).collect()
    }

    /// Lets the threads with `lane` 0 write their values to a shared-memory tile, as the partial
    /// result of `warp`. After a barrier, all threads execute `use_them`, which reads the tile.
    fn through_tile(
        &self,
        b: &mut FunctionBuilder,
        own: &Values,
        lane: Value,
        warp: Value,
        use_them: impl FnOnce(&mut FunctionBuilder, &mut Read<'_>) -> Values,
    ) -> Values {
        let values = own.concat();
        let types = b.types_of(&values);
        let dims = self.groups.tile_dims();
        let tiles: Vec<Value> = types.iter().map(|ty| b.allocate_shared(&dims, ty.element())).collect();
        let zero = b.index(0);
        let is_first = b.cmpi(IntPredicate::Eq, lane, zero);
        let types: Vec<Type> = b.types_of(&tiles);
        let group = self.place.group;
        let insert = |b: &mut FunctionBuilder| {
            values.iter().zip(&tiles).map(|(&value, &tile)| b.insert(value, tile, &[group, warp])).collect()
        };
        let tiles = b.scf_if(is_first, &types, insert, |_| tiles.clone());
        let tiles = b.sync_threads(&tiles);
        use_them(b, &mut |b, warp| {
            let read: Vec<Value> = tiles.iter().map(|&tile| b.extract(tile, &[group, warp])).collect();
            self.by_reduction(&read)
        })
    }

    /// Reads the partial results of the warp whose number equals `lane`. If the group has no warp
    /// number `lane`, returns the neutral values.
    fn part_of_lane(&self, b: &mut FunctionBuilder, lane: Value, read: &mut Read<'_>) -> Values {
        let warps = self.groups.warps();
        if warps == self.groups.warp {
            return read(b, lane);
        }
        let (count, last) = (b.index(warps), b.index(warps - 1));
        let is_warp = b.cmpi(IntPredicate::Slt, lane, count);
        let nearest = b.minsi(lane, last);
        let found = read(b, nearest).concat();
        let neutral = self.partials.iter().flat_map(|partial| &partial.neutral);
        let chosen: Vec<Value> =
            found.iter().zip(neutral).map(|(&found, &neutral)| b.select(is_warp, found, neutral)).collect();
        self.by_reduction(&chosen)
    }

    /// Combines adjacent values pairwise, then adjacent results, until one result is left.
    fn in_pairs(&self, b: &mut FunctionBuilder, mut all: Vec<Values>) -> Values {
        while all.len() > 1 {
            let combined = all.chunks(2).map(|pair| match pair {
                [one, other] => self.combined(b, one, other),
                rest => rest.concat(),
            });
            all = combined.collect();
        }
        all.pop().unwrap_or_default()
    }

    fn combined(&self, b: &mut FunctionBuilder, one: &Values, other: &Values) -> Values {
        let pairs = self.partials.iter().zip(one.iter().zip(other));
        pairs
            .map(|(partial, (one, other))| b.call_subgraph(partial.combiner, &[], &[&one[..], other].concat()))
            .collect()
    }

    fn by_reduction(&self, values: &[Value]) -> Values {
        let mut values = values.iter().copied();
        self.partials.iter().map(|partial| values.by_ref().take(partial.values.len()).collect()).collect()
    }
}
