//! Schedules the fused module: creates thunks and buffers.
//!
//! Instructions execute in the order of the program or in an order that frees memory early
//! (`order`). The scheduler picks the order that takes less memory, first for the whole program,
//! then for single computations. The scheduler represents a value by the slices of buffers that
//! hold its leaves. Tuples, parameters and reshapes refer to existing buffers, and cost nothing.
//! The caller may demand that results are in donated inputs (`donation`). To save memory, values
//! may be rematerialised (`rematerialise`).
//!
//! On a GPU, the scheduler places values of independent thunks in separate memory, so that the GPU
//! can execute the thunks at the same time (`concurrency`). The scheduler does so only if the
//! program then needs no more memory in total.
//!
//! Code that devices execute with parts of arrays has its own memory (`devices`).
//!
//! The scheduler then compiles loops of small thunks to functions (`composites`), which are
//! launched like kernels.
//!
//! Values are immutable, buffers are not. If a value is no longer needed (`uses`), a kernel that
//! updates the value may write its result into the value's buffer. A loop's body may write its next
//! state into the state's buffer in the same way.

mod buffers;
mod composites;
mod concurrency;
mod control;
mod devices;
mod donation;
mod effects;
mod in_place;
mod interface;
mod late;
mod memory;
mod order;
mod placement;
pub mod rematerialise;
mod result_memory;
mod sequence;
mod updates;
mod uses;

#[cfg(test)]
mod tests;

pub use buffers::BufferRules;

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use fusebox_core::emitter::Plan;
use fusebox_core::hlo::{ComputationId, Module, Shape};
use fusebox_lowering::Composite;
use fusebox_runtime::{Allocation, AllocationKind, Binding, HostOp, Slice, Thunk, ValueShape};

use crate::CompileError;
use crate::kernels::Kernels;
use crate::memory_use::MemoryUse;
use crate::pointwise::InPlacePair;
use buffers::Buffers;
use composites::CompositeBuilder;
use concurrency::{Accesses, RequiredOrder};
use donation::Donations;
use in_place::Merits;
use order::Orders;
use sequence::Arguments;

/// Everything needed to run a program, except the kernels' code.
#[derive(Debug)]
pub struct Schedule {
    /// The thunks of the program. A thunk refers to a kernel by the kernel's position in
    /// `launched`. The numbers of composites follow the numbers of kernels.
    pub thunks: Vec<Thunk>,
    /// Numbers of the kernels that thunks launch, as in [`PlannedFusion::kernel`]. Only composites
    /// call the kernels that are not in `launched`.
    pub launched: Vec<u32>,
    /// Loops that became functions.
    pub composites: Vec<Composite>,
    /// Allocations of all buffers.
    pub allocations: Vec<Allocation>,
    /// Operations executed by the host.
    pub host_ops: Vec<HostOp>,
    /// Host operations whose comparator must be compiled: index of the operation, and module and id
    /// of the comparator.
    pub comparators: Vec<(usize, Module, ComputationId)>,
    /// The entry's parameters.
    pub parameters: Vec<Binding>,
    /// The entry's result.
    pub result: Binding,
    /// The program's memory, by purpose.
    pub memory: MemoryUse,
    /// For each computation, its instructions in execution order.
    pub orders: Orders,
    /// Computations that run at the peak of memory use, the innermost first.
    pub at_peak: Vec<RunningComputation>,
    /// Outputs that may be written into a parameter's buffer at all launches, each with the index
    /// of its kernel in `Kernels::units`.
    pub in_place: Vec<(usize, InPlacePair)>,
}

/// A computation while the program executes it.
#[derive(Clone, Copy, Debug)]
pub struct RunningComputation {
    /// The computation.
    pub computation: ComputationId,
    /// Position of the current instruction in execution order.
    pub position: usize,
}

/// The decisions about a fusion.
#[derive(Clone, Copy, Debug)]
pub struct PlannedFusion<'a> {
    /// Plan of the fusion.
    pub plan: &'a Plan,
    /// Index of the fusion's kernel. `None` if a routine executes the fusion.
    pub kernel: Option<u32>,
    /// Whether one thread executes the kernel. A composite may contain only kernels that one thread
    /// executes.
    pub runs_alone: bool,
    /// Predicted time of the kernel, in seconds.
    pub seconds: f64,
    /// Outputs that may be written into a parameter's buffer.
    pub pairs: &'a [InPlacePair],
}

/// Largest number of computations for which the scheduler tries the other order of instructions,
/// one computation at a time.
const MOST_TRIED: usize = 3;

/// Creates the steps of the entry computation and places all buffers.
///
/// `planned` contains the decisions about each unit of `kernels`.
pub fn schedule(
    module: &Module,
    kernels: &Kernels,
    planned: &[PlannedFusion],
    rules: BufferRules,
) -> Result<Schedule, CompileError> {
    let updates = updates::of_module(module, kernels, planned);
    let of_program = order::of_program(module, &updates);
    let best = in_order(module, kernels, planned, rules, &of_program)?;
    let early = order::freeing_early(module, &updates);
    if early == of_program {
        return Ok(best);
    }
    let freeing_early = in_order(module, kernels, planned, rules, &early)?;
    let (mut best, mut orders, other) = if freeing_early.memory.total < best.memory.total {
        (freeing_early, early, of_program)
    } else {
        (best, of_program, early)
    };
    // The program may need less memory if only one of the computations that run at the peak has the
    // other order.
    let mut tried: HashSet<ComputationId> = HashSet::new();
    while tried.len() < MOST_TRIED {
        let differs = |id: &ComputationId| orders[id.index()] != other[id.index()] && !tried.contains(id);
        let Some(id) = best.at_peak.iter().map(|it| it.computation).find(differs) else { break };
        tried.insert(id);
        let kept = std::mem::replace(&mut orders[id.index()], other[id.index()].clone());
        let changed = in_order(module, kernels, planned, rules, &orders)?;
        if changed.memory.total < best.memory.total { best = changed } else { orders[id.index()] = kept }
    }
    Ok(best)
}

fn in_order(
    module: &Module,
    kernels: &Kernels,
    planned: &[PlannedFusion],
    rules: BufferRules,
    orders: &Orders,
) -> Result<Schedule, CompileError> {
    let Some(entry) = module.entry else {
        return Err(CompileError::Internal { phase: "schedule", message: "the module has no entry".into() });
    };
    let mut scheduler = Scheduler::new(module, kernels, planned, Buffers::new(rules), orders);
    let computation = module.computation(entry);
    let donations = Donations::of(module, computation);
    let (parameters, values) = scheduler.bind_parameters(entry, &donations);
    let inputs: Vec<Slice> = values.iter().flatten().copied().collect();
    let targets: Vec<Option<Slice>> = donations.input_of.iter().map(|place| place.map(|input| inputs[input])).collect();
    let arguments = Arguments { values, borrowed: HashSet::new(), targets: targets.clone() };
    let mut thunks = Vec::new();
    let values = scheduler.sequence(entry, &arguments, &mut thunks)?;
    let result = scheduler.results_in_place(&values, &targets, &mut thunks);
    let shape = ValueShape::from(&computation.root_instruction().shape);
    let result = Binding { shape, leaves: result, sizes: Vec::new() };
    let runs = std::mem::take(&mut scheduler.runs);
    let mut schedule = scheduler.finish(thunks, parameters, result);
    schedule.orders.clone_from(orders);
    schedule.at_peak = runs.iter().filter_map(|run| run.at(schedule.memory.peak_step)).collect();
    schedule.memory.shared = donations.shared(computation);
    Ok(schedule)
}

struct Scheduler<'a> {
    module: &'a Module,
    kernels: &'a Kernels,
    planned: &'a [PlannedFusion<'a>],
    orders: &'a Orders,
    buffers: Buffers,
    host_ops: Vec<HostOp>,
    comparators: Vec<(usize, Module, ComputationId)>,
    constants: HashMap<Vec<u8>, Slice>,
    merits: Merits,
    /// Bytes of memory that manual computations use, summed over their devices.
    device_bytes: u64,
    /// Each run of a computation. Inner runs precede outer runs.
    runs: Vec<ComputationRun>,
}

/// The steps of one run of a computation.
struct ComputationRun {
    computation: ComputationId,
    steps: RangeInclusive<u32>,
    /// For each instruction in execution order, the last step before the instruction.
    begins: Vec<u32>,
}

impl ComputationRun {
    /// Returns the computation and its current instruction, if this run includes the step.
    fn at(&self, step: u32) -> Option<RunningComputation> {
        // An instruction begins with the step after its entry in `begins`.
        let position = self.begins.partition_point(|&begin| begin < step).saturating_sub(1);
        self.steps.contains(&step).then_some(RunningComputation { computation: self.computation, position })
    }
}

impl<'a> Scheduler<'a> {
    fn new(
        module: &'a Module,
        kernels: &'a Kernels,
        planned: &'a [PlannedFusion<'a>],
        buffers: Buffers,
        orders: &'a Orders,
    ) -> Self {
        Scheduler {
            module,
            kernels,
            planned,
            orders,
            buffers,
            host_ops: Vec::new(),
            comparators: Vec::new(),
            constants: HashMap::new(),
            merits: Merits::new(),
            device_bytes: 0,
            runs: Vec::new(),
        }
    }

    /// Creates a buffer for each leaf of each parameter of the entry.
    fn bind_parameters(&mut self, entry: ComputationId, donations: &Donations) -> (Vec<Binding>, Vec<Vec<Slice>>) {
        let computation = self.module.computation(entry);
        let mut numbers = 0..;
        let mut buffer = |bytes| {
            if numbers.next().is_some_and(|number| donations.donated.contains(&number)) {
                self.buffers.donated(bytes)
            } else {
                self.buffers.parameter(bytes)
            }
        };
        let bindings: Vec<Binding> = computation
            .parameters()
            .iter()
            .map(|&id| &computation.instruction(id).shape)
            .map(|shape| Binding {
                shape: ValueShape::from(shape),
                leaves: leaf_bytes(shape).map(&mut buffer).collect(),
                sizes: Vec::new(),
            })
            .collect();
        let leaves = bindings.iter().map(|b| b.leaves.clone()).collect();
        (bindings, leaves)
    }

    /// Copies each result that has a target buffer into this buffer, unless the result is in this
    /// buffer already. Moves a result without a target out of the target buffer of another result.
    fn results_in_place(&mut self, values: &[Slice], targets: &[Option<Slice>], thunks: &mut Vec<Thunk>) -> Vec<Slice> {
        let is_overwritten = |value: &Slice| {
            let is_one = |(other, target): (&Slice, &Option<Slice>)| other != value && target.as_ref() == Some(value);
            values.iter().zip(targets).any(is_one)
        };
        let mut places = Vec::with_capacity(values.len());
        for (value, target) in values.iter().zip(targets) {
            places.push(match target {
                Some(target) => *target,
                None if is_overwritten(value) => self.buffers.temporary(value.bytes),
                None => *value,
            });
        }
        self.copy_all(values, &places, thunks);
        self.buffers.touch(&places);
        places
    }

    fn finish(mut self, mut thunks: Vec<Thunk>, mut parameters: Vec<Binding>, mut result: Binding) -> Schedule {
        let composites = self.composed(&mut thunks, &parameters, &result);
        let is_concurrent = self.buffers.rules().is_concurrent;
        let order = if is_concurrent { self.required_order(&thunks) } else { RequiredOrder::default() };
        let on_devices = self.host_ops.iter_mut().filter_map(|op| op.per_device.as_mut());
        let mut sequences: Vec<&mut [Thunk]> = on_devices.map(|code| &mut code.thunks[..]).collect();
        sequences.push(&mut thunks);
        let kernels = self.planned.iter().filter(|planned| planned.kernel.is_some()).count();
        let launched = composites::renumber(&mut sequences, kernels);
        result.leaves.iter().for_each(|leaf| self.buffers.hand_out(leaf));
        let placed = self.buffers.place(self.module, &order);
        parameters.iter_mut().chain([&mut result]).flat_map(|b| &mut b.leaves).for_each(|s| placed.resolve(s));
        placed.resolve_all(&mut thunks);
        let in_place = in_place::chosen(&self.merits);
        let Scheduler { host_ops, comparators, device_bytes, .. } = self;
        let mut memory = accounted(placed.memory, &placed.allocations);
        memory.temporaries += device_bytes;
        memory.total += device_bytes;
        interface::tell_sizes(&self.module.interface_sizes, &mut parameters, &mut result);
        let allocations = placed.allocations;
        Schedule {
            thunks,
            launched,
            composites,
            allocations,
            host_ops,
            comparators,
            parameters,
            result,
            memory,
            in_place,
            orders: Orders::new(),
            at_peak: Vec::new(),
        }
    }

    /// Returns the order of thunks that the program requires as long as no buffers share memory.
    fn required_order(&self, thunks: &[Thunk]) -> RequiredOrder {
        let outputs: HashMap<u32, usize> =
            self.planned.iter().filter_map(|planned| Some((planned.kernel?, planned.plan.outputs.len()))).collect();
        let outputs = |kernel: u32| outputs.get(&kernel).copied().unwrap_or(usize::MAX);
        let accesses = |thunk| {
            let mut accesses = Vec::new();
            let mut add = |slice: &Slice, is_written| accesses.push((*slice, is_written));
            composites::each_slice_of(thunk, &outputs, &mut add);
            accesses
        };
        let all: Vec<Accesses> = fusebox_thunks::all(thunks).map(accesses).collect();
        RequiredOrder::of(&all, self.buffers.count())
    }

    fn composed(&mut self, thunks: &mut [Thunk], parameters: &[Binding], result: &Binding) -> Vec<Composite> {
        let units = self.kernels.units.iter().zip(self.planned).filter(|(_, planned)| planned.kernel.is_some());
        let kernels: Vec<(&str, PlannedFusion)> =
            units.map(|(unit, planned)| (unit.fusion.name.as_str(), *planned)).collect();
        let interface: Vec<Slice> = parameters.iter().chain([result]).flat_map(|it| it.leaves.clone()).collect();
        CompositeBuilder::new(&kernels, &mut self.buffers, thunks, &interface).compose(thunks)
    }
}

/// Sums allocations by purpose.
fn accounted(memory: MemoryUse, allocations: &[Allocation]) -> MemoryUse {
    let sum = |is_such: fn(&AllocationKind) -> bool| -> u64 {
        allocations.iter().filter(|it| is_such(&it.kind)).map(|it| it.bytes).sum()
    };
    let arguments = sum(|kind| matches!(kind, AllocationKind::Parameter | AllocationKind::Donated));
    let constants = sum(|kind| matches!(kind, AllocationKind::Constant(_)));
    let outputs = sum(|kind| matches!(kind, AllocationKind::Result));
    let temporaries = sum(|kind| matches!(kind, AllocationKind::Temporary));
    let total = arguments + constants + outputs + temporaries;
    MemoryUse { arguments, constants, outputs, temporaries, total, ..memory }
}

/// Returns the sizes of a shape's array leaves, in bytes.
fn leaf_bytes(shape: &Shape) -> impl Iterator<Item = u64> {
    shape.leaves().into_iter().filter_map(Shape::as_array).map(|array| array.byte_size() as u64)
}

/// Returns the number of a shape's array leaves.
fn leaf_count(shape: &Shape) -> usize {
    leaf_bytes(shape).count()
}
