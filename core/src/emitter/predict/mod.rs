//! Predicts the seconds that a plan's kernel will take. Emitter selection and bids compare these
//! predictions.
//!
//! ```text
//! reached.rs    a visit's values -> operations per point, and places where parameters are read
//! traffic.rs    a place, the visit's loops -> cache lines per point
//! mod.rs        visits, writes and other work, launch, device -> seconds
//! breakdown.rs  the prediction, split into parts
//! ```
//!
//! Predictions serve to compare plans. Tests check the ratios between predictions; the seconds
//! themselves are not exact.

mod breakdown;
mod reached;
mod traffic;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use super::{Fusion, OutputPlan, Plan, Visit};
use crate::cost::{self, STRIDED_READ};
use crate::device::DeviceDescription;
use crate::hlo::{ArrayShape, InstrId, Shape};
use crate::indexing::IndexingMap;
pub use breakdown::{Amount, Breakdown, Times, breakdown};
use reached::{Reached, WHERE};
use traffic::{Array, Extent, Touched};

/// Largest ratio up to which two predicted times are treated as equal. The model is not more
/// precise than this.
const EQUAL: f64 = 1.05;
/// Fraction of an activity's time that does not overlap with a longer activity of the same kernel.
/// The activities are computing, memory traffic and waiting.
const NOT_OVERLAPPED: f64 = 0.25;
/// Number of independent additions that a cpu core starts per cycle.
const ADDITIONS_IN_A_CYCLE: f64 = 2.0;
/// Cycles from the start of an addition until an addition that depends on it can start.
const ADDITION_LATENCY: f64 = 4.0;
/// Cost, in additions, of reading one piece of a cache line from the nearest cache of a core while
/// all warps of the core use this cache.
const PIECE: f64 = 32.0;
/// Cost of an atomic operation, in additions.
const ATOMIC: f64 = 128.0;
/// Seconds until a read from memory returns, and until a read from a near cache returns.
const LATENCY: [f64; 2] = [0.5e-6, 0.04e-6];
/// Seconds from the arrival of one piece of a cache line to the arrival of the next, if one access
/// of a warp reads several pieces.
const BETWEEN_PIECES: f64 = 1e-9;
/// Number of reads that a thread has in flight at the same time.
const IN_FLIGHT: f64 = 8.0;
/// Seconds until all threads of a block have reached a barrier.
const WAIT: f64 = 0.02e-6;
/// Seconds that the prediction adds to a kernel whose results may differ between runs. A
/// reproducible kernel may be slower by this time and still rank first.
const REPRODUCIBLE: f64 = 10e-3;
/// Largest number of additions per point for which the model treats a loop that shuffles elements
/// as vectorised. Loops with larger bodies are unrolled fewer times.
const MOST_WRITTEN_OUT: f64 = 4.0;
/// Cost of starting and ending an innermost loop, in additions.
const LOOP: f64 = 4.0;
/// Cost of combining the lanes of a vector, in additions.
const SUM_OF_LANES: f64 = 16.0;
/// Cost of dividing an index by a constant, in additions.
const DIVISION: f64 = 3.0;
/// Number of blocks that a core distributes in the time that the other cores need to start.
const DEALT: f64 = 8.0;
/// Largest number of blocks for which the prediction counts the time to distribute them. If there
/// are more blocks, the other cores already work while the remaining blocks are distributed.
const SHORT_BLOCKS: f64 = 32.0;

/// The memory traffic and time of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Bytes of the parameters that the kernel reads, counting each byte once. Excludes parameters
    /// that are initial values of outputs.
    pub read: u64,
    /// Bytes that the kernel writes. For an output that is updated in place, this includes only the
    /// updated bytes.
    pub written: u64,
    /// Seconds from launch to end.
    pub seconds: f64,
}

/// Sorts by predicted seconds, and treats nearly equal times as equal. The fastest item and the
/// items that take about as long form the first group; the remaining items are grouped in the same
/// way. Within each group, the total order `otherwise` decides.
pub fn order<T>(list: &mut [T], seconds: impl Fn(&T) -> f64, otherwise: impl Fn(&T, &T) -> Ordering) {
    list.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)).then_with(|| otherwise(a, b)));
    let mut rest = list;
    while let Some(first) = rest.first() {
        let fastest = seconds(first);
        let equal = rest.iter().take_while(|item| seconds(item) <= fastest * EQUAL).count().max(1);
        let (group, later) = rest.split_at_mut(equal);
        group.sort_by(&otherwise);
        rest = later;
    }
}

/// Predicts the time and memory traffic of a plan. If the plan has no visits, the kernel computes
/// every result at the point where it writes the result.
pub fn predict(plan: &Plan, fusion: &Fusion, device: &DeviceDescription) -> Prediction {
    let mut totals = Totals::new(plan, fusion, device);
    visits(plan, fusion).iter().for_each(|visit| totals.visit(visit));
    totals.writes();
    Prediction { seconds: totals.times().seconds(), ..moved(plan, fusion, &totals.read) }
}

/// Returns the visits of a plan. If the plan has no visits, derives visits from the plan's writes.
fn visits<'p>(plan: &'p Plan, fusion: &Fusion) -> Cow<'p, [Visit]> {
    if plan.visits.is_empty() { Cow::Owned(as_written(plan, fusion)) } else { Cow::Borrowed(&plan.visits) }
}

/// Whether one core is predicted to run all blocks faster than several cores that first fetch small
/// arrays from each other's caches. `kept` is the total size, in bytes, of the parameters that no
/// kernel writes between two launches. Each core may still have its part of these parameters in its
/// cache.
pub fn is_better_alone(plan: &Plan, prediction: &Prediction, kept: u64, device: &DeviceDescription) -> bool {
    if plan.launch.blocks <= 1 {
        return true;
    }
    if !device.is_single_threaded_block() {
        return false;
    }
    let cores = (device.core_count.max(1) as f64).min(plan.launch.blocks as f64);
    let sharing = sharing(plan, device);
    let computing = prediction.seconds - device.launch_seconds - sharing;
    let bytes = prediction.read.saturating_sub(kept).saturating_add(prediction.written);
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let fetching = cost::fetching(bytes, device) as f64 / device.memory_bandwidth;
    computing * (cores - 1.0) < sharing + fetching
}

/// Returns the seconds until the other cores have started their blocks and all blocks are
/// distributed.
fn sharing(plan: &Plan, device: &DeviceDescription) -> f64 {
    if plan.launch.blocks > 1 && device.core_count > 1 {
        device.share_seconds * (1.0 + (plan.launch.blocks as f64).min(SHORT_BLOCKS) / DEALT)
    } else {
        0.0
    }
}

/// Computes the bytes that the kernel reads and writes, counting each byte once. `read` maps each
/// parameter that visits read to the total number of bytes read. The model assumes that the kernel
/// reads every other parameter as a whole.
fn moved(plan: &Plan, fusion: &Fusion, read: &HashMap<InstrId, f64>) -> Prediction {
    let computation = fusion.computation();
    let updated: Vec<u32> = plan.outputs.iter().filter_map(|output| output.initial).collect();
    let parameters = computation.parameters().into_iter().enumerate();
    let plain = parameters.filter(|(number, _)| !updated.contains(&(*number as u32)));
    let of_parameter = |(_, id): (usize, InstrId)| {
        let whole = bytes(computation.instruction(id).shape.as_array()?);
        Some(read.get(&id).map_or(whole, |&read| whole.min(read as u64)))
    };
    let read = plain.filter_map(of_parameter).sum();
    let written = output_arrays(fusion).zip(&plan.outputs).map(|(array, output)| written(array, output)).sum();
    Prediction { read, written, seconds: 0.0 }
}

fn output_arrays(fusion: &Fusion) -> impl Iterator<Item = &ArrayShape> {
    fusion.output_shapes().into_iter().filter_map(Shape::as_array)
}

fn bytes(array: &ArrayShape) -> u64 {
    array.byte_size().max(0) as u64
}

fn written(array: &ArrayShape, output: &OutputPlan) -> u64 {
    let points = output.maps.iter().map(IndexingMap::box_size_of_launch).fold(0, u64::saturating_add);
    let touched = points.saturating_mul(array.element_type.byte_size() as u64);
    if output.initial.is_some() { touched.min(bytes(array)) } else { bytes(array) }
}

/// Returns the visits of a kernel that computes every result at the point where it writes the
/// result. One visit computes all results that the same loops write.
fn as_written(plan: &Plan, fusion: &Fusion) -> Vec<Visit> {
    let computation = fusion.computation();
    let leaves = |id: &InstrId| computation.instruction(*id).shape.leaves().len();
    let roots = fusion.roots.iter().flat_map(|root| std::iter::repeat_n(*root, leaves(root)));
    let mut visits: Vec<Visit> = Vec::new();
    for (root, output) in roots.zip(&plan.outputs) {
        for map in &output.maps {
            match visits.iter_mut().find(|visit| visit.map == *map) {
                Some(visit) => visit.values.push(root),
                None => visits.push(Visit { map: map.clone(), values: vec![root], given: Vec::new() }),
            }
        }
    }
    visits
}

/// Returns the number of independent scalar additions that a cpu core computes per second.
fn rate_of_core(device: &DeviceDescription) -> f64 {
    let lanes = f64::from(device.vector_bytes.max(4)) / 4.0;
    device.flops / f64::from(device.core_count.max(1)) / lanes
}

/// Totals over all visits and writes of a kernel.
struct Totals<'a> {
    plan: &'a Plan,
    fusion: &'a Fusion,
    device: &'a DeviceDescription,
    /// Number of threads that run at the same time.
    busy: f64,
    additions: f64,
    /// Bytes moved through memory.
    bytes: f64,
    /// Seconds that one thread waits for memory, estimated in two ways. The first number covers all
    /// reads of the thread, of which several are in flight at a time. The second number is the
    /// latency of the slowest read.
    waiting: [f64; 2],
    /// Number of independent additions that take as long as one addition that depends on the
    /// previous addition.
    waiting_addition: f64,
    /// Size in bytes of each parameter that the kernel reads. The entry of the root is the total
    /// size of the outputs.
    footprint: HashMap<InstrId, f64>,
    /// Bytes that the kernel reads from each parameter. Bytes that come from memory several times
    /// are counted each time.
    read: HashMap<InstrId, f64>,
}

impl<'a> Totals<'a> {
    fn new(plan: &'a Plan, fusion: &'a Fusion, device: &'a DeviceDescription) -> Self {
        let resident = f64::from(device.core_count) * f64::from(device.max_threads_per_core);
        let busy = (plan.launch.threads() as f64).clamp(1.0, resident.max(1.0));
        let (additions, bytes, waiting, footprint) = (0.0, 0.0, [0.0, 0.0], HashMap::new());
        let waiting_addition =
            ADDITION_LATENCY * if device.is_single_threaded_block() { ADDITIONS_IN_A_CYCLE } else { 1.0 };
        let read = HashMap::new();
        Totals { plan, fusion, device, busy, additions, bytes, waiting, waiting_addition, footprint, read }
    }

    /// Adds the work of a visit: the operations that compute its values, and the reads of these
    /// operations.
    fn visit(&mut self, visit: &Visit) {
        let Some(extent) = Extent::new(&visit.map) else { return };
        let reached = Reached::new(self.fusion, &visit.values, &visit.given);
        let reads: Vec<(Touched, f64, f64)> =
            reached.reads.iter().filter_map(|read| self.read(&extent, &reached, read)).collect();
        let is_little = |touched: &Touched| touched.shuffled <= 1.0 || reached.additions <= MOST_WRITTEN_OUT;
        // On a cpu, reductions that may be reordered are vectorised, and the lanes are combined at
        // the end.
        let (regrouped, waiting) = if self.device.is_single_threaded_block() {
            (reached.regrouped, reached.waiting)
        } else {
            (0.0, reached.waiting + reached.regrouped)
        };
        let is_plain = reads.iter().all(|(touched, ..)| touched.is_vector() && is_little(touched)) && waiting == 0.0;
        let lanes = if is_plain { extent.vector_lanes(self.device, &reads) } else { 1.0 };
        let ends = if regrouped > 0.0 { reached.sums * SUM_OF_LANES } else { 0.0 };
        let mut additions = (reached.additions + regrouped) / lanes + ends + waiting * self.waiting_addition;
        // Blocks that have no points of this visit run other loops at the same time.
        let share = extent.blocks / self.plan.launch.blocks as f64;
        for &(touched, times, latency) in &reads {
            additions += times * self.access(&touched, lanes);
            self.bytes += extent.points * times * touched.far * self.line();
            self.waiting[0] += share * extent.turns * times / touched.lanes * latency / IN_FLIGHT;
            self.waiting[1] = self.waiting[1].max(latency);
        }
        self.additions += extent.points * additions + self.looping(&extent);
    }

    /// Returns the overhead of loops, in additions. The overhead is zero if blocks have many
    /// threads, because the loops of these threads are few and short.
    fn looping(&self, extent: &Extent) -> f64 {
        if self.device.is_single_threaded_block() {
            extent.points * (LOOP / extent.innermost + DIVISION * extent.divisions)
        } else {
            0.0
        }
    }

    /// Returns the cache lines that the reads of an array touch, the number of elements read per
    /// point, and the latency of one read in seconds.
    fn read(&mut self, extent: &Extent, reached: &Reached, read: &reached::Read) -> Option<(Touched, f64, f64)> {
        let array = self.fusion.computation().instruction(read.parameter).shape.as_array()?;
        let array = Array::of(array);
        let touched = traffic::touched(extent, reached, read.place, &array, self.device);
        let whole = self.footprint.entry(read.parameter).or_default();
        *whole = array.bytes;
        let times = reached.places[read.place].times;
        *self.read.entry(read.parameter).or_default() += extent.points * times * touched.far * self.line();
        let is_near = array.bytes <= self.device.core_cache_bytes as f64;
        let latency = if self.device.is_single_threaded_block() {
            0.0
        } else {
            LATENCY[usize::from(is_near)] + touched.pieces * BETWEEN_PIECES
        };
        Some((touched, times, latency))
    }

    /// Returns the cost, in additions, of reading or writing one element.
    fn access(&self, touched: &Touched, lanes: f64) -> f64 {
        if !self.device.is_single_threaded_block() {
            return touched.active / touched.lanes + PIECE * touched.near;
        }
        match () {
            () if touched.is_fixed => 0.0,
            () if touched.is_vector() => touched.shuffled / lanes,
            () => 1.0 + STRIDED_READ * touched.missed,
        }
    }

    fn writes(&mut self) {
        for (output, shape) in self.plan.outputs.iter().zip(output_arrays(self.fusion)) {
            self.write(output, shape);
        }
    }

    fn write(&mut self, output: &OutputPlan, shape: &ArrayShape) {
        let array = Array::of(shape);
        let (past, is_cpu) = (self.plan.work.past_caches, self.device.is_single_threaded_block());
        // A cpu reads a cache line before it changes a part of the line.
        let times = if is_cpu && !past { 2.0 } else { 1.0 };
        for map in &output.maps {
            let Some(extent) = Extent::new(map) else { continue };
            let touched = traffic::touched(&extent, &Reached::nothing(), WHERE, &array, self.device);
            let lanes = extent.vector_lanes(self.device, &[(touched, 1.0, 0.0)]);
            self.additions += extent.points * self.access(&touched, lanes);
            self.bytes += times * extent.points * touched.far * self.line();
        }
        let results = self.fusion.computation().root;
        *self.footprint.entry(results).or_default() += array.bytes;
    }

    /// Returns the number of bytes that memory delivers at once.
    fn line(&self) -> f64 {
        traffic::line_bytes(self.device) as f64
    }

    /// Returns the work of all visits and writes so far.
    fn amount(&self) -> Amount {
        Amount { additions: self.additions, bytes: self.bytes }
    }

    /// Returns the work that the plan states in addition to its visits, converted to additions.
    fn additions_of_work(&self) -> f64 {
        let work = &self.plan.work;
        // A cpu moves one vector at a time. A GPU thread moves one word of a shared memory bank.
        let word =
            if self.device.is_single_threaded_block() { f64::from(self.device.vector_bytes.max(4)) } else { 4.0 };
        number(work.additions) + number(work.atomics) * ATOMIC + number(work.tile_bytes) / word
    }

    fn times(&self) -> Times {
        let device = self.device;
        let work = &self.plan.work;
        let is_cpu = device.is_single_threaded_block();
        let additions = self.additions + self.additions_of_work();
        // Blocks run in rounds. The last round may leave threads idle.
        let threads = self.plan.launch.threads() as f64;
        let rounds = (threads / self.busy).ceil() * self.busy / threads;
        let one = if is_cpu { rate_of_core(device) } else { cost::ADDITIONS_PER_SECOND / ADDITION_LATENCY };
        let rate = if is_cpu { self.busy * one } else { (self.busy * one).min(device.flops / 2.0) };
        let computing = additions * if is_cpu { rounds } else { 1.0 } / rate;
        let share = if is_cpu { self.busy / f64::from(device.core_count.max(1)) } else { 1.0 };
        let bandwidth = cost::bandwidth(self.footprint.values().sum::<f64>() as u64, device);
        let memory = self.bytes / (bandwidth * share);
        let waves = (threads / self.busy).max(1.0);
        let waiting =
            (self.waiting[0].max(self.waiting[1]) + if is_cpu { 0.0 } else { number(work.waits) * WAIT }) * waves;
        let unordered = if work.unordered { REPRODUCIBLE } else { 0.0 };
        Times { launch: device.launch_seconds + sharing(self.plan, device), computing, memory, waiting, unordered }
    }
}

impl Times {
    /// Returns the total seconds. Arithmetic, memory traffic and waiting overlap only in part.
    pub fn seconds(&self) -> f64 {
        let Times { launch, computing, memory, waiting, unordered } = *self;
        let longest = computing.max(memory).max(waiting);
        let others = computing + memory + waiting - longest;
        launch + longest + NOT_OVERLAPPED * others + unordered
    }
}

/// Returns an amount that an emitter states, or 0 if the amount is negative or not finite.
fn number(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}
