//! From the fused module to thunks and buffers.
//!
//! Instructions are executed in their order. A value is the list of the slices of its leaves; tuples,
//! parameters and reshapes are lists made of others' slices and cost nothing.
//!
//! Loops of small steps are then made functions (`composites`), which are launched like kernels.
//!
//! Values are immutable, buffers are not: where nobody needs a value any more (`uses`), a kernel that updates it may
//! leave its result in the value's buffer, and a loop's body its next state in the state's.

mod buffers;
mod composites;
mod control;
mod memory;
mod placement;
mod sequence;
mod uses;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use fusebox_core::emitter::Plan;
use fusebox_core::hlo::{ComputationId, Module, Shape};
use fusebox_lowering::Composite;
use fusebox_runtime::{Allocation, AllocationKind, Binding, HostOp, Slice, Thunk, ValueShape};

use crate::CompileError;
use crate::kernels::Kernels;
use buffers::Buffers;
use composites::Composing;
pub use memory::{Alive, Memory};
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
}

/// Makes the steps of the entry computation and places all buffers.
///
/// `made`: what became of each of `kernels`' units.
pub fn schedule(module: &Module, kernels: &Kernels, made: &[Made], alignment: u64) -> Result<Schedule, CompileError> {
    let Some(entry) = module.entry else {
        return Err(CompileError::Internal { phase: "schedule", message: "the module has no entry".into() });
    };
    let mut scheduler = Scheduler::new(module, kernels, made, alignment);
    let (parameters, values) = scheduler.bind_parameters(entry);
    let arguments = Arguments { values, ..Arguments::default() };
    let mut thunks = Vec::new();
    let result = scheduler.sequence(entry, &arguments, &mut thunks)?;
    scheduler.buffers.touch(&result);
    let shape = &module.computation(entry).root_instruction().shape;
    let result = Binding { shape: ValueShape::from(shape), leaves: result };
    Ok(scheduler.finish(thunks, parameters, result))
}

struct Scheduler<'a> {
    module: &'a Module,
    kernels: &'a Kernels,
    made: &'a [Made<'a>],
    buffers: Buffers,
    host_ops: Vec<HostOp>,
    comparators: Vec<(usize, Module, ComputationId)>,
    constants: HashMap<Vec<u8>, Slice>,
}

impl<'a> Scheduler<'a> {
    fn new(module: &'a Module, kernels: &'a Kernels, made: &'a [Made<'a>], alignment: u64) -> Self {
        Scheduler {
            module,
            kernels,
            made,
            buffers: Buffers::new(alignment),
            host_ops: Vec::new(),
            comparators: Vec::new(),
            constants: HashMap::new(),
        }
    }

    /// A buffer for each leaf of each parameter of the entry.
    fn bind_parameters(&mut self, entry: ComputationId) -> (Vec<Binding>, Vec<Vec<Slice>>) {
        let computation = self.module.computation(entry);
        let bindings: Vec<Binding> = computation
            .parameters()
            .iter()
            .map(|&id| &computation.instruction(id).shape)
            .map(|shape| Binding {
                shape: ValueShape::from(shape),
                leaves: leaf_bytes(shape).map(|bytes| self.buffers.parameter(bytes)).collect(),
            })
            .collect();
        let leaves = bindings.iter().map(|b| b.leaves.clone()).collect();
        (bindings, leaves)
    }

    fn finish(mut self, mut thunks: Vec<Thunk>, mut parameters: Vec<Binding>, mut result: Binding) -> Schedule {
        let composites = self.composed(&mut thunks, &parameters, &result);
        let launched = composites::renumber(&mut thunks, self.made.iter().filter(|made| made.kernel.is_some()).count());
        let placed = self.buffers.place(self.module);
        parameters.iter_mut().chain([&mut result]).flat_map(|b| &mut b.leaves).for_each(|s| placed.resolve(s));
        placed.resolve_all(&mut thunks);
        let Scheduler { host_ops, comparators, .. } = self;
        let memory = accounted(placed.memory, &placed.allocations, &result);
        let allocations = placed.allocations;
        Schedule { thunks, launched, composites, allocations, host_ops, comparators, parameters, result, memory }
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
    let arguments = sum(|kind| matches!(kind, AllocationKind::Parameter));
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
