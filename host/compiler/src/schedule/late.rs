//! Moves kernels without operands just before their first reader.
//!
//! For example, the zeros with which a loop starts need no memory before the loop, regardless of
//! their position in the original program.

use fusebox_core::hlo::{Computation, InstrId, Op};

/// Returns the order with every kernel without operands just before its first reader. Tuples move
/// as well, because they read no memory either.
pub fn late(computation: &Computation, order: Vec<InstrId>) -> Vec<InstrId> {
    let waits = |id: InstrId| {
        let instruction = computation.instruction(id);
        let is_free = matches!(instruction.op, Op::Fusion { .. }) && instruction.operands.is_empty();
        (is_free || matches!(instruction.op, Op::Tuple)) && id != computation.root
    };
    let mut made = vec![false; computation.instructions.len()];
    let mut result = Vec::with_capacity(order.len());
    let mut pending = Vec::new();
    let (late, others): (Vec<InstrId>, Vec<InstrId>) = order.into_iter().partition(|&id| waits(id));
    for id in others.into_iter().chain(late) {
        pending.push(id);
        while let Some(&id) = pending.last() {
            let waiting = pending.len();
            let instruction = computation.instruction(id);
            let predecessors = instruction.extra.iter().flat_map(|extra| &extra.control_predecessors);
            pending.extend(instruction.operands.iter().chain(predecessors).copied().filter(|it| !made[it.index()]));
            if pending.len() == waiting {
                pending.pop();
                if !std::mem::replace(&mut made[id.index()], true) {
                    result.push(id);
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_core::hlo::parse_module;

    #[test]
    fn zeros_are_made_before_the_loop_that_starts_from_them() {
        let text = "HloModule m
zeros { z = f32[] constant(0)
  ROOT b = f32[8] broadcast(z), dimensions={} }
ENTRY main {
  nobody = f32[8] fusion(), kind=kLoop, calls=zeros
  zero = f32[8] fusion(), kind=kLoop, calls=zeros
  x = f32[8] parameter(0)
  state = (f32[8], f32[8]) tuple(x, zero)
  y = f32[8] negate(x)
  first = f32[8] get-tuple-element(state), index=0
  second = f32[8] get-tuple-element(state), index=1
  z = f32[8] negate(second)
  ROOT r = (f32[8], f32[8], f32[8]) tuple(y, z, first)
}";
        let module = parse_module(text, "test.hlo").unwrap();
        let main = module.entry_computation().unwrap();
        let order = late(main, main.ids().collect());
        let names: Vec<&str> = order.iter().map(|&id| main.instruction(id).name.as_str()).collect();
        assert_eq!(names, ["x", "y", "zero", "state", "first", "second", "z", "r", "nobody"]);
    }
}
