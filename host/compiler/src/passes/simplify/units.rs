//! Simplifies reductions over dimensions of one element. A reduction over dimensions of one element
//! only combines each element with the initial value.

use fusebox_core::hlo::{Combiner, InstrId, Instruction, Op};
use fusebox_edit::Rewrite;

pub fn simpler(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let Op::Reduce { dimensions, to_apply } = &instruction.op else { return None };
    let [array, initial] = edit.operands(instruction)[..] else { return None };
    let combiner = Combiner::of(edit.module().computation(*to_apply))?;
    let op = combiner.in_order()?;
    let has_its_type = |id: InstrId| edit.array(id).is_some_and(|it| it.element_type == combiner.element_type);
    let sizes = edit.dims(array);
    let is_unit = !dimensions.is_empty() && dimensions.iter().all(|&d| sizes[d as usize] == 1);
    if !is_unit || !has_its_type(array) || !has_its_type(initial) {
        return None;
    }
    let dims = &instruction.shape.as_array()?.dims;
    let element = edit.reshape(array, dims);
    let start = edit.spread(initial, dims);
    Some(edit.binary(op, start, element))
}
