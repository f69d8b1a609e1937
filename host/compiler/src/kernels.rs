//! The distinct kernels of a program: fusions that compute the same thing share one.

use std::collections::{HashMap, HashSet};

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Computation, ComputationId, Extra, InstrId, Instruction, Module, Op, Span, print_module};

use crate::host_module::with_callees;
use crate::roles::{Role, in_role};

/// A kernel to be made.
#[derive(Clone, Debug)]
pub struct Unit {
    /// What it computes. Its name is the kernel's.
    pub fusion: Fusion,
    /// Names of the fusion instructions it serves.
    pub uses: Vec<String>,
}

/// All kernels of a program.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    /// In order of first use.
    pub units: Vec<Unit>,
    /// Which unit serves a fusion instruction.
    pub of: HashMap<(ComputationId, InstrId), usize>,
}

/// Collects the fusions of everything that thunks execute.
pub fn collect(module: &Module) -> Kernels {
    let mut kernels = Kernels::default();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut names = HashSet::new();
    for sequence in in_role(module, Role::Sequence) {
        let computation = module.computation(sequence);
        for id in computation.ids() {
            let instruction = computation.instruction(id);
            let Op::Fusion { calls, .. } = instruction.op else { continue };
            let unit = *known
                .entry(identity(&with_callees(module, module.computation(calls).clone(), "")))
                .or_insert(kernels.units.len());
            if unit == kernels.units.len() {
                let Some(fusion) = fusion(module, calls, &mut names) else { continue };
                kernels.units.push(Unit { fusion, uses: Vec::new() });
            }
            kernels.units[unit].uses.push(instruction.name.clone());
            kernels.of.insert((sequence, id), unit);
        }
    }
    kernels
}

fn fusion(module: &Module, calls: ComputationId, names: &mut HashSet<String>) -> Option<Fusion> {
    let fused = module.computation(calls);
    let name = symbol(&fused.name, names);
    Fusion::new(name.clone(), with_callees(module, fused.clone(), &name))
}

/// A text that is equal exactly for modules that compute the same in the same way: without names, places and metadata.
pub fn identity(module: &Module) -> String {
    let mut alone = module.clone();
    alone.name.clear();
    alone.source_file.clear();
    for (number, computation) in alone.computations.iter_mut().enumerate() {
        anonymise(computation, number);
    }
    print_module(&alone)
}

fn anonymise(computation: &mut Computation, number: usize) {
    computation.name = format!("c{number}");
    computation.span = Span::default();
    let forget = |(index, instruction): (usize, &mut Instruction)| {
        instruction.name = format!("i{index}");
        // What a custom call computes may depend on its configuration, and on nothing else of this.
        let config = instruction.extra.take().and_then(|extra| extra.backend_config);
        let config = config.filter(|_| matches!(instruction.op, Op::CustomCall(_)));
        instruction.extra = config.map(|text| Box::new(Extra { backend_config: Some(text), ..Extra::default() }));
        instruction.span = Span::default();
    };
    computation.instructions.iter_mut().enumerate().for_each(forget);
}

/// A name that every assembler takes, unique in the program.
fn symbol(name: &str, taken: &mut HashSet<String>) -> String {
    let valid = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut base: String = name.chars().map(valid).collect();
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
