//! Turns the computation of a text without `ENTRY` into a fusion, and adds an entry computation
//! that calls this fusion.

use fusebox_core::hlo::{Computation, ComputationId, FusionKind, InstrId, Instruction, Module, Op, Span};

/// Adds an entry computation that calls the module's computation as a fusion.
pub fn wrap(module: &mut Module) {
    let Some(calls) = module.entry else { return };
    let fused = module.computation(calls);
    let mut instructions: Vec<Instruction> =
        fused.parameters().iter().map(|&id| fused.instruction(id).clone()).collect();
    let root = fused.root_instruction();
    let operands = (0..instructions.len() as u32).map(InstrId).collect();
    let mut call = Instruction::new(
        fused.name.clone(),
        root.shape.clone(),
        Op::Fusion { kind: FusionKind::Loop, calls },
        operands,
    );
    call.span = fused.span;
    let root = InstrId(instructions.len() as u32);
    instructions.push(call);
    let entry =
        Computation { name: unused_name(module), instructions, root, execution_thread: None, span: Span::default() };
    module.computations.push(entry);
    module.entry = Some(ComputationId(module.computations.len() as u32 - 1));
    module.bare = false;
}

fn unused_name(module: &Module) -> String {
    let mut name = "entry".to_string();
    while module.find_computation(&name).is_some() {
        name.push('_');
    }
    name
}
