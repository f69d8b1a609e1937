//! Drops a result of a kernel if every consumer can recompute it from the consumer's other
//! operands.
//!
//! For example, a kernel of a backward pass reads `tanh(x)`, its square and 1 minus the square, but
//! can compute the last two from the first. Another example is a gather that reads indices that are
//! concatenated from other operands of the gather's kernel. Writing and reading such a result takes
//! longer than recomputing the result in its consumers. A buffer for the result also takes memory.
//!
//! ```text
//! candidates   large results that only kernels read, last first: their operands may then be dropped, too
//! chain        a few cheap operations, on values that the consumer reads in any case
//! weigh        predicted seconds of all affected kernels, before and after
//! ```
//!
//! This rewrite runs after all fusion, so it applies both to kernels of bids and to kernels that
//! the host has fused.

mod kernel;
mod rewrite;

use std::collections::{HashMap, HashSet};

use fusebox_core::cost::{CACHED_BYTES, bytes};
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op, Shape};
use fusebox_edit::EditError;

use self::kernel::ChangedKernel;
use self::rewrite::put_into;
use super::claims::Claims;
use super::decide::is_scalar_constant;
use super::predictor::{GAIN_PER_COPY, KernelPredictor};
use super::reasons::Reason;
use crate::roles::drop_unreachable_computations;
use crate::roles::{Role, in_role};

/// Largest number of kernels that recompute a value.
const MOST_READERS: usize = 8;

/// Recomputes results in their consumers, in every computation that thunks execute. Updates the
/// reasons that users see.
pub fn recompute_in_readers(module: &mut Module, claims: &mut Claims, reasons: &mut [Reason]) -> Result<(), EditError> {
    let mut is_changed = false;
    for id in in_role(module, Role::Sequence) {
        let kernels = kernels(module, id, claims);
        let (kernels, dropped) = drop_results(module, id, kernels, claims);
        if dropped.is_empty() {
            continue;
        }
        is_changed = true;
        let computation = module.computation(id);
        let dropped: HashSet<&str> = dropped.iter().map(|&value| &*computation.instruction(value).name).collect();
        let is_about =
            |reason: &&mut Reason| reason.computation == computation.name && dropped.contains(&*reason.instruction);
        for reason in reasons.iter_mut().filter(is_about) {
            reason.outcome = "every kernel that reads it recomputes it from its other operands".into();
        }
        put_into(module, id, kernels)?;
    }
    if is_changed {
        drop_unreachable_computations(module);
    }
    Ok(())
}

/// Kernels of a sequence. The keys are the fusion instructions of the kernels. `None` for kernels
/// without any remaining results.
type ChangedKernels = HashMap<InstrId, Option<ChangedKernel>>;

/// Returns the kernels of a sequence that may change. Kernels with several callers are excluded,
/// because all callers would change. Kernels that update an array in-place are excluded, because
/// such a kernel must not read more of the array.
fn kernels(module: &Module, sequence: ComputationId, claims: &mut Claims) -> ChangedKernels {
    let mut calls = vec![0usize; module.computations.len()];
    let all = module.computations.iter().flat_map(|computation| &computation.instructions);
    all.flat_map(|instruction| instruction.op.called()).for_each(|called| calls[called.index()] += 1);
    let computation = module.computation(sequence);
    let users = computation.users();
    let mut kernels = HashMap::new();
    for id in computation.ids() {
        let instruction = computation.instruction(id);
        let Op::Fusion { calls: fused, .. } = instruction.op else { continue };
        if calls[fused.index()] == 1 && !updates_in_place(module, fused, claims) {
            let results = results(computation, id, &users[id.index()]);
            let (fused_computation, operands) = (module.computation(fused).clone(), instruction.operands.clone());
            let mut kernel = ChangedKernel { calls: fused, computation: fused_computation, operands, results };
            if kernel.leaves().len() != kernel.results.len() {
                kernel.results.clear();
            }
            kernels.insert(id, Some(kernel));
        }
    }
    kernels
}

fn updates_in_place(module: &Module, fused: ComputationId, claims: &mut Claims) -> bool {
    let heroes = claims.of(module, fused);
    let computation = module.computation(fused);
    computation.ids().any(|id| !heroes.updated_in_place(computation, id).is_empty())
}

/// Returns, in order, the instruction that extracts each result of a fusion. Returns no
/// instructions if the fusion has other users, or if a result is not extracted exactly once.
fn results(computation: &Computation, fusion: InstrId, users: &[InstrId]) -> Vec<InstrId> {
    let Shape::Tuple(shapes) = &computation.instruction(fusion).shape else { return vec![fusion] };
    let element = |number: usize| {
        let is_it = |user: &&InstrId| matches!(computation.instruction(**user).op, Op::GetTupleElement { index } if index == number as i64);
        let mut elements = users.iter().filter(is_it);
        elements.next().copied().filter(|_| elements.next().is_none())
    };
    let elements: Option<Vec<InstrId>> = (0..shapes.len()).map(element).collect();
    elements.filter(|elements| elements.len() == users.len()).unwrap_or_default()
}

/// State while kernels of one sequence change.
struct ResultDropping<'m, 'c, 'a> {
    computation: &'m Computation,
    users: Vec<Vec<InstrId>>,
    kernels: ChangedKernels,
    predictor: KernelPredictor<'m, 'c, 'a>,
}

/// Drops results of kernels as long as dropping one saves time. Returns the remaining kernels and
/// the dropped values.
fn drop_results(
    module: &Module,
    sequence: ComputationId,
    kernels: ChangedKernels,
    claims: &Claims,
) -> (ChangedKernels, Vec<InstrId>) {
    let computation = module.computation(sequence);
    let (users, predictor) = (computation.users(), KernelPredictor::new(module, claims));
    let mut dropping = ResultDropping { computation, users, kernels, predictor };
    let mut producers: HashMap<InstrId, InstrId> = HashMap::new();
    for (&fusion, kernel) in &dropping.kernels {
        producers.extend(kernel.iter().flat_map(|kernel| &kernel.results).map(|&value| (value, fusion)));
    }
    let mut candidates: Vec<(InstrId, InstrId)> =
        computation.ids().rev().filter_map(|value| Some((value, *producers.get(&value)?))).collect();
    let mut dropped = Vec::new();
    loop {
        let before = dropped.len();
        // A dropped value may have been an input of another candidate's chain, so all remaining
        // candidates are tried again.
        candidates.retain(|&(value, producer)| match dropping.try_drop(module, value, producer) {
            Some(value) => {
                dropped.push(value);
                false
            }
            None => true,
        });
        if dropped.len() == before {
            return (dropping.kernels, dropped);
        }
    }
}

impl ResultDropping<'_, '_, '_> {
    fn kernel(&self, fusion: InstrId) -> Option<&ChangedKernel> {
        self.kernels.get(&fusion)?.as_ref()
    }

    /// Recomputes a value in all kernels that read the value, if recomputation is predicted to
    /// reduce the total time of the kernels. Returns the value if it is recomputed.
    fn try_drop(&mut self, module: &Module, value: InstrId, producer: InstrId) -> Option<InstrId> {
        let readers = self.readers(value)?;
        let made = self.kernel(producer)?;
        let result = made.results.iter().position(|&it| it == value)?;
        let mut changed = Vec::with_capacity(readers.len());
        for &reader in &readers {
            let kernel = self.kernel(reader)?;
            let known: Vec<InstrId> = kernel.operands.iter().copied().filter(|&it| it != value).collect();
            changed.push(kernel.with_computed(module, value, made, &made.chain(result, &known)?)?);
        }
        let rest = made.without(module, result);
        let kernels = &self.kernels;
        let before: Vec<&ChangedKernel> =
            readers.iter().chain([&producer]).filter_map(|id| kernels.get(id)?.as_ref()).collect();
        let after: Vec<&ChangedKernel> = changed.iter().chain(&rest).collect();
        let copies = instructions(&after).saturating_sub(instructions(&before));
        let [before, after] = [seconds(&mut self.predictor, &before)?, seconds(&mut self.predictor, &after)?];
        if after + copies as f64 * GAIN_PER_COPY > before {
            return None;
        }
        self.kernels.extend(readers.into_iter().zip(changed.into_iter().map(Some)));
        self.kernels.insert(producer, rest);
        Some(value)
    }

    /// Returns the kernels that read a large value. `None` if the value is small, if an instruction
    /// other than a kernel reads it, or if too many kernels read it.
    fn readers(&self, value: InstrId) -> Option<Vec<InstrId>> {
        let users = &self.users[value.index()];
        let is_large = bytes(self.computation.instruction(value)) > CACHED_BYTES;
        if !is_large || value == self.computation.root || users.is_empty() {
            return None;
        }
        let mut readers = Vec::new();
        for user in users {
            if self.kernels.get(user)?.as_ref().is_some_and(|kernel| kernel.operands.contains(&value)) {
                readers.push(*user);
            }
        }
        (readers.len() <= MOST_READERS).then_some(readers)
    }
}

fn instructions(kernels: &[&ChangedKernel]) -> usize {
    kernels.iter().map(|kernel| kernel.computation.instructions.len()).sum()
}

fn seconds(predictor: &mut KernelPredictor, kernels: &[&ChangedKernel]) -> Option<f64> {
    kernels.iter().map(|kernel| predictor.seconds(kernel.computation.clone())).sum()
}
