//! Chooses the tiles, the launch and the knobs of a kernel.
//!
//! A block computes a tile of queries of one group, and iterates over tiles of the group's keys.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, LaunchDimensions, OutputPlan, Plan, Visit, Work};
use fusebox_core::hlo::InstrId;
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable, ceil_div};

use crate::form::{Attention, Operand, Sizes};

/// Name of the knob for the number of queries per block.
const QUERIES: &str = "queries";
/// Name of the knob for the number of keys per tile.
const KEYS: &str = "keys";
/// Largest number of queries per block, and of keys per tile.
const MOST: i64 = 1024;
/// Smallest number of queries or keys that the emitter chooses if no knob states the number.
const LEAST: i64 = 8;
/// Number of blocks per core that keeps all cores busy until the end.
const BLOCKS_PER_CORE: i64 = 4;
/// Number of threads of a block on a GPU.
const THREADS: i64 = 128;
/// Limit of the memory of a block of one thread, in bytes. A block of one thread has its memory on
/// the stack.
const MOST_BYTES: i64 = 512 << 10;

/// Largest number of vectors of sums that a loop keeps in registers. This number is enough to hide
/// the latency of an addition, and divides each number of keys that the emitter chooses without a
/// knob.
const MOST_SUMS: i64 = 8;

/// Cost of an exponential, in additions.
const EXPONENTIAL: f64 = 20.0;

/// Whether the rows of an operand are queries or keys.
#[derive(Clone, Copy)]
enum Rows {
    Queries,
    Keys,
}

/// The division of the work into tiles.
pub struct Tiles {
    /// Number of queries per block.
    pub queries: i64,
    /// Number of keys per tile.
    pub keys: i64,
    /// Number of threads per block.
    pub threads: i64,
    /// Number of queries per vector of two registers if a block has one thread; else 1.
    pub lanes: i64,
    /// Number of keys or features whose sums a loop keeps in registers at the same time.
    pub sums: i64,
    /// Memory per block, in bytes.
    pub bytes: i64,
}

impl Tiles {
    /// Chooses tile sizes for a device. Knobs of the configuration take precedence.
    ///
    /// # Errors
    /// If a knob's value is impossible, or the smallest tiles need more memory than a block has.
    pub fn new(attention: &Attention, device: &DeviceDescription, knobs: &Configuration) -> Result<Tiles, EmitError> {
        let is_single = device.is_single_threaded_block();
        let element = i64::from(attention.computed_in.bits() / 8);
        let lanes = if is_single { (2 * i64::from(device.register_bytes) / element).max(1) } else { 1 };
        let sums = (i64::from(device.registers) / 2 - 2).clamp(1, MOST_SUMS);
        let threads = if is_single { 1 } else { THREADS };
        let most = if is_single { MOST_BYTES } else { i64::from(device.shared_bytes_per_block) };
        let (queries, keys) = (knobs.knob(QUERIES, 1..=MOST)?, knobs.knob(KEYS, 1..=MOST)?);
        let largest = if is_single { (128, 64) } else { (16, 32) };
        let tiles = |(queries, keys)| {
            let tiles = Tiles { queries, keys, threads, lanes, sums, bytes: 0 };
            Tiles { bytes: tiles.bytes(attention), ..tiles }
        };
        let others = |queries| sizes(keys, largest.1).into_iter().map(move |keys| (queries, keys));
        let all = sizes(queries, largest.0).into_iter().flat_map(others).map(tiles);
        let busy = if is_single { i64::from(device.core_count) * BLOCKS_PER_CORE } else { 0 };
        let missing = |tiles: &Tiles| (busy - tiles.blocks(attention)).max(0);
        let is_wide = |tiles: &Tiles| tiles.queries / 2 >= attention.sizes.queries;
        // The largest, unless smaller ones use more cores or leave fewer lanes idle.
        let best = all.filter(|tiles| tiles.is_possible() && tiles.bytes <= most);
        best.min_by_key(|tiles| (missing(tiles), is_wide(tiles))).ok_or_else(|| EmitError {
            message: format!("no tiles of queries and keys go with {threads} threads, {lanes} lanes and {most} bytes"),
            instruction: None,
        })
    }

    /// With one thread per block, whether the block's queries fill whole vectors. On a GPU, whether
    /// all queries have equally many of the block's threads, and all threads of a query have
    /// equally many of the tile's keys.
    fn is_possible(&self) -> bool {
        match self.threads {
            1 => self.queries > 0 && self.queries % self.lanes == 0,
            threads => self.queries > 0 && threads % self.queries == 0 && self.keys % self.threads_per_query() == 0,
        }
    }

    /// Number of tiles of queries per group.
    fn per_group(&self, attention: &Attention) -> i64 {
        ceil_div(attention.sizes.queries, self.queries)
    }

    fn blocks(&self, attention: &Attention) -> i64 {
        attention.sizes.groups * self.per_group(attention)
    }

    /// Number of bytes of the tiles that `cpu.rs` and `gpu.rs` allocate.
    fn bytes(&self, attention: &Attention) -> i64 {
        let (depth, features) = (attention.sizes.depth, attention.sizes.features);
        let elements = match self.threads {
            1 => self.queries * (depth + features + 2) + self.keys * (depth + features + self.lanes) + 2 * self.lanes,
            _ => self.queries * (depth + self.keys + 2) + self.keys * (depth + 1 + features),
        };
        elements.saturating_mul(i64::from(attention.computed_in.bits() / 8))
    }

    /// Returns the map `(bl) -> (group, first query)`.
    pub fn of_block(&self, attention: &Attention) -> IndexingMap {
        let per_group = self.per_group(attention);
        let results = vec![Expr::dim(0).floor_div(per_group), Expr::dim(0).modulo(per_group) * self.queries];
        IndexingMap::from_tensor_sizes(results, &[self.blocks(attention)], &[])
    }

    /// Threads per query.
    pub fn threads_per_query(&self) -> i64 {
        (self.threads / self.queries).max(1)
    }

    pub fn plan(&self, attention: &Attention) -> Plan {
        let Sizes { groups, queries, keys, .. } = attention.sizes;
        let others = [(self.queries * 2, self.keys), (self.queries / 2, self.keys), (self.queries, self.keys * 2)];
        let others = others.map(|(queries, keys)| Tiles { queries, keys, ..*self });
        let others = others.iter().filter(|tiles| tiles.is_possible() && tiles.bytes(attention) <= self.bytes * 2);
        let launch = LaunchDimensions { blocks: self.blocks(attention) as u64, threads_per_block: self.threads as u32 };
        Plan {
            shared_bytes: self.bytes as u32,
            visits: self.visits(attention),
            work: self.work(attention),
            configuration: self.configuration(),
            alternatives: others.map(Tiles::configuration).collect(),
            notes: vec![format!("{groups} groups of {queries} queries and {keys} keys")],
            ..Plan::new(launch, vec![OutputPlan::unique(self.written(attention))])
        }
    }

    /// A block reads each of its queries once, and all keys and values of its group. The block
    /// calls the host-generated score function for each score, and the host-generated result
    /// function for each element that the block writes.
    fn visits(&self, attention: &Attention) -> Vec<Visit> {
        let Sizes { keys, depth, features, .. } = attention.sizes;
        let whole = |id: InstrId, at: &IndexingMap, rows: Rows, columns: i64, given: Vec<InstrId>| Visit {
            map: self.walked(attention, at, rows, columns),
            values: vec![id],
            given,
        };
        let operand =
            |operand: &Operand, rows, columns| whole(operand.instruction, &operand.at, rows, columns, Vec::new());
        vec![
            operand(&attention.queries, Rows::Queries, depth),
            operand(&attention.keys, Rows::Keys, depth),
            operand(&attention.values, Rows::Keys, features),
            whole(attention.scores, &attention.scores_at, Rows::Queries, keys, vec![attention.first]),
            Visit { map: self.written(attention), values: vec![attention.root], given: vec![attention.second] },
        ]
    }

    /// Returns the map `(th, bl)[row, column] -> index`. The rows are a block's queries or all keys
    /// of its group, and the columns are distributed to the threads. `at` maps
    /// `(group, row, column)` to the index.
    fn walked(&self, attention: &Attention, at: &IndexingMap, rows: Rows, columns: i64) -> IndexingMap {
        let (count, most) = match rows {
            Rows::Queries => (self.queries, attention.sizes.queries),
            Rows::Keys => (attention.sizes.keys, attention.sizes.keys),
        };
        let block = self.of_block(attention);
        let block = |result: usize| block.results[result].substitute(&[Expr::dim(1)], &[], &[]);
        let row = match rows {
            Rows::Queries => block(1) + Expr::range(0),
            Rows::Keys => Expr::range(0),
        };
        let column = Expr::range(1) * self.threads + Expr::dim(0);
        let point = [block(0), row.clone(), column.clone()];
        let steps = ceil_div(columns, self.threads);
        IndexingMap {
            dims: vec![Variable::named("th", self.threads), Variable::named("bl", self.blocks(attention))],
            ranges: vec![Variable::named("row", count), Variable::named("column", steps)],
            results: at.results.iter().map(|it| it.substitute(&point, &[], &[])).collect(),
            ..IndexingMap::default()
        }
        .with_constraint(row, Interval::from_size(most))
        .with_constraint(column, Interval::from_size(columns))
    }

    /// Work of both dots and of one exponential per score. The work is vectorised if blocks have
    /// one thread.
    fn work(&self, attention: &Attention) -> Work {
        let Sizes { groups, queries, keys, depth, features } = attention.sizes;
        let scores = groups as f64 * queries as f64 * keys as f64;
        // A vector of the kernel has two of the processor's.
        let lanes = if self.threads == 1 { self.lanes as f64 / 2.0 } else { 1.0 };
        Work { additions: scores * ((depth + features) as f64 + EXPONENTIAL) / lanes, ..Work::default() }
    }

    fn configuration(&self) -> Configuration {
        Configuration([(QUERIES.to_owned(), self.queries), (KEYS.to_owned(), self.keys)].into())
    }

    /// Returns the map `(th, bl)[loops…] -> index of the result`.
    fn written(&self, attention: &Attention) -> IndexingMap {
        let Sizes { queries, features, .. } = attention.sizes;
        let (thread, shared_by) = (Expr::dim(0), self.threads_per_query());
        let (query, feature, ranges) = match self.threads {
            1 => {
                let ranges = vec![Variable::named("query", self.queries), Variable::named("feature", features)];
                (Expr::range(0), Expr::range(1), ranges)
            }
            _ => {
                let ranges = vec![Variable::named("feature", ceil_div(features, shared_by))];
                (thread.clone().floor_div(shared_by), thread.modulo(shared_by) + Expr::range(0) * shared_by, ranges)
            }
        };
        let block = self.of_block(attention);
        let block = |result: usize| block.results[result].substitute(&[Expr::dim(1)], &[], &[]);
        let query = block(1) + query;
        let point = [block(0), query.clone(), feature.clone()];
        IndexingMap {
            dims: vec![Variable::named("th", self.threads), Variable::named("bl", self.blocks(attention))],
            ranges,
            results: attention.root_at.results.iter().map(|it| it.substitute(&point, &[], &[])).collect(),
            ..IndexingMap::default()
        }
        .with_constraint(query, Interval::from_size(queries))
        .with_constraint(feature, Interval::from_size(features))
        .simplify()
    }
}

/// Returns the sizes to try. If the knob states a size, the list contains only this size. Without a
/// knob, the list contains `largest`, its half, and so on down to `LEAST`.
fn sizes(wanted: Option<i64>, largest: i64) -> Vec<i64> {
    let halves = std::iter::successors(Some(largest), |size| Some(size / 2).filter(|&half| half >= LEAST));
    wanted.map_or_else(|| halves.collect(), |size| vec![size])
}
