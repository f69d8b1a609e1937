//! Distribution of rows and elements over threads, and the storage of elements between phases.
//!
//! ```text
//! th = (row in block, in row)                    T threads for a row, R rows in a block
//! row     = bl * R + row in block
//! element = (step * T + in row) * V + lane       a unit of V neighbouring elements per step
//! ```

use std::ops::RangeInclusive;

use fusebox_core::analysis::{RowChain, RowPlace};
use fusebox_core::builder::{FEW_WARPS, ThreadGroups};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, Fusion, Work};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};

use super::ThreadNormalise;
use super::properties::{ElementStorage, LEAST_TURNS, LayoutProperties};
use crate::chain::kept_values::{KeptValue, element_bytes};

/// Number of bytes that a thread should read concurrently to hide the latency of memory. The
/// emitter uses this number if as many threads as possible compute a row together.
const BYTES_IN_FLIGHT: i64 = 32;

/// Cost of combining the values of two threads of a warp. The unit is the time of one addition.
const EXCHANGE: f64 = 1.0;

/// Sizes that determine one kernel and its indexing maps.
#[derive(Clone, Debug)]
pub struct ThreadLayout {
    /// Number of all rows.
    pub all_rows: i64,
    /// Number of elements of a row.
    pub length: i64,
    /// Number of adjacent elements that a thread reads as a unit.
    pub vector: i64,
    /// Number of threads of a row: a power of two up to a warp, else a multiple of a warp.
    pub threads: i64,
    /// Number of rows of a block.
    pub rows: i64,
    pub blocks: i64,
    /// Number of threads of a warp.
    pub warp: i64,
    /// Number of units per loop iteration.
    pub unrolled: i64,
    /// Storage of elements between phases.
    pub keep: ElementStorage,
    /// Kept instructions, each with the phase that computes it. The list is empty for
    /// [`ElementStorage::Nowhere`].
    pub kept: Vec<KeptValue>,
    /// Bytes of shared memory.
    pub shared_bytes: i64,
    /// Alternative settings of the knobs, which the tuner can measure.
    pub alternatives: Vec<Vec<(&'static str, i64)>>,
}

impl ThreadLayout {
    /// Chooses the layout for the emitter `form`. Values in `knobs` override the choices.
    ///
    /// # Errors
    /// If a knob's value is impossible.
    pub fn new(
        form: ThreadNormalise,
        fusion: &Fusion,
        chain: &RowChain,
        device: &DeviceDescription,
        knobs: &Configuration,
    ) -> Result<ThreadLayout, EmitError> {
        let facts = LayoutProperties::new(fusion, chain, device);
        let space = chain.space;
        let vector = vector(&facts, knobs)?;
        let allowed = allowed_threads(form, &facts);
        let threads = threads(form, &facts, vector, &allowed, knobs)?;
        let rows = rows(&facts, threads, knobs)?;
        let places = facts.places(vector, threads, rows);
        let keep = keep(&places, knobs)?;
        let steps = ceil_div(space.length / vector, threads);
        let unrolled = match keep {
            ElementStorage::Registers => steps,
            _ => (BYTES_IN_FLIGHT / (vector * facts.read)).min(steps / LEAST_TURNS).max(1),
        };
        let kept_bytes = if keep == ElementStorage::Shared { facts.kept_bytes(rows) } else { 0 };
        let mut layout = ThreadLayout {
            all_rows: space.rows,
            length: space.length,
            vector,
            threads,
            rows,
            blocks: ceil_div(space.rows, rows),
            warp: facts.warp(),
            unrolled,
            keep,
            shared_bytes: facts.tile_bytes(threads, rows) + kept_bytes,
            kept: Vec::new(),
            alternatives: Vec::new(),
        };
        layout.alternatives = layout.neighbours(&facts, &allowed, &places);
        if keep != ElementStorage::Nowhere {
            layout.kept = facts.kept;
        }
        Ok(layout)
    }

    pub fn knobs(&self) -> Vec<(&'static str, i64)> {
        vec![("keep", self.keep as i64), ("rows", self.rows), ("threads", self.threads), ("vector", self.vector)]
    }

    /// Returns alternative knobs. Compared with this layout, an alternative has half or twice the
    /// threads per row, half or twice the rows per block, or another storage for elements.
    fn neighbours(
        &self,
        facts: &LayoutProperties<'_>,
        allowed: &RangeInclusive<i64>,
        places: &[ElementStorage],
    ) -> Vec<Vec<(&'static str, i64)>> {
        let mut others = Vec::new();
        let best =
            |vector: i64, threads: i64, rows: i64| facts.places(vector, threads, rows).pop().unwrap_or(self.keep);
        let halved = if self.threads > self.warp { facts.whole(self.threads / 2) } else { self.threads / 2 };
        for threads in [halved, self.threads * 2].into_iter().filter(|threads| allowed.contains(threads)) {
            let rows = facts.natural_rows(threads);
            others.push(ThreadLayout { threads, rows, keep: best(self.vector, threads, rows), ..self.clone() }.knobs());
        }
        for rows in [self.rows / 2, self.rows * 2] {
            let is_whole = rows > 0 && rows * self.threads % self.warp == 0;
            if is_whole && rows * self.threads <= facts.most_threads() {
                let keep = best(self.vector, self.threads, rows);
                others.push(ThreadLayout { rows, keep, ..self.clone() }.knobs());
            }
        }
        for &keep in places.iter().rev().filter(|&&keep| keep != self.keep) {
            others.push(ThreadLayout { keep, ..self.clone() }.knobs());
        }
        others
    }

    /// Returns the number of units of a row.
    pub fn units(&self) -> i64 {
        self.length / self.vector
    }

    /// Returns the maximum number of units of a thread.
    pub fn steps(&self) -> i64 {
        ceil_div(self.units(), self.threads)
    }

    /// Returns the number of loop iterations in which every thread has `unrolled` units.
    pub fn full_turns(&self) -> i64 {
        match self.keep {
            // Each element in registers is a separate value, which a loop cannot index.
            ElementStorage::Registers => 0,
            _ => self.units() / (self.threads * self.unrolled),
        }
    }

    /// Returns the threads of a block, grouped by row.
    pub fn groups(&self) -> ThreadGroups {
        ThreadGroups { groups: self.rows, threads: self.threads, warp: self.warp }
    }

    /// Returns the map `(th, bl) -> (row, in row, row in block)`.
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

    /// Returns the map `(in row, turn) -> unit` for unit `number` of an iteration. `turn` is the
    /// number of an iteration, counted from iteration `first`.
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

    /// Returns the map `(unit) -> element` for the lane `lane` of a unit.
    pub fn element_map(&self, lane: i64) -> IndexingMap {
        IndexingMap::from_tensor_sizes(vec![Expr::dim(0) * self.vector + lane], &[self.units()], &[])
    }

    /// Returns the map `(th, bl)[step, lane] -> index` for an array with one element per element of
    /// the rows, or `(th, bl) -> index` for other arrays.
    pub fn output_map(&self, chain: &RowChain, place: RowPlace, dims: &[i64]) -> IndexingMap {
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
                (chain.space.row_index(dims), Expr::constant(0))
            }
            _ => {
                map.ranges = vec![Variable::named("step", self.steps()), Variable::named("lane", self.vector)];
                let unit = Expr::range(0) * self.threads + in_row;
                if self.steps() * self.threads > self.units() {
                    map.constraints.push(Constraint::new(unit.clone(), Interval::from_size(self.units())));
                }
                (chain.space.element_index(dims), unit * self.vector + Expr::range(1))
            }
        };
        let point = [row, element];
        map.results = index.results.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
        map.simplify()
    }

    /// Returns the work of combining elements, of exchanging partial results, and of keeping
    /// elements in shared memory. The work excludes the computation of elements.
    pub fn work(&self, fusion: &Fusion, chain: &RowChain) -> Work {
        let phases = chain.phases.len() as f64;
        let elements = chain.space.element_count() as f64;
        let threads = (self.blocks * self.rows * self.threads) as f64;
        let lanes = f64::from((self.threads.min(self.warp) as u64).ilog2());
        let warps = self.groups().warps();
        let parts = if warps > 1 { warps.min(FEW_WARPS) as f64 + 1.0 } else { 1.0 };
        let kept = if self.keep == ElementStorage::Shared { self.kept.as_slice() } else { &[] };
        let kept_bytes: i64 = kept.iter().map(|&(id, _)| 2 * element_bytes(fusion, id)).sum();
        Work {
            additions: phases * (elements + threads * EXCHANGE * (lanes + parts)),
            tile_bytes: elements * kept_bytes as f64,
            waits: if warps > 1 { phases } else { 0.0 },
            ..Work::default()
        }
    }

    /// Returns the dimensions of a tile that keeps elements. In the tile, elements of adjacent
    /// threads are contiguous. Adjacent elements of one thread are therefore not contiguous in the
    /// tile.
    pub fn kept_dims(&self) -> [i64; 3] {
        [self.rows, self.vector, self.units()]
    }
}

fn vector(facts: &LayoutProperties<'_>, knobs: &Configuration) -> Result<i64, EmitError> {
    let widest = facts.widest();
    let is_vector = |lanes: i64| lanes >= 1 && lanes <= widest && lanes & (lanes - 1) == 0;
    let vector = knobs.checked_knob("vector", || format!("a power of two up to {widest}"), is_vector)?;
    Ok(vector.unwrap_or_else(|| facts.natural_vector()))
}

fn allowed_threads(form: ThreadNormalise, facts: &LayoutProperties<'_>) -> RangeInclusive<i64> {
    match form {
        ThreadNormalise::Warp => 1..=facts.warp(),
        ThreadNormalise::Block => (2 * facts.warp()).min(facts.most_threads())..=facts.most_threads(),
    }
}

fn threads(
    form: ThreadNormalise,
    facts: &LayoutProperties<'_>,
    vector: i64,
    allowed: &RangeInclusive<i64>,
    knobs: &Configuration,
) -> Result<i64, EmitError> {
    let (least, most) = (*allowed.start(), *allowed.end());
    let is_whole = |threads: i64| allowed.contains(&threads) && facts.whole(threads) == threads;
    let wanted = || match form {
        ThreadNormalise::Warp => format!("a power of two up to {most}"),
        ThreadNormalise::Block => format!("a multiple of {} from {least} to {most}", facts.warp()),
    };
    let threads = knobs.checked_knob("threads", wanted, is_whole)?;
    Ok(threads.unwrap_or_else(|| facts.natural_threads(vector).clamp(least, most)))
}

fn rows(facts: &LayoutProperties<'_>, threads: i64, knobs: &Configuration) -> Result<i64, EmitError> {
    let most = facts.most_threads() / threads;
    let is_full = |rows: i64| (1..=most).contains(&rows) && rows * threads % facts.warp() == 0;
    let wanted = || format!("1 to {most}, and whole warps of {threads} threads for a row");
    Ok(knobs.checked_knob("rows", wanted, is_full)?.unwrap_or_else(|| facts.natural_rows(threads)))
}

fn keep(places: &[ElementStorage], knobs: &Configuration) -> Result<ElementStorage, EmitError> {
    let of = |number: i64| places.iter().copied().find(|&place| place as i64 == number);
    let wanted = || "0 (nowhere), or, where they fit, 1 (in shared memory) or 2 (in registers)";
    let wish = knobs.checked_knob("keep", wanted, |number| of(number).is_some())?;
    Ok(wish.and_then(of).or_else(|| places.last().copied()).unwrap_or(ElementStorage::Nowhere))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use fusebox_core::analysis::{TileAccess, bank_conflicts};
    use fusebox_core::emitter::Analysis;
    use fusebox_core::hlo::parse_module;

    use super::*;

    fn layout(form: ThreadNormalise, element: &str, length: i64, knobs: &[(&str, i64)]) -> ThreadLayout {
        let (wide, narrow) = (format!("{element}[300,{length}]"), format!("{element}[300]"));
        let text = format!(
            "add {{ a = {element}[] parameter(0)\n b = {element}[] parameter(1)\n ROOT s = {element}[] add(a, b) }}
fusion {{
  x = {wide} parameter(0)
  zero = {element}[] constant(0)
  s = {narrow} reduce(x, zero), dimensions={{1}}, to_apply=add
  sb = {wide} broadcast(s), dimensions={{0}}
  ROOT d = {wide} subtract(x, sb)
}}"
        );
        let fusion = Fusion::new("k", parse_module(&text, "test.hlo").unwrap()).unwrap();
        let chain = RowChain::of(&fusion).unwrap();
        let knobs = knobs.iter().copied().collect();
        ThreadLayout::new(form, &fusion, &chain, &DeviceDescription::sm(90), &knobs).unwrap()
    }

    /// Returns the map `(th)[step, lane] -> (row in block, lane, unit)` of the positions where a
    /// thread keeps its elements.
    fn kept_map(layout: &ThreadLayout) -> IndexingMap {
        let thread = layout.thread_map();
        let unit = layout.unit_map(0, layout.steps(), 0);
        // Steps replace iterations, because each iteration has one unit.
        let unit = unit.results[0].substitute(&[thread.results[1].clone(), Expr::range(0)], &[], &[]);
        IndexingMap {
            ranges: vec![Variable::named("step", layout.steps()), Variable::named("lane", layout.vector)],
            results: vec![thread.results[2].clone(), Expr::range(1), unit.clone()],
            constraints: vec![Constraint::new(unit, Interval::from_size(layout.units()))],
            ..thread
        }
    }

    #[test]
    fn kept_elements_have_no_conflicts() {
        for (element, element_bytes) in [("s8", 1), ("bf16", 2), ("f32", 4), ("f64", 8), ("c128", 16)] {
            for (form, length, rows) in
                [(ThreadNormalise::Warp, 512, 4), (ThreadNormalise::Block, 1000, 1), (ThreadNormalise::Block, 201, 3)]
            {
                let knobs = [("keep", ElementStorage::Shared as i64), ("rows", rows)];
                let threads = if form == ThreadNormalise::Warp { 32 } else { 96 };
                let layout = layout(form, element, length, &[knobs[0], knobs[1], ("threads", threads)]);
                let layout = ThreadLayout { unrolled: 1, ..layout };
                let access = TileAccess { element_bytes, lanes: 1 };
                assert_eq!(
                    bank_conflicts(&kept_map(&layout), &layout.kept_dims(), access, 32),
                    1,
                    "{element} {length}"
                );
            }
        }
    }

    #[test]
    fn parts_have_no_conflicts() {
        for (form, threads, rows) in [
            (ThreadNormalise::Warp, 4, 32),
            (ThreadNormalise::Warp, 32, 4),
            (ThreadNormalise::Block, 64, 2),
            (ThreadNormalise::Block, 256, 4),
            (ThreadNormalise::Block, 1024, 1),
        ] {
            let layout = layout(form, "f32", 4096, &[("threads", threads), ("rows", rows), ("keep", 0)]);
            let thread = layout.thread_map();
            let [row, in_row] = [thread.results[2].clone(), thread.results[1].clone()];
            let of_warp = in_row.clone().floor_div(layout.warp);
            let is_first = Constraint::new(in_row.modulo(layout.warp.min(threads)), Interval::point(0));
            let write = IndexingMap {
                results: vec![row.clone(), of_warp.clone()],
                constraints: vec![is_first],
                ..thread.clone()
            };
            let read = IndexingMap {
                ranges: vec![Variable::named("part", layout.groups().warps())],
                results: vec![row.clone(), Expr::range(0)],
                ..thread.clone()
            };
            let own = IndexingMap { results: vec![row, of_warp], ..thread };
            for element_bytes in [1, 4, 8, 16] {
                for map in [&write, &read, &own] {
                    let access = TileAccess { element_bytes, lanes: 1 };
                    assert_eq!(
                        bank_conflicts(map, &layout.groups().tile_dims(), access, 32),
                        1,
                        "{threads} threads: {map}"
                    );
                }
            }
        }
    }
}
