//! The distinct kernels of a program. Fusions with the same computation use the same kernel.

use std::collections::{HashMap, HashSet};

use fusebox_core::cost;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ComputationId, InstrId, Module, Op, canonical_text};
use fusebox_core::ir::symbol_part;
use fusebox_edit::with_callees;

use crate::invariance::invariant;
use crate::roles::{Role, in_role};

/// A kernel to compile.
#[derive(Clone, Debug)]
pub struct KernelUnit {
    /// The fusion that the kernel computes. The fusion and the kernel have the same name.
    pub fusion: Fusion,
    /// Names of the fusion instructions that use the kernel.
    pub uses: Vec<String>,
    /// Bytes of the operands whose values are the same in every launch. If several fusion
    /// instructions use the kernel, `kept` is the minimum over these instructions.
    pub kept: u64,
}

/// All kernels of a program.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    /// The kernels, in order of first use.
    pub units: Vec<KernelUnit>,
    /// For each fusion instruction, the index of its kernel in `units`.
    pub of: HashMap<(ComputationId, InstrId), usize>,
}

/// Collects the fusions of all computations that thunks execute.
pub fn collect(module: &Module) -> Kernels {
    let mut kernels = Kernels::default();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut names = HashSet::new();
    for sequence in in_role(module, Role::Sequence) {
        let computation = module.computation(sequence);
        let is_kept = launch_invariant(module, sequence);
        for id in computation.ids() {
            let instruction = computation.instruction(id);
            let Op::Fusion { calls, .. } = instruction.op else { continue };
            let unit = *known
                .entry(canonical_text(&with_callees(module, module.computation(calls).clone(), "")))
                .or_insert(kernels.units.len());
            if unit == kernels.units.len() {
                let Some(fusion) = fusion(module, calls, &mut names) else { continue };
                kernels.units.push(KernelUnit { fusion, uses: Vec::new(), kept: u64::MAX });
            }
            let kept = instruction.operands.iter().filter(|operand| is_kept[operand.index()]);
            let kept = kept.map(|&operand| cost::bytes(computation.instruction(operand)) as u64).sum();
            kernels.units[unit].kept = kernels.units[unit].kept.min(kept);
            kernels.units[unit].uses.push(instruction.name.clone());
            kernels.of.insert((sequence, id), unit);
        }
    }
    kernels
}

/// Returns, for each instruction, whether its value is the same in every launch. Every launch reads
/// the same values of the entry's parameters and constants, and of the loop-invariant values of
/// other computations.
fn launch_invariant(module: &Module, sequence: ComputationId) -> Vec<bool> {
    let computation = module.computation(sequence);
    if module.entry == Some(sequence) {
        computation.instructions.iter().map(|it| matches!(it.op, Op::Parameter { .. } | Op::Constant(_))).collect()
    } else {
        invariant(computation)
    }
}

fn fusion(module: &Module, calls: ComputationId, names: &mut HashSet<String>) -> Option<Fusion> {
    let fused = module.computation(calls);
    let name = symbol(&fused.name, names);
    Fusion::new(name.clone(), with_callees(module, fused.clone(), &name))
}

/// Returns a symbol that every assembler accepts, unique in the program.
pub fn symbol(name: &str, taken: &mut HashSet<String>) -> String {
    let mut base = symbol_part(name, '_');
    if !base.starts_with(|c: char| c.is_ascii_alphabetic()) {
        base.insert_str(0, "k_");
    }
    let mut candidate = base.clone();
    let mut number = 1;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{base}_{number}");
        number += 1;
    }
    candidate
}
