//! Explains to users where each instruction is computed, and why.

use fusebox_core::hlo::{Computation, InstrId};

use super::decide::Decisions;
use super::executor::{Executor, executor};

/// The decision about an instruction, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Name of the computation.
    pub computation: String,
    /// Name of the instruction.
    pub instruction: String,
    /// The decision and its reason.
    pub outcome: String,
}

/// Returns the decision about each instruction of a computation that thunks execute.
pub fn reasons<'c>(computation: &'c Computation, decisions: &'c Decisions) -> impl Iterator<Item = Reason> + 'c {
    let name = |id: &InstrId| format!("`{}`", computation.instruction(*id).name);
    computation.ids().filter_map(move |id| {
        let instruction = computation.instruction(id);
        let outcome = match (decisions.kernels[id.index()].as_slice(), decisions.buffer_reasons.get(&id)) {
            (_, Some(reason)) => format!("it is the result of a kernel: {reason}"),
            ([], None) => match executor(instruction) {
                Executor::Alias => return None,
                Executor::Control => "it is control flow, which the runtime executes step by step".into(),
                Executor::Host => "a routine of the host computes it".into(),
                Executor::Kernel => "it is stored in a buffer: no kernel that reads it recomputes it".into(),
            },
            (kernels, None) => {
                let kernels: Vec<String> = kernels.iter().map(name).collect();
                format!("it is computed inside the kernel of {}", kernels.join(" and "))
            }
        };
        let (computation, instruction) = (computation.name.clone(), instruction.name.clone());
        Some(Reason { computation, instruction, outcome })
    })
}
