//! What all forms with tiles in shared memory have in common: while one part of the steps is multiplied, the next is read.
//!
//! ```text
//! read part 0, write it to tiles 0                            barrier
//! for part
//!   read the next part into registers
//!   sums += left * right, from tiles part % 2
//!   write what was read to the other tiles                    barrier
//! for some rows of the tile
//!   sums go to shared memory                                  barrier
//!   write what the host makes of them                         barrier
//! ```
//!
//! Of two tiles one is read while the other one is written, so that one barrier is enough for a part.

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Type, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{EmitError, Fusion, Kernel, LaunchDimensions, Plan, Work};
use fusebox_core::hlo::ElementType;
use fusebox_core::indexing::ceil_div;

use super::fill::{Fill, Layout, Loaded, Source, visit};
use super::grid::Grid;
use super::results::{Passes, Results};
use crate::problem::Problem;

/// Threads of one core that hide what one of them waits for.
const ENOUGH_THREADS: f64 = 256.0;

/// How tiles are multiplied.
pub trait Core {
    fn grid(&self) -> &Grid;
    /// Steps of a tile.
    fn steps(&self) -> i64;
    /// How threads copy an operand's tile, and where to.
    fn fill(&self, side: usize) -> Fill;
    fn layout(&self, side: usize) -> Box<dyn Layout>;
    /// What elements in shared memory are.
    fn factor(&self) -> ElementType;
    /// How sums are written.
    fn passes(&self) -> Passes;
    /// Types of a thread's sums.
    fn sums(&self) -> Vec<Type>;
    /// The sums with the products of the tiles of this number.
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

/// What a core does one after the other, in products; a product takes so many instructions.
pub fn slowness(grid: &Grid, threads: i64, per_product: f64, device: &DeviceDescription) -> f64 {
    let cores = f64::from(device.core_count.max(1));
    let blocks = grid.blocks() as f64;
    let busy = (threads as f64 * (blocks / cores).max(1.0)).min(ENOUGH_THREADS) / ENOUGH_THREADS;
    (blocks / cores).ceil() * (grid.tile[0] * grid.tile[1]) as f64 * per_product / busy
}

/// The plan, but for what a form knows alone. A product takes so many additions, an element in shared memory so many bytes.
pub fn plan(problem: &Problem, core: &dyn Core, per_product: f64, bytes: i64) -> Plan {
    let (grid, passes) = (core.grid(), core.passes());
    let launch = LaunchDimensions { blocks: grid.blocks() as u64, threads_per_block: passes.threads as u32 };
    let sides = [0, 1].map(|side| visit(grid, problem, side, &core.fill(side)));
    let parts = ceil_div(grid.sizes.steps, core.steps());
    let products = grid.results() * (parts * core.steps()) as f64;
    let copied: f64 = grid.tile.iter().map(|&size| products / size as f64).sum();
    Plan {
        visits: sides.into_iter().chain(passes.visits(grid, problem)).collect(),
        work: Work {
            additions: products * per_product,
            tile_bytes: (copied + grid.results()) * bytes as f64,
            waits: (1 + parts + 2 * passes.count) as f64,
            ..Work::default()
        },
        ..Plan::new(launch, passes.outputs(grid, problem))
    }
}

/// The kernel.
pub fn emit(fusion: &Fusion, problem: &Problem, core: &dyn Core) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    kernel.keep_many_values();
    let grid = core.grid();
    let layouts = [core.layout(0), core.layout(1)];
    let sources = [0, 1].map(|side| {
        let way = (core.fill(side), &*layouts[side]);
        Source::new(&mut kernel, (fusion, problem), grid, side, way, core.factor())
    });
    let epilogues = problem.roots.iter().map(|roots| kernel.epilogue(&roots.instructions, &[problem.dot])).collect();
    let (thread, block) = (kernel.thread(), kernel.block());
    let outputs = kernel.outputs().to_vec();
    let b: &mut FunctionBuilder = &mut kernel;
    let sums = summed(b, core, &sources, [thread, block]);
    let results = Results { problem, epilogues };
    let passes = core.passes();
    let written = results
        .write(b, (grid, &passes), [thread, block], &outputs, |b, pass, tile| core.put(b, thread, pass, &sums, tile));
    kernel.finish(&written)
}

/// The thread's sums over all steps.
fn summed(b: &mut FunctionBuilder, core: &dyn Core, sources: &[Source; 2], [thread, block]: [Value; 2]) -> Vec<Value> {
    let place = b.apply_indexing(&core.grid().map(), &[block]);
    let element = fusebox_core::builder::Scalar::of_element(core.factor());
    let tiles = [0, 1].map(|side: usize| b.allocate_shared(&sources[side].dims(), element));
    let load = |b: &mut FunctionBuilder, part: Value| {
        let by = b.index(core.steps());
        let step = b.muli(part, by);
        [0, 1].map(|side: usize| sources[side].load(b, thread, [place[0], place[1 + side], step]))
    };
    let store = |b: &mut FunctionBuilder, buffer: Value, loaded: &[Vec<Loaded>; 2], tiles: [Value; 2]| {
        let tiles = [0, 1].map(|side: usize| sources[side].store(b, thread, buffer, &loaded[side], tiles[side]));
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
        // After the last part it is read once more, and nobody looks at it.
        let there = b.minsi(next, last);
        let loaded = load(b, there);
        let (own, other) = (b.remsi(part, two), b.remsi(next, two));
        let sums = core.multiply(b, thread, own, tiles, &state[2..]);
        let tiles = store(b, other, &loaded, tiles);
        [tiles.as_slice(), &sums].concat()
    });
    state[2..].to_vec()
}
