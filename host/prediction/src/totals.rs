//! Adds up the visits, the writes and the other work of a plan, and converts the totals to seconds.

use std::borrow::Cow;
use std::collections::HashMap;

use fusebox_core::cost;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, OutputPlan, Plan, Visit};
use fusebox_core::hlo::{ArrayShape, InstrId, Shape};
use fusebox_core::indexing::IndexingMap;

use crate::extent::Extent;
use crate::machine::Machine;
use crate::model::machine;
use crate::positions::Array;
use crate::reached::{HERE, Reached, Read};
use crate::touched::Touched;
use crate::traffic::touched;

/// Fraction of an activity's time that does not overlap with a longer activity of the same kernel.
/// The activities are computing, memory traffic and waiting. Chosen: some overlap is certain and
/// complete overlap is rare. No measurement of this constant is recorded.
const NOT_OVERLAPPED: f64 = 0.25;
/// Cost of an atomic operation, in additions. Chosen so that a schedule without atomic operations
/// ranks first, unless it does over a hundred times the arithmetic of a schedule with atomic
/// operations. No measurement of this constant is recorded.
const ATOMIC: f64 = 128.0;
/// Number of reads that a thread has in flight at the same time. Chosen because compilers load the
/// operands of a few unrolled iterations ahead.
const IN_FLIGHT: f64 = 8.0;
/// Seconds that the prediction adds to a kernel whose results may differ between runs. A
/// reproducible kernel may be slower by this time and still rank first. The value is a policy and
/// not a property of machines.
const REPRODUCIBLE: f64 = 10e-3;
/// Number of blocks that a core distributes in the time that the other cores need to start.
/// Measured together with [`SHORT_BLOCKS`]; the figures were not recorded.
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
    /// Bytes that the kernel writes. If an output is updated in place, only its updated bytes
    /// count.
    pub written: u64,
    /// Seconds from launch to end.
    pub seconds: f64,
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
pub fn visits<'p>(plan: &'p Plan, fusion: &Fusion) -> Cow<'p, [Visit]> {
    if plan.visits.is_empty() { Cow::Owned(as_written(plan, fusion)) } else { Cow::Borrowed(&plan.visits) }
}

/// Whether one core is predicted to run all blocks faster than several cores that first fetch small
/// arrays from each other's caches. `kept` is the total size, in bytes, of the parameters that no
/// kernel writes between two launches. The cache of each core may still contain the core's part of
/// the parameters that `kept` counts.
pub fn is_better_alone(plan: &Plan, prediction: &Prediction, kept: u64, device: &DeviceDescription) -> bool {
    if plan.launch.blocks <= 1 {
        return true;
    }
    if !machine(device).can_run_alone() {
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

/// The parts of a predicted time, in seconds. Computing, memory traffic and waiting overlap, so the
/// total contains the longest of the three and a quarter of the other two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Time from the launch until all cores work.
    pub launch: f64,
    /// Time in which all threads together compute all additions.
    pub computing: f64,
    /// Time to transfer all bytes at the bandwidth of the cache or memory that holds the arrays.
    pub memory: f64,
    /// Time that a thread waits for reads and barriers.
    pub waiting: f64,
    /// Penalty for results that may differ between runs.
    pub unordered: f64,
}

/// The work of a part of a kernel, in all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// Number of additions. Other operations are converted to the number of additions that take as
    /// long. One operation on all lanes of a vector is one addition.
    pub additions: f64,
    /// Bytes transferred from and to memory, including repeated reads.
    pub bytes: f64,
}

impl Amount {
    /// Returns the work that was added after `before`.
    pub fn since(self, before: Amount) -> Amount {
        Amount { additions: self.additions - before.additions, bytes: self.bytes - before.bytes }
    }
}

/// Totals over all visits and writes of a kernel.
pub struct Totals<'a> {
    plan: &'a Plan,
    fusion: &'a Fusion,
    machine: Box<dyn Machine + 'a>,
    /// Number of threads that run at the same time.
    busy: f64,
    additions: f64,
    /// Bytes moved through memory.
    bytes: f64,
    /// Seconds that one thread waits for memory, estimated in two ways. The first number covers all
    /// reads of the thread, of which several are in flight at a time. The second number is the
    /// latency of the slowest read.
    waiting: [f64; 2],
    /// Size in bytes of each parameter that the kernel reads. The entry of the root is the total
    /// size of the outputs.
    footprint: HashMap<InstrId, f64>,
    /// Bytes that the kernel reads from each parameter. Bytes that come from memory several times
    /// are counted each time.
    read: HashMap<InstrId, f64>,
}

/// The reads of one parameter at one place.
struct ReadCost {
    touched: Touched,
    /// Number of elements read per point.
    times: f64,
    /// Seconds until one read returns.
    latency: f64,
}

impl<'a> Totals<'a> {
    /// Creates the totals of a kernel, without any work yet.
    pub fn new(plan: &'a Plan, fusion: &'a Fusion, device: &'a DeviceDescription) -> Self {
        let resident = f64::from(device.core_count) * f64::from(device.max_threads_per_core);
        Totals {
            plan,
            fusion,
            machine: machine(device),
            busy: (plan.launch.threads() as f64).clamp(1.0, resident.max(1.0)),
            additions: 0.0,
            bytes: 0.0,
            waiting: [0.0, 0.0],
            footprint: HashMap::new(),
            read: HashMap::new(),
        }
    }

    /// Adds the work of a visit: the operations that compute its values, and the reads of these
    /// operations.
    pub fn visit(&mut self, visit: &Visit) {
        let Some(extent) = Extent::new(&visit.map) else { return };
        let reached = Reached::new(self.fusion, &visit.values, &visit.given);
        let reads: Vec<ReadCost> = reached.reads.iter().filter_map(|read| self.read(&extent, &reached, read)).collect();
        let touched: Vec<Touched> = reads.iter().map(|read| read.touched).collect();
        let point = self.machine.point(&reached, &touched);
        let mut additions = point.additions;
        // Blocks that have no points of this visit run other loops at the same time.
        let share = extent.blocks / self.plan.launch.blocks as f64;
        for &ReadCost { touched, times, latency } in &reads {
            additions += times * self.machine.access(&touched, point.lanes);
            self.bytes += extent.points * times * touched.far * self.line();
            self.waiting[0] += share * extent.turns * times / touched.lanes * latency / IN_FLIGHT;
            self.waiting[1] = self.waiting[1].max(latency);
        }
        self.additions += extent.points * additions + self.machine.loops(&extent);
    }

    fn read(&mut self, extent: &Extent, reached: &Reached, read: &Read) -> Option<ReadCost> {
        let array = self.fusion.computation().instruction(read.parameter).shape.as_array()?;
        let array = Array::of(array);
        let touched = touched(extent, reached, read.place, &array, &*self.machine);
        let whole = self.footprint.entry(read.parameter).or_default();
        *whole = array.bytes;
        let times = reached.places[read.place].times;
        *self.read.entry(read.parameter).or_default() += extent.points * times * touched.far * self.line();
        Some(ReadCost { touched, times, latency: self.machine.read_latency(array.bytes, touched.pieces) })
    }

    /// Adds the work of writing the results.
    pub fn writes(&mut self) {
        for (output, shape) in self.plan.outputs.iter().zip(output_arrays(self.fusion)) {
            self.write(output, shape);
        }
    }

    fn write(&mut self, output: &OutputPlan, shape: &ArrayShape) {
        let array = Array::of(shape);
        let times = self.machine.moves_of_written_line(self.plan.work.past_caches);
        for map in &output.maps {
            let Some(extent) = Extent::new(map) else { continue };
            let touched = touched(&extent, &Reached::nothing(), HERE, &array, &*self.machine);
            let lanes = self.machine.vector_lanes(&[touched]);
            self.additions += extent.points * self.machine.access(&touched, lanes);
            self.bytes += times * extent.points * touched.far * self.line();
        }
        let results = self.fusion.computation().root;
        *self.footprint.entry(results).or_default() += array.bytes;
    }

    /// Returns the number of bytes that memory delivers at once.
    fn line(&self) -> f64 {
        self.machine.line_bytes() as f64
    }

    /// Returns the work of all visits and writes so far.
    pub fn amount(&self) -> Amount {
        Amount { additions: self.additions, bytes: self.bytes }
    }

    /// Returns the work that the plan states in addition to its visits, converted to additions.
    pub fn additions_of_work(&self) -> f64 {
        let work = &self.plan.work;
        number(work.additions) + number(work.atomics) * ATOMIC + number(work.tile_bytes) / self.machine.tile_word()
    }

    /// Converts the totals to seconds.
    pub fn times(&self) -> Times {
        let (machine, device) = (&self.machine, self.machine.device());
        let threads = self.plan.launch.threads() as f64;
        let computing = machine.computing(self.additions + self.additions_of_work(), threads, self.busy);
        let bandwidth = machine.bandwidth(self.footprint.values().sum::<f64>() as u64);
        let memory = self.bytes / (bandwidth * machine.share_of_bandwidth(self.busy));
        let waves = (threads / self.busy).max(1.0);
        let reading = self.waiting[0].max(self.waiting[1]);
        let waiting = (reading + machine.barriers(number(self.plan.work.waits))) * waves;
        let unordered = if self.plan.work.unordered { REPRODUCIBLE } else { 0.0 };
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
