//! Removes instructions from a computation.

use fusebox_core::hlo::{Computation, InstrId};

/// Removes the instructions for which `is_kept` is false. Changes ids. No kept instruction may read
/// a removed instruction. If an instruction is removed, all remaining instructions lose their
/// control predecessors.
pub fn retain_instructions(computation: &mut Computation, is_kept: impl Fn(InstrId) -> bool) {
    let kept: Vec<bool> = computation.ids().map(is_kept).collect();
    if kept.iter().all(|&is_kept| is_kept) {
        return;
    }
    let mut numbers = Vec::with_capacity(kept.len());
    let mut next = 0;
    for &is_kept in &kept {
        numbers.push(InstrId(next));
        next += u32::from(is_kept);
    }
    let mut kept = kept.into_iter();
    computation.instructions.retain(|_| kept.next() == Some(true));
    for instruction in &mut computation.instructions {
        instruction.operands.iter_mut().for_each(|operand| *operand = numbers[operand.index()]);
        if let Some(extra) = &mut instruction.extra {
            extra.control_predecessors.clear();
        }
    }
    computation.root = numbers[computation.root.index()];
}
