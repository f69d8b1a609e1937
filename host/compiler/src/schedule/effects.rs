//! Finds instructions with effects, which must stay in order.

use fusebox_core::hlo::{Instruction, Module, Op, Opcode};

/// Returns, for each computation, whether its execution has an effect.
pub fn effects(module: &Module) -> Vec<bool> {
    let mut has_effect = Vec::new();
    for computation in &module.computations {
        let effect = computation.instructions.iter().any(|it| is_ordered(it, &has_effect));
        has_effect.push(effect);
    }
    has_effect
}

/// Whether an instruction has an effect. An instruction has an effect if it draws random numbers,
/// is a custom call with a declared side effect, or calls a computation with an effect.
/// `has_effect` states, for each computation before the instruction's computation, whether it has
/// an effect.
pub fn is_ordered(instruction: &Instruction, has_effect: &[bool]) -> bool {
    match &instruction.op {
        Op::CustomCall(call) if call.has_side_effect => true,
        op if [Opcode::Rng, Opcode::RngGetAndUpdateState].contains(&op.opcode()) => true,
        op => op.called().iter().any(|callee| has_effect.get(callee.index()).copied().unwrap_or(true)),
    }
}
