//! Kernels whose operands and results are being changed.

use std::collections::HashMap;

use fusebox_core::cost::{ROUND_TRIP, is_function, is_heavy, per_element};
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};
use fusebox_edit::Rewrite;

use super::is_scalar_constant;
use crate::equal_instructions::{depends_on_operands_alone, merge_equal};
use crate::side_effects::SideEffects;

/// Largest number of additions per element that a kernel may repeat in order to read one value
/// less.
const MOST_ADDITIONS: f64 = 4.0 * ROUND_TRIP;

/// A fusion, including all changes made so far.
#[derive(Clone, Debug)]
pub struct ChangedKernel {
    /// Id of the fused computation.
    pub calls: ComputationId,
    /// The fused computation.
    pub computation: Computation,
    /// For each parameter of the kernel, the instruction of the sequence whose value the parameter
    /// receives.
    pub operands: Vec<InstrId>,
    /// For each result of the kernel, the instruction of the sequence that has the same value. The
    /// list is empty if the kernel must keep all results.
    pub results: Vec<InstrId>,
}

/// Instructions of a kernel that compute one of its results from known values.
pub struct RecomputeChain {
    /// The instructions in order. The last one is the result.
    members: Vec<InstrId>,
    /// Instructions of the kernel from which the chain starts. Each is mapped to the sequence's
    /// instruction that has the same value.
    inputs: HashMap<InstrId, InstrId>,
}

impl ChangedKernel {
    /// Returns, for each result, the instruction inside the kernel that computes it.
    pub fn leaves(&self) -> &[InstrId] {
        let root = self.computation.root_instruction();
        match root.op {
            Op::Tuple => &root.operands,
            _ => std::slice::from_ref(&self.computation.root),
        }
    }

    /// Returns the sequence's instruction that has the same value as an instruction inside the
    /// kernel, if there is one.
    fn value_of(&self, inside: InstrId) -> Option<InstrId> {
        let operand = || match self.computation.instruction(inside).op {
            Op::Parameter { number } => self.operands.get(usize::try_from(number).ok()?).copied(),
            _ => None,
        };
        let leaf = self.leaves().iter().position(|&leaf| leaf == inside);
        leaf.and_then(|place| self.results.get(place).copied()).or_else(operand)
    }

    /// Returns a chain that computes a result cheaply from values in `known`, if there is one.
    pub fn chain(&self, result: usize, known: &[InstrId]) -> Option<RecomputeChain> {
        let &leaf = self.leaves().get(result)?;
        let mut chain = RecomputeChain { members: Vec::new(), inputs: HashMap::new() };
        let mut cost = 0.0;
        let mut pending = vec![leaf];
        while let Some(id) = pending.pop() {
            if chain.inputs.contains_key(&id) || chain.members.contains(&id) {
                continue;
            }
            if let Some(value) = self.value_of(id).filter(|value| id != leaf && known.contains(value)) {
                chain.inputs.insert(id, value);
                continue;
            }
            let instruction = self.computation.instruction(id);
            cost += per_element(&self.computation, instruction);
            if !may_be_repeated(instruction) || cost > MOST_ADDITIONS {
                return None;
            }
            chain.members.push(id);
            pending.extend(&instruction.operands);
        }
        chain.members.sort_unstable();
        Some(chain)
    }

    /// Returns a copy of this kernel that computes a value instead of reading it. `None` if the
    /// chain starts from a value that the kernel does not read.
    pub fn with_computed(
        &self,
        module: &Module,
        value: InstrId,
        producer: &ChangedKernel,
        chain: &RecomputeChain,
    ) -> Option<ChangedKernel> {
        let mut edit = Rewrite::new(module, &self.computation);
        let operands = self.parameters(&mut edit, |_, operand| operand != value);
        let parameters = self.computation.parameters();
        let mut made: HashMap<InstrId, InstrId> = HashMap::new();
        for (&inside, input) in &chain.inputs {
            let place = self.operands.iter().position(|operand| operand == input)?;
            made.insert(inside, edit.mapped(*parameters.get(place)?));
        }
        for &member in &chain.members {
            let instruction = producer.computation.instruction(member);
            let operands = instruction.operands.iter().map(|operand| made.get(operand).copied());
            made.insert(member, edit.copy_with(instruction, operands.collect::<Option<_>>()?));
        }
        let computed = *made.get(chain.members.last()?)?;
        for (&parameter, _) in parameters.iter().zip(&self.operands).filter(|(_, operand)| **operand == value) {
            edit.set(parameter, computed);
        }
        self.copy(&mut edit, |_| true);
        let computation = merge_equal(&edit.finish().ok()?.computation, &SideEffects::none());
        Some(ChangedKernel { computation, operands, ..self.clone() })
    }

    /// Returns a copy of this kernel without one of its results and without the instructions that
    /// only this result needs. `None` if no result is left.
    pub fn without(&self, module: &Module, result: usize) -> Option<ChangedKernel> {
        let (mut leaves, mut results) = (self.leaves().to_vec(), self.results.clone());
        leaves.remove(result);
        results.remove(result);
        let first = *leaves.first()?;
        let live = self.live(&leaves);
        let mut edit = Rewrite::new(module, &self.computation);
        let operands = self.parameters(&mut edit, |parameter, _| live[parameter.index()]);
        self.copy(&mut edit, |id| live[id.index()]);
        let root = match leaves.len() {
            1 => edit.mapped(first),
            _ => {
                let made: Vec<InstrId> = leaves.iter().map(|&leaf| edit.mapped(leaf)).collect();
                edit.tuple(made)
            }
        };
        let computation = edit.finish_at(root).ok()?.computation;
        Some(ChangedKernel { calls: self.calls, computation, operands, results })
    }

    /// Adds to `edit` the kernel's parameters for which `is_kept` is true. The arguments of
    /// `is_kept` are a parameter, and the instruction of the sequence whose value the parameter
    /// receives. Returns the sequence's instructions for the kept parameters.
    fn parameters<'m>(&'m self, edit: &mut Rewrite<'m>, is_kept: impl Fn(InstrId, InstrId) -> bool) -> Vec<InstrId> {
        let mut operands = Vec::new();
        for (id, &operand) in self.computation.parameters().into_iter().zip(&self.operands) {
            if is_kept(id, operand) {
                let old = self.computation.instruction(id);
                let op = Op::Parameter { number: operands.len() as i64 };
                edit.set_origin(old);
                let new = edit.add_shaped(op, old.shape.clone(), []);
                edit.set(id, new);
                operands.push(operand);
            }
        }
        operands
    }

    /// Copies to `edit` the kernel's instructions, other than parameters, for which `is_kept` is
    /// true.
    fn copy(&self, edit: &mut Rewrite, is_kept: impl Fn(InstrId) -> bool) {
        for (id, instruction) in self.computation.ids().zip(&self.computation.instructions) {
            if !matches!(instruction.op, Op::Parameter { .. }) && is_kept(id) {
                let new = edit.copy(instruction);
                edit.set(id, new);
            }
        }
    }

    /// Returns, for each instruction in the kernel, whether `leaves` depend on it.
    fn live(&self, leaves: &[InstrId]) -> Vec<bool> {
        let mut live = vec![false; self.computation.instructions.len()];
        leaves.iter().for_each(|leaf| live[leaf.index()] = true);
        for id in self.computation.ids().rev() {
            if live[id.index()] {
                self.computation.instruction(id).operands.iter().for_each(|operand| live[operand.index()] = true);
            }
        }
        live
    }
}

/// Whether an instruction may be duplicated into another kernel: it computes each element cheaply
/// from a few elements of its operands.
fn may_be_repeated(instruction: &Instruction) -> bool {
    let op = &instruction.op;
    let is_in_code = !matches!(op, Op::Constant(_)) || is_scalar_constant(op);
    let is_cheap = op.is_elemental() && op.called().is_empty() && !is_function(op) && !is_heavy(op);
    is_in_code && is_cheap && depends_on_operands_alone(op)
}
