//! Slices that are read and replaced.

use crate::hlo::{Computation, InstrId, Instruction, Op};

/// Whether `reader` takes of an array the very slice that `update` replaces by another: a dynamic-slice beside a dynamic-update-slice, of
/// equal starts and dimensions.
pub fn takes_what_is_replaced(computation: &Computation, reader: InstrId, update: InstrId) -> bool {
    let [reader, update] = [reader, update].map(|id| computation.instruction(id));
    let (Op::DynamicSlice { .. }, Op::DynamicUpdateSlice) = (&reader.op, &update.op) else { return false };
    let dims = |of: &Instruction| of.shape.as_array().map(|array| array.dims.clone());
    reader.operands[0] == update.operands[0]
        && reader.operands[1..] == update.operands[2..]
        && dims(reader) == dims(computation.instruction(update.operands[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::parse_module;

    #[test]
    fn a_slice_is_the_one_that_is_replaced_if_its_array_starts_and_dimensions_are() {
        let is_replaced = |slice: &str| {
            let text = format!(
                "HloModule m\nENTRY e {{
  x = f32[8,8] parameter(0)
  y = f32[8,8] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  {slice}
  new = f32[2,4] parameter(4)
  ROOT all = f32[8,8] dynamic-update-slice(x, new, i, j) }}"
            );
            let module = parse_module(&text, "m.hlo").unwrap();
            let computation = module.entry_computation().unwrap();
            let old = computation.ids().find(|&id| computation.instruction(id).name == "old").unwrap();
            takes_what_is_replaced(computation, old, computation.root)
        };
        let taken = "old = f32[2,4] dynamic-slice(x, i, j), dynamic_slice_sizes={2,4}";
        assert!(is_replaced(taken));
        for (from, to) in [("x,", "y,"), ("i, j", "j, i"), ("2,4", "2,2")] {
            assert!(!is_replaced(&taken.replace(from, to)), "{to}");
        }
        assert!(!is_replaced("old = f32[2,4] slice(x), slice={[0:2], [0:4]}"));
    }
}
