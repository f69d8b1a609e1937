//! The common part of all emitters with tiles in shared memory. The kernel multiplies one part of
//! the steps while it reads the next part.
//!
//! ```text
//! read part 0, write it to tiles 0                            barrier
//! for part
//!   read the next part into registers
//!   sums += left * right, from tiles part % 2
//!   write the next part to the other tiles                    barrier
//! for each group of rows of the tile
//!   write sums to shared memory                               barrier
//!   apply the epilogue to them and write the results          barrier
//! ```
//!
//! Each operand has two tiles in shared memory. The kernel reads one tile while it writes the other
//! tile, so one barrier per part of the steps is enough.

use std::collections::BTreeSet;

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Type, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Blocks, Configuration, Decline, EmitError, Fusion, Kernel, LaunchDimensions, Plan, Work};
use fusebox_core::hlo::{ElementType, Opcode};
use fusebox_core::indexing::ceil_div;

use super::grid::ResultGrid;
use super::passes::WritePasses;
use super::tile_copy::{LoadedElements, SharedTileLayout, TileCopy, TileSource, visit};
use crate::problem::{ProductProblem, ProductSizes};
use crate::results::{ResultEpilogues, written};
use crate::strategy::ProductStrategy;

/// Names of the knobs for the rows and columns of a tile.
pub const TILE_M: &str = "tile_m";
pub const TILE_N: &str = "tile_n";
/// Number of threads per core that is enough to hide latencies.
const ENOUGH_THREADS: f64 = 256.0;

/// A *form*: a method of multiplying tiles, with fixed sizes.
pub trait TileMultiplier: Sized + 'static {
    /// Checks that at least one form supports the problem and the device.
    ///
    /// # Errors
    /// Returns the reason if no form supports the problem and the device.
    fn suits(problem: &ProductProblem, device: &DeviceDescription) -> Result<(), Decline>;
    /// Returns all forms. If several forms are equally fast, the preferred form comes first in the
    /// list.
    fn forms(problem: &ProductProblem) -> Vec<Self>;
    /// Returns the values of the knobs. All forms have the same knobs.
    fn configuration(&self) -> Configuration {
        let [m, n] = self.grid().tile;
        Configuration::from([(TILE_M, m), (TILE_N, n)])
    }
    /// Returns a text for the plan's note. In the note, this text follows the sizes of the product.
    fn note(&self) -> String;
    fn grid(&self) -> &ResultGrid;
    /// Returns the number of steps that a tile holds.
    fn steps(&self) -> i64;
    /// Returns how the copies of an operand's elements are distributed over threads. The method
    /// `layout` describes the destination of the copies.
    fn fill(&self, side: usize) -> TileCopy;
    fn layout(&self, side: usize) -> Box<dyn SharedTileLayout>;
    /// Returns the type of elements in shared memory.
    fn factor(&self) -> ElementType;
    /// Returns the passes that write the sums.
    fn passes(&self) -> WritePasses;
    /// Returns the number of instructions per product of two numbers, including copies and reads of
    /// the operands.
    fn per_product(&self) -> f64;
    /// Returns the number of bytes of shared memory that a block needs.
    fn shared_bytes(&self) -> i64;
    /// Returns the types of a thread's sums.
    fn sums(&self) -> Vec<Type>;
    /// Multiplies tile number `buffer` of the left operand by tile number `buffer` of the right
    /// operand. Adds the products to the sums, and returns the new sums.
    fn multiply(
        &self,
        b: &mut FunctionBuilder,
        thread: Value,
        buffer: Value,
        tiles: [Value; 2],
        sums: &[Value],
    ) -> Vec<Value>;
    /// Writes a thread's sums of one pass to shared memory.
    fn put(&self, b: &mut FunctionBuilder, thread: Value, pass: usize, sums: &[Value], tile: Value) -> Value;
}

/// The emitter chooses the form with the least predicted time.
impl<C: TileMultiplier> ProductStrategy for C {
    type Problem = ProductProblem;
    const BLOCKS: Blocks = Blocks::OfManyThreads;
    const ANCHORS: &'static [Opcode] = &[Opcode::Dot];

    fn suits(problem: &ProductProblem, device: &DeviceDescription) -> Result<(), Decline> {
        super::check(problem)?;
        C::suits(problem, device)
    }

    fn new(problem: &ProductProblem, device: &DeviceDescription, knobs: &Configuration) -> Result<C, EmitError> {
        let all = C::forms(problem);
        let mut wanted = Configuration::default();
        for name in all.first().iter().flat_map(|form| form.configuration().0.into_keys()) {
            let allowed: BTreeSet<i64> = all.iter().map(|form| form.configuration().0[&name]).collect();
            let value =
                knobs.checked_knob(&name, || format!("one of {allowed:?}"), |value| allowed.contains(&value))?;
            wanted.0.extend(value.map(|value| (name, value)));
        }
        all.into_iter()
            .filter(|form| wanted.0.iter().all(|(name, value)| form.configuration().0[name] == *value))
            .filter(|form| fits(form, device))
            .min_by(|a, b| slowness(a, device).total_cmp(&slowness(b, device)))
            .ok_or_else(|| EmitError::new("no tiles have these knobs and fit a block"))
    }

    fn plan(&self, problem: &ProductProblem, device: &DeviceDescription) -> Plan {
        let own = self.configuration();
        let forms = C::forms(problem).into_iter().filter(|form| fits(form, device));
        let ProductSizes { batch, rows, columns, steps } = self.grid().sizes;
        Plan {
            alternatives: own.others(forms.map(|form| form.configuration())),
            configuration: own,
            notes: vec![format!("{batch} products of {rows} by {steps} by {columns}, {}", self.note())],
            ..plan(problem, self)
        }
    }

    fn emit(&self, fusion: &Fusion, problem: &ProductProblem) -> Result<Kernel, EmitError> {
        emit(fusion, problem, self)
    }
}

fn fits(core: &impl TileMultiplier, device: &DeviceDescription) -> bool {
    core.shared_bytes() <= i64::from(device.shared_bytes_per_block)
        && core.passes().threads <= i64::from(device.max_threads_per_block)
}

/// Returns the predicted number of instructions that the busiest core executes per step.
fn slowness(core: &impl TileMultiplier, device: &DeviceDescription) -> f64 {
    let (grid, threads, per_product) = (core.grid(), core.passes().threads, core.per_product());
    let cores = f64::from(device.core_count.max(1));
    let blocks = grid.blocks() as f64;
    let busy = (threads as f64 * (blocks / cores).max(1.0)).min(ENOUGH_THREADS) / ENOUGH_THREADS;
    (blocks / cores).ceil() * (grid.tile[0] * grid.tile[1]) as f64 * per_product / busy
}

/// Returns the plan of a form, without knobs and notes.
fn plan(problem: &ProductProblem, core: &impl TileMultiplier) -> Plan {
    let (grid, passes) = (core.grid(), core.passes());
    let launch = LaunchDimensions { blocks: grid.blocks() as u64, threads_per_block: passes.threads as u32 };
    let sides = [0, 1].map(|side| visit(grid, problem, side, &core.fill(side)));
    let parts = ceil_div(grid.sizes.steps, core.steps());
    let products = grid.results() * (parts * core.steps()) as f64;
    let copied: f64 = grid.tile.iter().map(|&size| products / size as f64).sum();
    let (outputs, visits) = written(&problem.roots, problem.dot, |roots| passes.written(grid, roots));
    Plan {
        visits: sides.into_iter().chain(visits).collect(),
        work: Work {
            additions: products * core.per_product(),
            tile_bytes: (copied + grid.results()) * core.factor().byte_size() as f64,
            waits: (1 + parts + 2 * passes.count) as f64,
            ..Work::default()
        },
        shared_bytes: core.shared_bytes() as u32,
        ..Plan::new(launch, outputs)
    }
}

/// Builds the kernel.
fn emit(fusion: &Fusion, problem: &ProductProblem, core: &impl TileMultiplier) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    kernel.keep_many_values();
    let grid = core.grid();
    let sources = [0, 1]
        .map(|side| TileSource::new(&mut kernel, (fusion, problem), (grid, side), core.fill(side), core.factor()));
    let results = ResultEpilogues::new(&mut kernel, &problem.roots, problem.dot, [problem.sum, problem.result]);
    let (thread, block) = (kernel.thread(), kernel.block());
    let outputs = kernel.outputs().to_vec();
    let b: &mut FunctionBuilder = &mut kernel;
    let sums = summed(b, core, &sources, [thread, block]);
    let put = |b: &mut FunctionBuilder, pass: usize, tile| core.put(b, thread, pass, &sums, tile);
    let written = core.passes().write(b, grid, &results, [thread, block], &outputs, put);
    kernel.finish(&written)
}

/// Returns the thread's sums over all steps.
fn summed(
    b: &mut FunctionBuilder,
    core: &impl TileMultiplier,
    sources: &[TileSource; 2],
    [thread, block]: [Value; 2],
) -> Vec<Value> {
    let place = b.apply_indexing(&core.grid().map(), &[block]);
    let element = fusebox_core::builder::Scalar::of_element(core.factor());
    let layouts = [core.layout(0), core.layout(1)];
    let tiles = [0, 1].map(|side: usize| {
        let dims = [vec![2], layouts[side].dims()].concat();
        b.allocate_shared(&dims, element)
    });
    let load = |b: &mut FunctionBuilder, part: Value| {
        let by = b.index(core.steps());
        let step = b.muli(part, by);
        [0, 1].map(|side: usize| sources[side].load(b, thread, [place[0], place[1 + side], step]))
    };
    let store = |b: &mut FunctionBuilder, buffer: Value, loaded: &[Vec<LoadedElements>; 2], tiles: [Value; 2]| {
        let tiles = [0, 1]
            .map(|side: usize| sources[side].store(b, thread, buffer, &loaded[side], (&*layouts[side], tiles[side])));
        let tiles = b.sync_threads(&tiles);
        [tiles[0], tiles[1]]
    };
    let (zero, one) = (b.index(0), b.index(1));
    let nothing: Vec<Value> = core.sums().iter().map(|ty| b.zero(ty)).collect();
    let parts = ceil_div(core.grid().sizes.steps, core.steps());
    let first = load(b, zero);
    let tiles = store(b, zero, &first, tiles);
    if parts == 1 {
        return core.multiply(b, thread, zero, tiles, &nothing);
    }
    let (end, last, two) = (b.index(parts), b.index(parts - 1), b.index(2));
    let state = [tiles.as_slice(), &nothing].concat();
    let state = b.scf_for(zero, end, one, &state, |b, part, state| {
        let tiles = [state[0], state[1]];
        let next = b.addi(part, one);
        // The last iteration reads the last part again and does not use the values.
        let there = b.minsi(next, last);
        let loaded = load(b, there);
        let (own, other) = (b.remsi(part, two), b.remsi(next, two));
        let sums = core.multiply(b, thread, own, tiles, &state[2..]);
        let tiles = store(b, other, &loaded, tiles);
        [tiles.as_slice(), &sums].concat()
    });
    state[2..].to_vec()
}
