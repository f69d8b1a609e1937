//! A deterministic schedule for blocks of many threads, for scatters in which any two slices either
//! coincide or do not overlap. A block owns rows of the output. The threads of the block list the
//! slices that update these rows, and apply the listed slices in order.
//!
//! An index vector identifies a row. The row's number is the row-major position of the index vector
//! in the dimensions that index vectors address. Each element of a row belongs to one thread, so
//! that only accesses to the lists need barriers.

use fusebox_core::analysis::{OperandDim, ScatterShape, SliceStart};
use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions, Work};
use fusebox_core::indexing::{
    Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize, dim_exprs, linearize,
};
use fusebox_core::launch::Balance;

use crate::body::ScatterBody;
use crate::problem::ScatterProblem;
use crate::schedule::{ScatterSchedule, runtime_starts};

/// Number of threads of a block, a power of two.
const THREADS: i64 = 256;
/// Number of slices that each thread examines per iteration.
const LOOKS: i64 = 4;
/// Number of slices that a block lists at a time.
pub const SLICES_PER_LIST: i64 = THREADS * LOOKS;
/// Cost of examining a slice, as a number of additions.
const LOOK: f64 = 8.0;
/// Number of barriers per iteration: for the running totals, after the list is written, and after
/// the list is read.
const WAITS: i64 = THREADS.ilog2() as i64 + 2;

/// Distribution of rows over blocks.
pub struct GatheredScatter {
    /// Sizes of the dimensions that index vectors address, in the order of the index vectors'
    /// components.
    sizes: Vec<i64>,
    /// Operand dimensions that updates span, with their sizes, in the order of the updates'
    /// dimensions.
    window: Vec<(usize, i64)>,
    rows: i64,
    rows_per_block: i64,
    slices: i64,
    row: i64,
}

/// Data in shared memory: two rows of running counts, and the list of slices with their rows.
#[derive(Clone, Copy)]
struct SharedLists {
    counts: Value,
    slices: Value,
    rows: Value,
}

impl ScatterSchedule for GatheredScatter {
    fn check(problem: &ScatterProblem, device: &DeviceDescription) -> Result<(), Decline> {
        GatheredScatter::of(problem, device).map(drop)
    }

    fn new(problem: &ScatterProblem, device: &DeviceDescription, _: &Configuration) -> Result<Self, EmitError> {
        Ok(GatheredScatter::of(problem, device)?)
    }

    fn launch(&self) -> LaunchDimensions {
        let blocks = ceil_div(self.rows, self.rows_per_block).max(1);
        LaunchDimensions { blocks: blocks as u64, threads_per_block: THREADS as u32 }
    }

    /// Returns the map `(th, bl)[slice, step]{starts…} -> index of the output`. In the map, `th` is
    /// the thread that applies the update.
    fn map(&self, shape: &ScatterShape) -> IndexingMap {
        let (lanes, groups) = self.groups();
        let steps = ceil_div(self.row, lanes);
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", THREADS), Variable::named("bl", self.launch().blocks as i64)],
            ranges: vec![Variable::named("slice", self.slices), Variable::named("step", steps)],
            ..IndexingMap::default()
        };
        let starts = runtime_starts(&mut map, shape);
        let element = Expr::range(1) * lanes + Expr::dim(0).modulo(lanes);
        let own = linearize(&starts, &self.sizes) - Expr::dim(1) * self.rows_per_block;
        let group = own.clone().modulo(groups) - Expr::dim(0).floor_div(lanes);
        map.constraints.push(Constraint { expr: own, bounds: Interval::from_size(self.rows_per_block) });
        map.constraints.push(Constraint { expr: group, bounds: Interval::from_size(1) });
        map.constraints.push(Constraint { expr: element.clone(), bounds: Interval::from_size(self.row) });
        map.results = shape.landing(&[], &self.coordinates(shape, &element), &starts);
        map
    }

    fn note(&self) -> String {
        format!(
            "a block owns {} rows, lists the slices that update them, and applies these in order",
            self.rows_per_block
        )
    }

    fn work(&self, problem: &ScatterProblem) -> Work {
        let looks = self.launch().blocks as f64 * self.slices as f64;
        let turns = ceil_div(self.slices, SLICES_PER_LIST);
        Work {
            additions: looks * LOOK + problem.combined_elements() as f64,
            waits: (turns * WAITS) as f64,
            ..Work::default()
        }
    }

    fn shared_bytes(&self, _: &ScatterProblem) -> u32 {
        shared_bytes() as u32
    }

    fn emit(&self, kernel: &mut KernelBuilder, body: &ScatterBody, outputs: &[Value]) -> Vec<Value> {
        let (thread, block) = (kernel.thread(), kernel.block());
        let tiles = SharedLists {
            counts: kernel.allocate_shared(&[2, THREADS], Scalar::I32),
            slices: kernel.allocate_shared(&[THREADS * LOOKS], Scalar::I32),
            rows: kernel.allocate_shared(&[THREADS * LOOKS], Scalar::I32),
        };
        let rows_per_block = kernel.index(self.rows_per_block);
        let first_row = kernel.muli(block, rows_per_block);
        let (zero, end, step) = (kernel.index(0), kernel.index(self.slices), kernel.index(THREADS * LOOKS));
        let state = [tiles.all(), outputs.to_vec()].concat();
        let state = kernel.scf_for(zero, end, step, &state, |b, first, state| {
            let (tiles, outputs) = SharedLists::split(state);
            let (count, tiles) = self.list(b, body, (thread, first, first_row), tiles);
            let outputs = self.apply(b, body, (thread, count, first_row), tiles, outputs);
            // Threads write the lists again only after all threads have read the lists.
            let tiles = b.sync_threads(&tiles.all());
            [tiles, outputs].concat()
        });
        SharedLists::split(&state).1.to_vec()
    }
}

impl GatheredScatter {
    /// Returns the schedule. Declines if slices may overlap without coinciding, or if a block of
    /// the device is too small for the lists.
    pub fn of(problem: &ScatterProblem, device: &DeviceDescription) -> Result<Self, Decline> {
        let shape = &problem.shape;
        let is_row = |dim: &OperandDim| match dim.start {
            SliceStart::Zero => true,
            SliceStart::Component(_) => dim.window == 1,
            SliceStart::Batch(_) => false,
        };
        let fits = i64::from(device.max_threads_per_block) >= THREADS
            && i64::from(device.shared_bytes_per_block) >= shared_bytes()
            && shape.slices() <= i64::from(i32::MAX)
            && shape.operand_elements() <= i64::from(i32::MAX);
        if !fits || shape.slices() == 0 {
            return Err(Decline::new("the lists of slices are empty, have too many entries, or do not fit a block"));
        }
        if !shape.operand.iter().all(is_row) {
            return Err(Decline::new("slices may overlap without having the same index"));
        }
        let sizes: Vec<i64> = shape.components.iter().map(|&dim| shape.operand[dim].size).collect();
        let mut window_dims = shape.window_dims();
        window_dims.sort_by_key(|&dim| shape.operand[dim].update_dim);
        let rows: i64 = sizes.iter().product();
        let blocks = rows.min(Balance::AcrossBarriers.blocks(device)).max(1);
        Ok(GatheredScatter {
            sizes,
            window: window_dims.into_iter().map(|dim| (dim, shape.operand[dim].window)).collect(),
            rows,
            rows_per_block: ceil_div(rows, blocks).max(1),
            slices: shape.slices(),
            row: shape.window_elements(),
        })
    }

    /// Returns the number of threads that update one row together, and the number of rows that a
    /// block updates at a time.
    fn groups(&self) -> (i64, i64) {
        let lanes = self.row.clamp(1, THREADS);
        (lanes, THREADS / lanes)
    }

    /// Returns the window coordinates of an element of a row, one per operand dimension.
    fn coordinates(&self, shape: &ScatterShape, element: &Expr) -> Vec<Expr> {
        let sizes: Vec<i64> = self.window.iter().map(|&(_, size)| size).collect();
        let mut window = vec![Expr::constant(0); shape.operand.len()];
        for (&(dim, _), coordinate) in self.window.iter().zip(delinearize(element, &sizes)) {
            window[dim] = coordinate;
        }
        window
    }

    /// Lists the next slices that update the block's rows. Returns the number of these slices, and
    /// the lists.
    fn list(
        &self,
        b: &mut FunctionBuilder,
        body: &ScatterBody,
        (thread, first, first_row): (Value, Value, Value),
        tiles: SharedLists,
    ) -> (Value, SharedLists) {
        let (looks, zero, one) = (b.index(LOOKS), b.int(0, Scalar::I32), b.int(1, Scalar::I32));
        let own = b.muli(thread, looks);
        let own = b.addi(first, own);
        let examined: Vec<(Value, Value, Value)> =
            (0..LOOKS).map(|look| self.look(b, body, own, look, first_row)).collect();
        let mut count = zero;
        for &(counts, ..) in &examined {
            let one = b.select(counts, one, zero);
            count = b.addi(count, one);
        }
        let (before, total, counts) = running_total(b, thread, count, tiles.counts);
        let (mut at, mut slices, mut rows) = (before, tiles.slices, tiles.rows);
        for (counts, slice, row) in examined {
            let place = b.index_castui(at, Scalar::Index);
            slices = b.predicated_insert(counts, slice, slices, &[place]);
            rows = b.predicated_insert(counts, row, rows, &[place]);
            let one = b.select(counts, one, zero);
            at = b.addi(at, one);
        }
        let tiles = b.sync_threads(&[counts, slices, rows]);
        (b.index_castui(total, Scalar::Index), SharedLists { counts: tiles[0], slices: tiles[1], rows: tiles[2] })
    }

    /// Returns three values: whether slice `first + look` updates a row of the block, the slice's
    /// number, and the row's number in the block.
    fn look(
        &self,
        b: &mut FunctionBuilder,
        body: &ScatterBody,
        first: Value,
        look: i64,
        first_row: Value,
    ) -> (Value, Value, Value) {
        let look = b.index(look);
        let (last, end) = (b.index(self.slices - 1), b.index(self.slices));
        let number = b.addi(first, look);
        let exists = b.cmpi(IntPredicate::Slt, number, end);
        let number = b.minsi(number, last);
        let slice = body.slice(b, number);
        let vector = body.index_vector(b, &slice);
        let fits = body.fits(b, &vector);
        let starts = body.starts(b, &slice, &vector);
        let starts: Vec<Value> = body.problem.shape.components.iter().map(|&dim| starts[dim]).collect();
        let row = IndexingMap {
            dims: self.sizes.iter().map(|&size| Variable::from_size(size)).collect(),
            results: vec![linearize(&dim_exprs(self.sizes.len()), &self.sizes)],
            ..IndexingMap::default()
        };
        let row = b.apply_indexing(&row, &starts)[0];
        let row = b.subi(row, first_row);
        let (zero, rows_per_block) = (b.index(0), b.index(self.rows_per_block));
        let (not_before, before) =
            (b.cmpi(IntPredicate::Sge, row, zero), b.cmpi(IntPredicate::Slt, row, rows_per_block));
        let mine = b.andi(not_before, before);
        let mine = b.andi(mine, fits);
        let mine = b.andi(mine, exists);
        (mine, b.index_cast(number, Scalar::I32), b.index_cast(row, Scalar::I32))
    }

    /// Applies the listed slices in order. A thread updates its elements of every `groups`-th row.
    fn apply(
        &self,
        b: &mut FunctionBuilder,
        body: &ScatterBody,
        (thread, count, first_row): (Value, Value, Value),
        tiles: SharedLists,
        outputs: &[Value],
    ) -> Vec<Value> {
        let (lanes, groups) = self.groups();
        let (zero, one) = (b.index(0), b.index(1));
        b.scf_for(zero, count, one, outputs, |b, entry, outputs| {
            let number = b.extract(tiles.slices, &[entry]);
            let row = b.extract(tiles.rows, &[entry]);
            let (number, row) = (b.index_castui(number, Scalar::Index), b.index_castui(row, Scalar::Index));
            let (number, row) = (self.below(b, number, self.slices), self.below(b, row, self.rows_per_block));
            // The loop's constraints skip the elements of other threads.
            let map = IndexingMap {
                dims: vec![Variable::named("th", THREADS), Variable::named("row", self.rows_per_block)],
                ranges: vec![Variable::named("step", ceil_div(self.row, lanes))],
                ..IndexingMap::default()
            };
            let element = Expr::range(0) * lanes + Expr::dim(0).modulo(lanes);
            let group = Expr::dim(1).modulo(groups) - Expr::dim(0).floor_div(lanes);
            let map = IndexingMap { results: self.coordinates(&body.problem.shape, &element), ..map }
                .with_constraint(group, Interval::from_size(1))
                .with_constraint(element, Interval::from_size(self.row));
            let row_of_all = b.addi(first_row, row);
            let starts = self.starts(b, body, row_of_all);
            let slice = body.slice(b, number);
            b.indexed_loop(&map, &[thread, row], outputs, &[], |b, _, window, outputs| {
                let at = body.landing(b, &starts, window);
                let updates = body.updates(b, &slice, window);
                body.update(b, outputs, &at, &updates)
            })
        })
    }

    /// Clamps an index from a list, so that the host knows the range of the index.
    fn below(&self, b: &mut FunctionBuilder, index: Value, size: i64) -> Value {
        let last = b.index(size - 1);
        b.minsi(index, last)
    }

    /// Computes, per operand dimension, the first coordinate of the slices that update a row. All
    /// these slices have equal first coordinates.
    fn starts(&self, b: &mut FunctionBuilder, body: &ScatterBody, row: Value) -> Vec<Value> {
        let shape = &body.problem.shape;
        let components = delinearize(&Expr::dim(0), &self.sizes);
        let start = |dim: &OperandDim| match dim.start {
            SliceStart::Component(component) => components[component].clone(),
            _ => Expr::constant(0),
        };
        let map = IndexingMap {
            dims: vec![Variable::from_size(self.rows)],
            results: shape.operand.iter().map(start).collect(),
            ..IndexingMap::default()
        };
        b.apply_indexing(&map, &[row])
    }
}

/// Returns the sum of the counts of all previous threads, the sum of the counts of all threads, and
/// the tile. Iterations write the two rows of the tile alternately, so that one barrier per
/// iteration is enough.
fn running_total(b: &mut FunctionBuilder, thread: Value, count: Value, tile: Value) -> (Value, Value, Value) {
    let zero = b.int(0, Scalar::I32);
    let mut total = count;
    let mut tile = tile;
    let mut turn = 0;
    let mut distance = 1;
    loop {
        let place = b.index(turn);
        tile = b.insert(total, tile, &[place, thread]);
        tile = b.sync_threads(&[tile])[0];
        if distance == THREADS {
            let last = b.index(THREADS - 1);
            let all = b.extract(tile, &[place, last]);
            return (b.subi(total, count), all, tile);
        }
        let back = b.index(distance);
        let exists = b.cmpi(IntPredicate::Sge, thread, back);
        let other = b.subi(thread, back);
        let other = b.predicated_extract(exists, zero, tile, &[place, other]);
        total = b.addi(total, other);
        (turn, distance) = (1 - turn, 2 * distance);
    }
}

fn shared_bytes() -> i64 {
    4 * (2 * THREADS + 2 * THREADS * LOOKS)
}

impl SharedLists {
    fn all(&self) -> Vec<Value> {
        vec![self.counts, self.slices, self.rows]
    }

    fn split(state: &[Value]) -> (SharedLists, &[Value]) {
        (SharedLists { counts: state[0], slices: state[1], rows: state[2] }, &state[3..])
    }
}
