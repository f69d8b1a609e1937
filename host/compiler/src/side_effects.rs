//! Side effects of custom calls. Passes keep an instruction with a side effect even if nothing uses
//! its result. Passes do not merge equal instructions with side effects.

use fusebox_core::hlo::{Instruction, Module, Op};

/// The computations of a module whose execution has a side effect.
pub struct SideEffects {
    /// Whether each computation has a side effect, in the module's order.
    known: Vec<bool>,
    /// Whether computations that are not in `known` have a side effect.
    otherwise: bool,
}

impl SideEffects {
    /// Finds the side effects of a module, in which callees precede their callers.
    pub fn of(module: &Module) -> SideEffects {
        let mut effects = SideEffects { known: Vec::with_capacity(module.computations.len()), otherwise: true };
        for computation in &module.computations {
            let has_effect = computation.instructions.iter().any(|it| effects.has(it));
            effects.known.push(has_effect);
        }
        effects
    }

    /// Returns a `SideEffects` that treats every called computation as free of side effects.
    pub fn none() -> SideEffects {
        SideEffects { known: Vec::new(), otherwise: false }
    }

    /// Whether an instruction has a side effect: a custom call that declares one, or an instruction
    /// that calls a computation with a side effect.
    pub fn has(&self, instruction: &Instruction) -> bool {
        match &instruction.op {
            Op::CustomCall(call) if call.has_side_effect => true,
            op => op.called().iter().any(|callee| *self.known.get(callee.index()).unwrap_or(&self.otherwise)),
        }
    }
}
