//! Which thread has which elements of which row, and where they stay between phases.
//!
//! ```text
//! th = (row in block, in row)                    T threads for a row, R rows in a block
//! row     = bl * R + row in block
//! element = (step * T + in row) * V + lane       a unit of V neighbouring elements per step
//! ```

use std::ops::RangeInclusive;

use fusebox_core::analysis::{RowChain, RowPlace, RowSpace};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, Fusion};
use fusebox_core::hlo::{ArrayShape, Op, Shape};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};

use super::ThreadNormalise;
use crate::chain::kept::{Kept, alive, element_bytes, has_own_values, kept};

/// Threads of a block that holds several rows.
const BLOCK: i64 = 128;
/// Elements of a row that a thread has, if enough threads remain.
const USUAL_ELEMENTS: i64 = 16;
/// Elements of a vector access of the usual type.
const USUAL_LANES: i64 = 4;
/// Registers in which a thread keeps elements: half of what a thread of the largest block has.
const KEEPING_REGISTERS: i64 = 32;
/// Bytes of one element that are kept at most.
const MOST_KEPT_BYTES: i64 = 16;
/// Operations that one thread's code has for all its elements, where they are unrolled.
const MOST_UNROLLED: i64 = 1024;
/// Bytes a thread should have in flight, to hide the latency of memory.
const BYTES_IN_FLIGHT: i64 = 64;
/// Bytes next to each other that the threads of a row should read at once: a line of the cache.
const LINE: i64 = 128;
/// Vectors of the widest type that one thread reads at once.
const MOST_VECTORS: i64 = 2;
/// Parts of a row's result that every thread of the row combines by itself; more are shuffled once more.
const FEW_PARTS: i64 = 8;

/// Where elements stay between phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// Nowhere: each phase computes them again.
    Nowhere,
    /// In shared memory.
    Shared,
    /// In registers: all elements of a thread are unrolled.
    Registers,
}

/// Numbers and maps of one kernel.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Rows in all.
    pub all_rows: i64,
    /// Elements of a row.
    pub length: i64,
    /// Elements next to each other that a thread has.
    pub vector: i64,
    /// Threads for a row: up to a warp a power of two, else a multiple of a warp.
    pub threads: i64,
    /// Rows of a block.
    pub rows: i64,
    /// Blocks.
    pub blocks: i64,
    /// Threads in lock step.
    pub warp: i64,
    /// Units at once.
    pub unrolled: i64,
    /// Where elements stay.
    pub keep: Keep,
    /// What is kept, with the phases that compute it; nothing if it is to be kept nowhere.
    pub kept: Vec<Kept>,
    /// Bytes of shared memory.
    pub shared_bytes: i64,
    /// Further knobs worth trying.
    pub alternatives: Vec<Vec<(&'static str, i64)>>,
}

/// What decisions are made from.
struct Facts<'a> {
    fusion: &'a Fusion,
    chain: &'a RowChain,
    device: &'a DeviceDescription,
    kept: Vec<Kept>,
    /// Registers for what is kept of an element.
    registers: i64,
    /// Most elements of a thread that may be unrolled.
    most_unrolled: i64,
    /// Bytes of the smallest and the widest element that is read or written.
    bytes: RangeInclusive<i64>,
}

impl<'a> Facts<'a> {
    fn new(fusion: &'a Fusion, chain: &'a RowChain, device: &'a DeviceDescription) -> Self {
        let registers = |kept: &[Kept]| {
            let of = |id| ceil_div(element_bytes(fusion, id), 4);
            alive(fusion, chain, kept).into_iter().map(|ids| ids.into_iter().map(of).sum::<i64>()).max().unwrap_or(0)
        };
        let kept = kept(fusion, chain, has_own_values, |kept| registers(kept) <= MOST_KEPT_BYTES / 4);
        let computation = fusion.computation();
        let arrays = || {
            let ids = computation.parameters().into_iter().chain(fusion.roots.iter().copied());
            let leaves = ids.flat_map(|id| computation.instruction(id).shape.leaves());
            let large = |array: &&ArrayShape| array.element_count() == chain.space.element_count();
            leaves.filter_map(Shape::as_array).filter(large).map(|array| array.element_type.byte_size() as i64)
        };
        let work = computation
            .instructions
            .iter()
            .filter(|it| has_own_values(&it.op) && !matches!(it.op, Op::Parameter { .. }));
        Facts {
            fusion,
            chain,
            device,
            registers: registers(&kept),
            kept,
            most_unrolled: (MOST_UNROLLED / (work.count() as i64).max(1)).max(1),
            bytes: arrays().min().unwrap_or(4)..=arrays().max().unwrap_or(4),
        }
    }

    /// Elements of a thread that may be kept in registers.
    fn most_kept(&self) -> i64 {
        (KEEPING_REGISTERS / self.registers.max(1)).min(self.most_unrolled)
    }

    /// Elements of the widest access that divides a row and is not wider than what a thread may keep.
    fn widest(&self) -> i64 {
        let bytes = i64::from(self.device.vector_bytes);
        let most = (bytes / self.bytes.start()).min(MOST_VECTORS * bytes / self.bytes.end()).min(self.most_kept());
        let fits = |lanes: &i64| *lanes <= most && self.chain.space.length % lanes == 0;
        (0..6).map(|exponent| 1i64 << exponent).take_while(fits).last().unwrap_or(1)
    }

    fn warp(&self) -> i64 {
        i64::from(self.device.warp_size)
    }

    fn natural_threads(&self, vector: i64) -> i64 {
        let each = (USUAL_ELEMENTS.min(self.most_kept()) / vector).max(1);
        natural_threads(self.chain.space, self.device, vector, each, *self.bytes.end())
    }

    /// A power of two, or a multiple of a warp.
    fn whole(&self, threads: i64) -> i64 {
        whole(threads, self.warp())
    }

    fn natural_rows(&self, threads: i64) -> i64 {
        let mut rows = (BLOCK / threads).max(1);
        let is_idle = |rows: i64| ceil_div(self.chain.space.rows, rows) < i64::from(self.device.core_count);
        while rows % 2 == 0 && rows / 2 * threads % self.warp() == 0 && is_idle(rows) {
            rows /= 2;
        }
        rows
    }

    /// Bytes of the tiles through which results of a row go, for blocks of so many rows.
    fn tile_bytes(&self, threads: i64, rows: i64) -> i64 {
        let parts = ceil_div(threads, self.warp());
        let elements = match threads {
            1 => 0,
            _ if parts <= FEW_PARTS => rows * parts,
            _ => 2 * rows * parts,
        };
        let heroes = self.chain.phases.iter().flatten();
        elements * heroes.map(|hero| hero.accumulator_bytes()).sum::<i64>()
    }

    /// Bytes of the tiles in which elements are kept.
    fn kept_bytes(&self, rows: i64) -> i64 {
        let bytes: i64 = self.kept.iter().map(|(id, _)| element_bytes(self.fusion, *id)).sum();
        rows.saturating_mul(self.chain.space.length).saturating_mul(bytes)
    }

    /// The best place that there is for elements.
    fn places(&self, vector: i64, threads: i64, rows: i64) -> Vec<Keep> {
        let each = ceil_div(self.chain.space.length / vector, threads) * vector;
        let bytes = self.tile_bytes(threads, rows).saturating_add(self.kept_bytes(rows));
        // The tile's accesses are free of conflicts where a warp is in one row.
        let is_shared = threads >= self.warp() && bytes <= i64::from(self.device.shared_bytes_per_block);
        let mut places = vec![Keep::Nowhere];
        if !self.kept.is_empty() {
            places.extend(is_shared.then_some(Keep::Shared));
            places.extend((each <= self.most_kept()).then_some(Keep::Registers));
        }
        places
    }
}

/// Threads for a row: few enough that each has so many units of `vector` elements, as long as all together fill the device.
fn natural_threads(space: RowSpace, device: &DeviceDescription, vector: i64, each: i64, bytes: i64) -> i64 {
    let units = space.length / vector;
    let device_threads = i64::from(device.core_count) * i64::from(device.max_threads_per_core);
    let mut each = each;
    while each > 1 && space.rows.saturating_mul(ceil_div(units, each)) < device_threads / 2 {
        each -= 1;
    }
    let line = (LINE / (vector * bytes)).max(1).min(units);
    let most = i64::from(device.max_threads_per_block);
    let threads = ceil_div(units, each).max(line).min(most);
    // As many as have work in the last step.
    whole(ceil_div(units, ceil_div(units, threads)), i64::from(device.warp_size)).min(most)
}

/// A power of two, or a multiple of a warp.
fn whole(threads: i64, warp: i64) -> i64 {
    match threads <= warp {
        true => (threads.max(1) as u64).next_power_of_two() as i64,
        false => ceil_div(threads, warp) * warp,
    }
}

fn form_of(threads: i64, device: &DeviceDescription) -> ThreadNormalise {
    match threads <= i64::from(device.warp_size) {
        true => ThreadNormalise::Warp,
        false => ThreadNormalise::Block,
    }
}

/// Who should share the rows of a chain.
pub fn natural_form(fusion: &Fusion, chain: &RowChain, device: &DeviceDescription) -> ThreadNormalise {
    let facts = Facts::new(fusion, chain, device);
    form_of(facts.natural_threads(facts.widest()), device)
}

/// Who should share rows of which only the size is known.
pub fn usual_form(space: RowSpace, device: &DeviceDescription) -> ThreadNormalise {
    let lanes = if space.length % USUAL_LANES == 0 { USUAL_LANES } else { 1 };
    let bytes = i64::from(device.vector_bytes) / USUAL_LANES;
    form_of(natural_threads(space, device, lanes, USUAL_ELEMENTS / lanes, bytes), device)
}

impl Layout {
    /// The layout of that form, with these knobs.
    ///
    /// # Errors
    /// If a knob's value is impossible.
    pub fn new(
        form: ThreadNormalise,
        fusion: &Fusion,
        chain: &RowChain,
        device: &DeviceDescription,
        knobs: &Configuration,
    ) -> Result<Layout, EmitError> {
        let facts = Facts::new(fusion, chain, device);
        let space = chain.space;
        let (warp, most) = (facts.warp(), i64::from(device.max_threads_per_block));
        let widest = facts.widest();
        let is_vector = |lanes: i64| lanes >= 1 && lanes <= widest && lanes & (lanes - 1) == 0;
        let vector = knobs.checked_knob("vector", || format!("a power of two up to {widest}"), is_vector)?;
        let vector = vector.unwrap_or(widest);
        let allowed = match form {
            ThreadNormalise::Warp => 1..=warp,
            ThreadNormalise::Block => (2 * warp).min(most)..=most,
        };
        let is_whole = |threads: i64| allowed.contains(&threads) && facts.whole(threads) == threads;
        let wanted = || match form {
            ThreadNormalise::Warp => format!("a power of two up to {warp}"),
            ThreadNormalise::Block => format!("a multiple of {warp} from {} to {most}", allowed.start()),
        };
        let threads = knobs.checked_knob("threads", wanted, is_whole)?;
        let natural = facts.natural_threads(vector).clamp(*allowed.start(), *allowed.end());
        let threads = threads.unwrap_or(natural);
        let most_rows = most / threads;
        let is_full = |rows: i64| (1..=most_rows).contains(&rows) && rows * threads % warp == 0;
        let wanted = || format!("1 to {most_rows}, and whole warps of {threads} threads for a row");
        let rows = knobs.checked_knob("rows", wanted, is_full)?.unwrap_or_else(|| facts.natural_rows(threads));
        let places = facts.places(vector, threads, rows);
        let is_place = |number: i64| places.iter().any(|&place| place as i64 == number);
        let wanted = || "0 (nowhere), or, where they fit, 1 (in shared memory) or 2 (in registers)";
        let keep = knobs.checked_knob("keep", wanted, is_place)?;
        let keep = places.iter().copied().rfind(|&place| keep.is_none_or(|number| place as i64 == number));
        let keep = keep.unwrap_or(Keep::Nowhere);
        let steps = ceil_div(space.length / vector, threads);
        let in_flight = (BYTES_IN_FLIGHT / (vector * facts.bytes.end())).min(facts.most_unrolled / vector).max(1);
        let mut layout = Layout {
            all_rows: space.rows,
            length: space.length,
            vector,
            threads,
            rows,
            blocks: ceil_div(space.rows, rows),
            warp,
            unrolled: if keep == Keep::Registers { steps } else { in_flight.min(steps) },
            keep,
            shared_bytes: facts.tile_bytes(threads, rows)
                + if keep == Keep::Shared { facts.kept_bytes(rows) } else { 0 },
            kept: Vec::new(),
            alternatives: Vec::new(),
        };
        layout.alternatives = layout.neighbours(&facts, &allowed, &places);
        if keep != Keep::Nowhere {
            layout.kept = facts.kept;
        }
        Ok(layout)
    }

    /// The values of the knobs.
    pub fn knobs(&self) -> Vec<(&'static str, i64)> {
        vec![("keep", self.keep as i64), ("rows", self.rows), ("threads", self.threads), ("vector", self.vector)]
    }

    /// Half and double of each number, and the other places.
    fn neighbours(
        &self,
        facts: &Facts<'_>,
        allowed: &RangeInclusive<i64>,
        places: &[Keep],
    ) -> Vec<Vec<(&'static str, i64)>> {
        let mut others = Vec::new();
        let best =
            |vector: i64, threads: i64, rows: i64| facts.places(vector, threads, rows).pop().unwrap_or(self.keep);
        let halved = if self.threads > self.warp { facts.whole(self.threads / 2) } else { self.threads / 2 };
        for threads in [halved, self.threads * 2].into_iter().filter(|threads| allowed.contains(threads)) {
            let rows = facts.natural_rows(threads);
            others.push(Layout { threads, rows, keep: best(self.vector, threads, rows), ..self.clone() }.knobs());
        }
        for rows in [self.rows / 2, self.rows * 2] {
            let is_whole = rows > 0 && rows * self.threads % self.warp == 0;
            if is_whole && rows * self.threads <= i64::from(facts.device.max_threads_per_block) {
                let keep = best(self.vector, self.threads, rows);
                others.push(Layout { rows, keep, ..self.clone() }.knobs());
            }
        }
        for &keep in places.iter().rev().filter(|&&keep| keep != self.keep) {
            others.push(Layout { keep, ..self.clone() }.knobs());
        }
        others
    }

    /// Units of a row.
    pub fn units(&self) -> i64 {
        self.length / self.vector
    }

    /// Units that a thread has at most.
    pub fn steps(&self) -> i64 {
        ceil_div(self.units(), self.threads)
    }

    /// Turns of so many units as are taken at once in which all threads have all of them.
    pub fn full_turns(&self) -> i64 {
        match self.keep {
            // What is in registers has a name of its own for each element.
            Keep::Registers => 0,
            _ => self.units() / (self.threads * self.unrolled),
        }
    }

    /// Warps that share a row.
    pub fn parts(&self) -> i64 {
        ceil_div(self.threads, self.warp)
    }

    /// Whether each thread of a row combines the parts of all its warps.
    pub fn has_few_parts(&self) -> bool {
        self.parts() <= FEW_PARTS
    }

    /// `(th, bl) -> (row, in row, row in block)`.
    pub fn thread_map(&self) -> IndexingMap {
        let (thread, block) = (Expr::dim(0), Expr::dim(1));
        let row_in_block = thread.clone().floor_div(self.threads);
        let row = block * self.rows + row_in_block.clone();
        IndexingMap {
            dims: vec![Variable::named("th", self.rows * self.threads), Variable::named("bl", self.blocks)],
            results: vec![row, thread.modulo(self.threads), row_in_block],
            ..IndexingMap::default()
        }
        .simplify()
    }

    /// `(in row, turn) -> unit`, of the unit with that number in each turn from the turn `first` on.
    pub fn unit_map(&self, first: i64, turns: i64, number: i64) -> IndexingMap {
        let turn = Expr::dim(1) + first;
        let unit = (turn * self.unrolled + number) * self.threads + Expr::dim(0);
        IndexingMap {
            dims: vec![Variable::named("in_row", self.threads), Variable::named("turn", turns)],
            results: vec![unit],
            ..IndexingMap::default()
        }
        .simplify()
    }

    /// `(unit) -> element`, of the element with that number in a unit.
    pub fn element_map(&self, lane: i64) -> IndexingMap {
        IndexingMap::from_tensor_sizes(vec![Expr::dim(0) * self.vector + lane], &[self.units()], &[])
    }

    /// `(th, bl)[step, lane] -> index` of an array with an element per element, `(th, bl) -> index` of others.
    pub fn output_map(&self, chain: &RowChain, place: RowPlace, array: &ArrayShape) -> IndexingMap {
        let mut map = self.thread_map();
        let [row, in_row] = [map.results[0].clone(), map.results[1].clone()];
        if self.blocks * self.rows > self.all_rows {
            map.constraints.push(Constraint::new(row.clone(), Interval::from_size(self.all_rows)));
        }
        let (index, element) = match place {
            RowPlace::Row => {
                if self.threads > 1 {
                    map.constraints.push(Constraint::new(in_row, Interval::point(0)));
                }
                (chain.space.row_index(&array.dims), Expr::constant(0))
            }
            _ => {
                map.ranges = vec![Variable::named("step", self.steps()), Variable::named("lane", self.vector)];
                let unit = Expr::range(0) * self.threads + in_row;
                if self.steps() * self.threads > self.units() {
                    map.constraints.push(Constraint::new(unit.clone(), Interval::from_size(self.units())));
                }
                (chain.space.element_index(&array.dims), unit * self.vector + Expr::range(1))
            }
        };
        let point = [row, element];
        map.results = index.results.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
        map.simplify()
    }

    /// Sizes of a tile that keeps elements: a thread's neighbouring elements are apart, so that those of neighbouring
    /// threads are side by side.
    pub fn kept_dims(&self) -> [i64; 3] {
        [self.rows, self.vector, self.units()]
    }

    /// Sizes of a tile for a row's partial results.
    pub fn parts_dims(&self) -> [i64; 2] {
        [self.rows, self.parts()]
    }
}
