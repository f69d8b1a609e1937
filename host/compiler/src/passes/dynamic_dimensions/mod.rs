//! Replaces arrays with dynamic dimensions by arrays of their bounds, and represents their sizes by
//! scalar values of the program.
//!
//! ```text
//! d = f32[<=8] set-dimension-size(x, n)           n = clamp(0, n, 8)
//! r = f32[] reduce(d, init)                 =>    r = f32[] reduce(select(iota < n, x, 0), init)
//! s = s32[] get-dimension-size(d)                 n
//! ```
//!
//! Every array has as many elements as its bounds say. Elements beyond the sizes are arbitrary, and
//! where they would change a result, this pass masks them. This pass knows which scalar is the size
//! of which dimension; later passes do not. Sizes of the program's own parameters and results are
//! parameters and results too ([`InterfaceSizes`]). Operations for which this pass has no static
//! replacement are refused.
//!
//! [`InterfaceSizes`]: fusebox_core::hlo::InterfaceSizes
//!
//! ```text
//! sizes       sizes of results, from sizes of operands       reductions   reduce, windows, products
//! size_writer scalars, masks                                 movement     reshape, reverse, pad, concatenate
//! borders     loops and branches                             sorts        sort
//! interface   the program's parameters and results           scans        scan
//! indexed     windows whose starts are values                vectors      gather, scatter
//! valid       reductions by combiners of unknown identity
//! ```

mod borders;
mod indexed;
mod interface;
mod movement;
mod reductions;
mod scans;
mod size_writer;
mod sizes;
mod sorts;
mod valid;
mod vectors;

#[cfg(test)]
mod tests;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, InterfaceSizes, Module, Op, Shape};

use super::added_computations::AddedComputations;
use super::{inline_calls, splice};
use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};
use size_writer::{RewriteResult, SizeWriter};
use sizes::Sizes;

/// Largest bound of a dimension. Sizes are `s32`.
const LARGEST: i64 = i32::MAX as i64;

/// Makes all shapes static.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    if !module.computations.iter().flat_map(|it| &it.instructions).any(is_dynamic) {
        return Ok(());
    }
    check(module)?;
    inline_calls::run(module)?;
    inline_fusions(module);
    refuse_in_applied(module)?;
    // The loop reads the shapes that callees declare, so it replaces no computation before all are
    // rewritten.
    let mut added = AddedComputations::to(module);
    let of_sequences = in_role(module, Role::Sequence).into_iter();
    let made = of_sequences.map(|id| Ok((id, static_computation(module, id, &mut added)?)));
    for (id, (new, sizes)) in made.collect::<Result<Vec<_>, CompileError>>()? {
        module.computations[id.index()] = new;
        if module.entry == Some(id) {
            module.interface_sizes = sizes;
        }
    }
    interface::declare(module);
    added.put_into(module);
    // Only computations without callers still have dynamic shapes.
    let rest = module.computations.iter_mut().flat_map(|it| &mut it.instructions);
    rest.for_each(|instruction| instruction.shape = instruction.shape.with_bounds_as_sizes());
    Ok(())
}

fn is_dynamic(instruction: &Instruction) -> bool {
    instruction.shape.has_dynamic_size() || matches!(instruction.op, Op::SetDimensionSize { .. })
}

/// Refuses a module without `ENTRY`, and bounds beyond [`LARGEST`].
fn check(module: &Module) -> Result<(), CompileError> {
    if let Some(entry) = module.entry_computation().filter(|_| module.bare) {
        let message = "a module without `ENTRY` cannot have dynamic dimensions: write `ENTRY` before the computation";
        return Err(CompileError::at_computation(module, entry, message));
    }
    for instruction in module.computations.iter().flat_map(|it| &it.instructions) {
        for array in instruction.shape.leaves().into_iter().filter_map(Shape::as_array) {
            if let Some(d) = (0..array.rank()).find(|&d| array.is_dynamic(d) && array.dims[d] > LARGEST) {
                let message = format!("dimension {d} of {array} has a bound beyond {LARGEST}; sizes are s32");
                return Err(CompileError::at(module, instruction, message));
            }
        }
    }
    Ok(())
}

/// Refuses dynamic sizes in computations that an operation applies to elements or slices.
fn refuse_in_applied(module: &Module) -> Result<(), CompileError> {
    let applied = in_role(module, Role::Applied).into_iter().flat_map(|id| &module.computation(id).instructions);
    match applied.into_iter().find(|instruction| is_dynamic(instruction)) {
        Some(instruction) => {
            let message = format!(
                "{} has a dynamic size in a computation that an operation applies to its elements",
                instruction.opcode()
            );
            Err(CompileError::at(module, instruction, message + "; keep the sizes there static"))
        }
        None => Ok(()),
    }
}

/// Inlines fusions that contain dynamic arrays. The fusion phase later decides which instructions
/// form a kernel.
fn inline_fusions(module: &mut Module) {
    for index in 0..module.computations.len() {
        let is_meant = |instruction: &Instruction| match instruction.op {
            Op::Fusion { calls, .. } => module.computation(calls).instructions.iter().any(is_dynamic),
            _ => false,
        };
        let old = &module.computations[index];
        if !old.instructions.iter().any(is_meant) {
            continue;
        }
        let mut rebuild = Rebuild::new(old);
        for (id, instruction) in old.ids().zip(&old.instructions) {
            let new = match instruction.op {
                Op::Fusion { calls, .. } if is_meant(instruction) => {
                    splice(&mut rebuild, module.computation(calls), instruction)
                }
                _ => rebuild.copy(instruction),
            };
            rebuild.set(id, new);
        }
        module.computations[index] = rebuild.finish();
    }
}

/// Returns the computation with static shapes, in which sizes are values. For the entry, also
/// returns which of its parameters and results are sizes.
fn static_computation(
    module: &Module,
    id: ComputationId,
    added: &mut AddedComputations,
) -> Result<(Computation, InterfaceSizes), CompileError> {
    let old = module.computation(id);
    let is_entry = module.entry == Some(id);
    let (rebuild, interface) = (Rebuild::new(old), InterfaceSizes::default());
    let mut body = BoundedComputation { module, old, is_entry, added, rebuild, sizes: Vec::new(), interface };
    for (id, instruction) in old.ids().zip(&old.instructions) {
        let made = body.instruction(instruction);
        let (new, sizes) = made.map_err(|why| CompileError::at(module, instruction, why))?;
        body.rebuild.set(id, new);
        body.sizes.push(sizes);
    }
    let root = old.root_instruction();
    if !root.shape.has_dynamic_size() {
        return Ok((body.rebuild.finish(), body.interface));
    }
    let result = if is_entry { body.entry_result(root, old.root) } else { body.result(root, old.root) };
    let result = result.map_err(|why| CompileError::at(module, root, why))?;
    Ok((body.rebuild.finish_at(result), body.interface))
}

const SET_INSIDE: &str = "pass a static array and its size, and apply set-dimension-size where the array is used";

/// A computation under construction.
struct BoundedComputation<'b> {
    module: &'b Module,
    old: &'b Computation,
    is_entry: bool,
    added: &'b mut AddedComputations,
    rebuild: Rebuild<'b>,
    /// Sizes of each old instruction visited so far.
    sizes: Vec<Sizes>,
    /// For an entry: which of its parameters and results are sizes.
    interface: InterfaceSizes,
}

impl<'b> BoundedComputation<'b> {
    fn writer(&mut self, origin: &'b Instruction) -> SizeWriter<'_, 'b> {
        SizeWriter { rebuild: &mut self.rebuild, origin }
    }

    /// Rewrites an instruction. Returns its replacement and its sizes.
    fn instruction(&mut self, it: &'b Instruction) -> RewriteResult<(InstrId, Sizes)> {
        let is_foreign = matches!(it.op, Op::CustomCall(_) | Op::Other { .. });
        let is_given = it.operands.iter().any(|&operand| self.old.instruction(operand).shape.has_dynamic_size());
        let is_dynamic = it.shape.has_dynamic_size();
        if is_foreign && (is_given || is_dynamic) {
            return Err(format!("{} cannot have operands or results of dynamic size; {SET_INSIDE}", it.opcode()));
        }
        match &it.op {
            Op::Parameter { number } if is_dynamic && self.is_entry => return Ok(self.entry_parameter(it, *number)),
            Op::Parameter { .. } if is_dynamic => return Ok(self.parameter(it)),
            Op::While { .. } if is_dynamic => return self.while_loop(it),
            Op::Conditional { branches } => return self.conditional(it, branches),
            Op::GetDimensionSize { dimension } => return self.get_size(it, *dimension as usize),
            Op::SetDimensionSize { dimension } => return self.set_size(it, *dimension as usize),
            Op::Tuple | Op::OptBarrier | Op::Copy => {
                let sizes = it.operands.iter().flat_map(|operand| self.sizes[operand.index()].clone()).collect();
                return Ok((self.copy(it), sizes));
            }
            Op::AddDependency => return Ok((self.copy(it), self.sizes[it.operands[0].index()].clone())),
            Op::GetTupleElement { index } => return Ok((self.copy(it), self.element(it, *index as usize))),
            _ => {}
        }
        if it.operands.iter().all(|operand| sizes::are_static(&self.sizes[operand.index()])) {
            return Ok((self.copy(it), sizes::of_bounds(&it.shape)));
        }
        let sizes = self.result_sizes(it)?;
        Ok((self.of_dynamic_arrays(it)?, sizes))
    }

    /// Rewrites an operation on arrays of which at least one size is not the bound.
    fn of_dynamic_arrays(&mut self, it: &'b Instruction) -> RewriteResult {
        match &it.op {
            op if op.is_elementwise() => Ok(self.copy(it)),
            Op::Broadcast { .. } | Op::Transpose { .. } | Op::Slice { .. } => Ok(self.copy(it)),
            Op::Reshape => self.reshape(it),
            Op::Reverse { dimensions } => self.reverse(it, dimensions),
            Op::Concatenate { dimension } => self.concatenate(it, *dimension as usize),
            Op::Pad { .. } => self.pad(it),
            Op::Reduce { dimensions, to_apply } => self.reduce(it, dimensions, *to_apply),
            Op::ReduceWindow { window, to_apply } => self.reduce_window(it, window, *to_apply),
            Op::Sort { dimension, is_stable, to_apply } => self.sort(it, *dimension, *is_stable, *to_apply),
            Op::Scan { .. } => self.scan(it),
            Op::DynamicSlice { sizes } => self.dynamic_slice(it, sizes),
            Op::DynamicUpdateSlice => self.dynamic_update_slice(it),
            Op::Dot(dims) => self.dot(it, dims),
            Op::Convolution(attributes) => self.convolution(it, attributes),
            Op::Gather(dims) => self.gather(it, dims),
            Op::Scatter { dims, .. } => self.scatter(it, dims),
            Op::SelectAndScatter { window, .. } => self.select_and_scatter(it, window),
            // These operations process each matrix, signal or row independently.
            Op::Topk { .. } if self.is_only_outer(it, 1) => Ok(self.copy(it)),
            Op::Cholesky { .. } if self.is_only_outer(it, 2) => Ok(self.copy(it)),
            Op::TriangularSolve { .. } if self.is_only_outer(it, 2) => Ok(self.copy(it)),
            Op::Fft { length, .. } if self.is_only_outer(it, length.len()) => Ok(self.copy(it)),
            op => Err(format!(
                "{} cannot take arrays of dynamic size; pass the static operand of set-dimension-size, with elements \
                 beyond the size that do not change the result",
                op.opcode()
            )),
        }
    }

    /// Whether the innermost `inner` dimensions of all operands have their bounds as sizes.
    fn is_only_outer(&self, it: &Instruction, inner: usize) -> bool {
        let is_static = |operand: usize| {
            let rank = self.dims(it, operand).len();
            self.dynamic(it, operand).iter().all(|&(d, _)| d + inner < rank)
        };
        (0..it.operands.len()).all(is_static)
    }

    fn copy(&mut self, it: &Instruction) -> InstrId {
        let operands = self.rebuild.operands(it);
        self.with_operands(it, operands)
    }

    /// Copies an instruction with other operands.
    fn with_operands(&mut self, it: &Instruction, operands: Vec<InstrId>) -> InstrId {
        self.rebuild.add(it, it.op.clone(), it.shape.with_bounds_as_sizes(), operands)
    }

    fn element(&self, it: &Instruction, index: usize) -> Sizes {
        let operand = it.operands[0];
        let elements = self.old.instruction(operand).shape.as_tuple().unwrap_or_default();
        let arrays = |shape: &Shape| shape.leaves().into_iter().filter(|leaf| leaf.as_array().is_some()).count();
        let first = elements[..index].iter().map(arrays).sum();
        self.sizes[operand.index()].iter().skip(first).take(arrays(&elements[index])).cloned().collect()
    }
}
