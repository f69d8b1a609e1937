//! Which instructions show when they are executed, so that they stay in order.

use fusebox_core::hlo::{Instruction, Module, Op, Opcode};

/// Per computation, whether it shows when it is executed.
pub fn effects(module: &Module) -> Vec<bool> {
    let mut has_effect = Vec::new();
    for computation in &module.computations {
        let effect = computation.instructions.iter().any(|it| is_ordered(it, &has_effect));
        has_effect.push(effect);
    }
    has_effect
}

/// Whether an instruction shows when it is executed: it draws random numbers, or says so. `has_effect`: of the computations before.
pub fn is_ordered(instruction: &Instruction, has_effect: &[bool]) -> bool {
    match &instruction.op {
        Op::CustomCall(call) if call.has_side_effect => true,
        op if [Opcode::Rng, Opcode::RngGetAndUpdateState].contains(&op.opcode()) => true,
        op => op.called().iter().any(|callee| has_effect.get(callee.index()).copied().unwrap_or(true)),
    }
}
