//! Replaces each array with dynamic dimensions by a static array whose sizes are the bounds.
//! Represents the dynamic sizes by scalar values of the program.
//!
//! ```text
//! d = f32[<=8] set-dimension-size(x, n)           n = clamp(0, n, 8)
//! r = f32[] reduce(d, init)                 =>    r = f32[] reduce(select(iota < n, x, 0), init)
//! s = s32[] get-dimension-size(d)                 n
//! ```
//!
//! Every static array has as many elements as the bounds of the dynamic array say. Elements beyond
//! the dynamic sizes have arbitrary values. If elements beyond the sizes would change a result,
//! this pass masks these elements. Only this pass knows which scalar is the size of which
//! dimension. Sizes of the program's own parameters and results become parameters and results, too
//! ([`InterfaceSizes`]). This pass refuses operations for which it has no static replacement.
//!
//! [`InterfaceSizes`]: fusebox_core::hlo::InterfaceSizes
//!
//! ```text
//! sizes       sizes of results, from sizes of operands       reductions   reduce, windows, products
//! masks       masks of the elements within sizes             movement     reshape, reverse, pad, concatenate
//! borders     loops and branches                             sorts        sort
//! interface   the program's parameters and results           scans        scan
//! indexed     windows whose starts are values                vectors      gather, scatter
//! valid       reductions by combiners of unknown identity
//! ```

mod borders;
mod indexed;
mod interface;
mod masks;
mod movement;
mod reductions;
mod scans;
mod sizes;
mod sorts;
mod valid;
mod vectors;

#[cfg(test)]
mod tests;

use fusebox_core::hlo::{
    ArrayShape, Computation, ComputationId, InstrId, Instruction, InterfaceSizes, Module, Op, Shape,
};
use fusebox_edit::{Builder, Rewrite, Rewritten, rewrite};

use super::inline_calls;
use crate::CompileError;
use crate::roles::{Role, in_role};
use sizes::Sizes;

/// Largest bound of a dimension. Sizes are `s32`.
const LARGEST: i64 = i32::MAX as i64;

/// The result of a rewrite, or the reason why the operation cannot be rewritten.
type RewriteResult<T = InstrId> = Result<T, String>;

/// Makes all shapes static.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    if !module.computations.iter().flat_map(|it| &it.instructions).any(is_dynamic) {
        return Ok(());
    }
    check(module)?;
    inline_calls::run(module)?;
    inline_fusions(module)?;
    refuse_in_applied(module)?;
    // Callers read the shapes that callees declared before the pass.
    let declared = module.clone();
    for id in in_role(module, Role::Sequence) {
        let (new, sizes) = static_computation(module, &declared, id)?;
        new.put_into(module, id);
        if module.entry == Some(id) {
            module.interface_sizes = sizes;
        }
    }
    interface::declare(module);
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
        for array in sizes::arrays(&instruction.shape) {
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
fn inline_fusions(module: &mut Module) -> Result<(), CompileError> {
    for id in module.ids() {
        if module.computation(id).instructions.iter().any(|it| dynamic_fusion(module, it).is_some()) {
            rewrite(module, id, |edit, _, instruction| {
                let arguments = edit.operands(instruction);
                let fused = dynamic_fusion(edit.module(), instruction);
                Ok::<_, CompileError>(fused.map(|fused| edit.splice(fused, &arguments)))
            })?;
        }
    }
    Ok(())
}

/// Returns the computation of a fusion that contains dynamic arrays.
fn dynamic_fusion<'m>(module: &'m Module, instruction: &Instruction) -> Option<&'m Computation> {
    let Op::Fusion { calls, .. } = instruction.op else { return None };
    Some(module.computation(calls)).filter(|fused| fused.instructions.iter().any(is_dynamic))
}

/// Returns the computation with static shapes, in which sizes are values. In `module`, the callees
/// already have static shapes. In `declared`, the callees have their declared shapes. For the
/// entry, also returns which parameters and results are sizes.
fn static_computation(
    module: &Module,
    declared: &Module,
    id: ComputationId,
) -> Result<(Rewritten, InterfaceSizes), CompileError> {
    let (old, is_entry) = (declared.computation(id), module.entry == Some(id));
    let (edit, interface) = (Rewrite::new(module, old), InterfaceSizes::default());
    let mut body = BoundedComputation { declared, edit, is_entry, sizes: Vec::new(), interface };
    for (id, instruction) in old.ids().zip(&old.instructions) {
        body.edit.set_origin(instruction);
        let made = body.instruction(instruction);
        let (new, sizes) = made.map_err(|why| CompileError::at(module, instruction, why))?;
        body.edit.set(id, new);
        body.sizes.push(sizes);
    }
    let root = old.root_instruction();
    if !root.shape.has_dynamic_size() {
        return Ok((body.edit.finish()?, body.interface));
    }
    body.edit.set_origin(root);
    let result = if is_entry { body.entry_result(root, old.root) } else { body.result(root, old.root) };
    let result = result.map_err(|why| CompileError::at(module, root, why))?;
    Ok((body.edit.finish_at(result)?, body.interface))
}

const SET_INSIDE: &str = "pass a static array and its size, and apply set-dimension-size where the array is used";

/// A computation under construction.
struct BoundedComputation<'b> {
    /// The module before the pass.
    declared: &'b Module,
    edit: Rewrite<'b>,
    is_entry: bool,
    /// Sizes of each old instruction visited so far.
    sizes: Vec<Sizes>,
    /// Which parameters and results are sizes, if the computation is the entry.
    interface: InterfaceSizes,
}

impl<'b> BoundedComputation<'b> {
    /// Rewrites an instruction. Returns the replacement of the instruction, and the sizes of the
    /// replacement.
    fn instruction(&mut self, it: &'b Instruction) -> RewriteResult<(InstrId, Sizes)> {
        let is_foreign = matches!(it.op, Op::CustomCall(_) | Op::Other { .. });
        let is_given = it.operands.iter().any(|&operand| self.edit.old().instruction(operand).shape.has_dynamic_size());
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

    /// Rewrites an operation that reads at least one array in which a size differs from its bound.
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

    /// Whether, in every operand, the sizes of the innermost `inner` dimensions equal their bounds.
    fn is_only_outer(&self, it: &Instruction, inner: usize) -> bool {
        let is_static = |operand: usize| {
            let rank = self.dims(it, operand).len();
            self.dynamic(it, operand).iter().all(|&(d, _)| d + inner < rank)
        };
        (0..it.operands.len()).all(is_static)
    }

    fn copy(&mut self, it: &Instruction) -> InstrId {
        let operands = self.edit.operands(it);
        self.with_operands(it, operands)
    }

    /// Copies an instruction with other operands.
    fn with_operands(&mut self, it: &Instruction, operands: Vec<InstrId>) -> InstrId {
        self.edit.add_shaped(it.op.clone(), it.shape.with_bounds_as_sizes(), operands)
    }

    fn element(&self, it: &Instruction, index: usize) -> Sizes {
        let operand = it.operands[0];
        let elements = self.edit.old().instruction(operand).shape.as_tuple().unwrap_or_default();
        let arrays = |shape: &Shape| sizes::arrays(shape).count();
        let first = elements[..index].iter().map(arrays).sum();
        self.sizes[operand.index()].iter().skip(first).take(arrays(&elements[index])).cloned().collect()
    }
}

/// Returns the shape of a value, which must be an array.
fn array_of(edit: &Builder, id: InstrId) -> RewriteResult<ArrayShape> {
    let shape = edit.shape(id);
    shape.as_array().cloned().ok_or_else(|| format!("an array is expected, not {shape}"))
}
