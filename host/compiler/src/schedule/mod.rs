//! From the fused module to thunks and buffers.
//!
//! Instructions are executed in the order of the program or in one that frees early (`order`), whichever takes less memory: for the
//! whole program first, then for single computations. A value is the list of the slices of its leaves; tuples, parameters and
//! reshapes are lists made of others' slices and cost nothing.
//! Results may have to stand in donated inputs (`donation`), and values may be made twice to save memory (`rematerialise`).
//!
//! Loops of small steps are then made functions (`composites`), which are launched like kernels.
//!
//! Values are immutable, buffers are not: where nobody needs a value any more (`uses`), a kernel that updates it may
//! leave its result in the value's buffer, and a loop's body its next state in the state's.

mod buffers;
mod composites;
mod control;
mod donation;
mod effects;
mod in_place;
mod interface;
mod late;
mod memory;
mod order;
mod placement;
pub mod rematerialise;
mod sequence;
mod updates;
mod uses;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use fusebox_core::emitter::Plan;
use fusebox_core::hlo::{ComputationId, Module, Shape};
use fusebox_lowering::Composite;
use fusebox_runtime::{Allocation, AllocationKind, Binding, HostOp, Slice, Thunk, ValueShape};

use crate::CompileError;
use crate::kernels::Kernels;
use crate::pointwise::Pair;
use buffers::Buffers;
use composites::Composing;
use donation::Donations;
pub use donation::Shared;
use in_place::Merits;
pub use memory::{Alive, Memory};
use order::Orders;
use sequence::Arguments;

/// What running a program takes, kernels' code aside.
#[derive(Debug)]
pub struct Schedule {
    /// The steps. They launch the kernels in `launched`, by their place there, and after these the composites.
    pub thunks: Vec<Thunk>,
    /// Numbers of the kernels that steps launch, as in [`Made::kernel`]; others are parts of composites.
    pub launched: Vec<u32>,
    /// Loops that became functions.
    pub composites: Vec<Composite>,
    /// The memory.
    pub allocations: Vec<Allocation>,
    /// Operations executed by the host.
    pub host_ops: Vec<HostOp>,
    /// Those whose comparator has to be compiled: which one, and the comparator.
    pub comparators: Vec<(usize, Module, ComputationId)>,
    /// The entry's parameters.
    pub parameters: Vec<Binding>,
    /// The entry's result.
    pub result: Binding,
    /// What the memory is needed for.
    pub memory: Memory,
    /// Per computation, its instructions in the order in which they are executed.
    pub orders: Orders,
    /// Computations that run when most memory is in use, the innermost first.
    pub at_peak: Vec<Running>,
    /// Outputs that may take a parameter's place in all launches, by the kernel's unit.
    pub in_place: Vec<(usize, Pair)>,
}

/// A computation while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// The computation.
    pub computation: ComputationId,
    /// Place, in the order in which they are executed, of the instruction that is executed.
    pub position: usize,
}

/// What became of a fusion.
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The number of its kernel; `None` if a routine executes it.
    pub kernel: Option<u32>,
    /// Whether one thread executes it, so that it may become part of a composite.
    pub runs_alone: bool,
    /// The time that its kernel is predicted to take.
    pub seconds: f64,
    /// Outputs that may take a parameter's place.
    pub pairs: &'a [Pair],
}

/// For how many computations by themselves the other order is tried.
const MOST_TRIED: usize = 3;

/// Makes the steps of the entry computation and places all buffers.
///
/// `made`: what became of each of `kernels`' units.
pub fn schedule(module: &Module, kernels: &Kernels, made: &[Made], alignment: u64) -> Result<Schedule, CompileError> {
    let updates = updates::of_module(module, kernels, made);
    let of_program = order::of_program(module, &updates);
    let best = in_order(module, kernels, made, alignment, &of_program)?;
    let early = order::freeing_early(module, &updates);
    if early == of_program {
        return Ok(best);
    }
    let freeing_early = in_order(module, kernels, made, alignment, &early)?;
    let (mut best, mut orders, other) = match freeing_early.memory.total < best.memory.total {
        true => (freeing_early, early, of_program),
        false => (best, of_program, early),
    };
    // Where most memory is in use the other order may be better for one computation alone.
    let mut tried: HashSet<ComputationId> = HashSet::new();
    while tried.len() < MOST_TRIED {
        let differs = |id: &ComputationId| orders[id.index()] != other[id.index()] && !tried.contains(id);
        let Some(id) = best.at_peak.iter().map(|it| it.computation).find(differs) else { break };
        tried.insert(id);
        let kept = std::mem::replace(&mut orders[id.index()], other[id.index()].clone());
        let changed = in_order(module, kernels, made, alignment, &orders)?;
        match changed.memory.total < best.memory.total {
            true => best = changed,
            false => orders[id.index()] = kept,
        }
    }
    Ok(best)
}

fn in_order(
    module: &Module,
    kernels: &Kernels,
    made: &[Made],
    alignment: u64,
    orders: &Orders,
) -> Result<Schedule, CompileError> {
    let Some(entry) = module.entry else {
        return Err(CompileError::Internal { phase: "schedule", message: "the module has no entry".into() });
    };
    let mut scheduler = Scheduler::new(module, kernels, made, Buffers::new(alignment), orders);
    let computation = module.computation(entry);
    let donations = Donations::of(module, computation);
    let (parameters, values) = scheduler.bind_parameters(entry, &donations);
    let inputs: Vec<Slice> = values.iter().flatten().copied().collect();
    let targets: Vec<Option<Slice>> = donations.place_of.iter().map(|place| place.map(|input| inputs[input])).collect();
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
    made: &'a [Made<'a>],
    orders: &'a Orders,
    buffers: Buffers,
    host_ops: Vec<HostOp>,
    comparators: Vec<(usize, Module, ComputationId)>,
    constants: HashMap<Vec<u8>, Slice>,
    merits: Merits,
    /// Each run of a computation, inner ones before outer ones.
    runs: Vec<Run>,
}

/// The steps of a computation that runs once.
struct Run {
    computation: ComputationId,
    steps: RangeInclusive<u32>,
    /// Per instruction in the order in which they are executed, the last step before it.
    begins: Vec<u32>,
}

impl Run {
    /// The computation at a step of its own.
    fn at(&self, step: u32) -> Option<Running> {
        // What an instruction does begins with the step after the last one before.
        let position = self.begins.partition_point(|&begin| begin < step).saturating_sub(1);
        self.steps.contains(&step).then_some(Running { computation: self.computation, position })
    }
}

impl<'a> Scheduler<'a> {
    fn new(
        module: &'a Module,
        kernels: &'a Kernels,
        made: &'a [Made<'a>],
        buffers: Buffers,
        orders: &'a Orders,
    ) -> Self {
        Scheduler {
            module,
            kernels,
            made,
            orders,
            buffers,
            host_ops: Vec::new(),
            comparators: Vec::new(),
            constants: HashMap::new(),
            merits: Merits::new(),
            runs: Vec::new(),
        }
    }

    /// A buffer for each leaf of each parameter of the entry.
    fn bind_parameters(&mut self, entry: ComputationId, donations: &Donations) -> (Vec<Binding>, Vec<Vec<Slice>>) {
        let computation = self.module.computation(entry);
        let mut numbers = 0..;
        let mut buffer = |bytes| match numbers.next().is_some_and(|number| donations.donated.contains(&number)) {
            true => self.buffers.donated(bytes),
            false => self.buffers.parameter(bytes),
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

    /// Copies results that were not made in the buffers which they are to stand in; moves others out of these.
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
        let launched = composites::renumber(&mut thunks, self.made.iter().filter(|made| made.kernel.is_some()).count());
        let placed = self.buffers.place(self.module);
        parameters.iter_mut().chain([&mut result]).flat_map(|b| &mut b.leaves).for_each(|s| placed.resolve(s));
        placed.resolve_all(&mut thunks);
        let in_place = in_place::chosen(&self.merits);
        let Scheduler { host_ops, comparators, .. } = self;
        let memory = accounted(placed.memory, &placed.allocations, &result);
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

    fn composed(&mut self, thunks: &mut [Thunk], parameters: &[Binding], result: &Binding) -> Vec<Composite> {
        let units = self.kernels.units.iter().zip(self.made).filter(|(_, made)| made.kernel.is_some());
        let kernels: Vec<(&str, Made)> = units.map(|(unit, made)| (unit.fusion.name.as_str(), *made)).collect();
        let interface: Vec<Slice> = parameters.iter().chain([result]).flat_map(|it| it.leaves.clone()).collect();
        Composing::new(&kernels, &mut self.buffers, thunks, &interface).compose(thunks)
    }
}

/// What allocations are for, and how much of the temporary ones is the result.
fn accounted(memory: Memory, allocations: &[Allocation], result: &Binding) -> Memory {
    let sum = |is_such: fn(&AllocationKind) -> bool| -> u64 {
        allocations.iter().filter(|it| is_such(&it.kind)).map(|it| it.bytes).sum()
    };
    let arguments = sum(|kind| matches!(kind, AllocationKind::Parameter | AllocationKind::Donated));
    let constants = sum(|kind| matches!(kind, AllocationKind::Constant(_)));
    let written = sum(|kind| matches!(kind, AllocationKind::Temporary));
    let is_written = |slice: &&Slice| allocations[slice.allocation as usize].kind == AllocationKind::Temporary;
    let results: HashSet<&Slice> = result.leaves.iter().filter(is_written).collect();
    let outputs: u64 = results.iter().map(|slice| slice.bytes).sum();
    let total = arguments + constants + written;
    Memory { arguments, constants, outputs, temporaries: written.saturating_sub(outputs), total, ..memory }
}

/// Sizes of a shape's array leaves.
fn leaf_bytes(shape: &Shape) -> impl Iterator<Item = u64> {
    shape.leaves().into_iter().filter_map(Shape::as_array).map(|array| array.byte_size() as u64)
}

/// Number of a shape's array leaves.
fn leaf_count(shape: &Shape) -> usize {
    leaf_bytes(shape).count()
}
