//! Compares the slice that one instruction reads with the slice that another instruction replaces.

use crate::hlo::{Computation, InstrId, Op};

/// Whether `reader` reads exactly the slice that `update` replaces. A `reader` that is a
/// dynamic-slice must have the same array, starts and dimensions as the update. If `reader` is a
/// slice, the update's starts must be constants that, once clamped, equal the starts of `reader`.
pub fn takes_what_is_replaced(computation: &Computation, reader: InstrId, update: InstrId) -> bool {
    let [reader, update] = [reader, update].map(|id| computation.instruction(id));
    if !matches!(update.op, Op::DynamicUpdateSlice) || reader.operands.first() != update.operands.first() {
        return false;
    }
    let dims = |id: InstrId| computation.instruction(id).shape.as_array().map_or(&[][..], |array| &array.dims);
    let (whole, part) = (dims(update.operands[0]), dims(update.operands[1]));
    match &reader.op {
        Op::DynamicSlice { sizes } => reader.operands[1..] == update.operands[2..] && sizes == part,
        Op::Slice { dims } => dims.iter().zip(&update.operands[2..]).zip(whole.iter().zip(part)).all(
            |((dim, &start), (&whole, &part))| {
                let start = constant(computation, start).map(|start| start.clamp(0, (whole - part).max(0)));
                dim.stride == 1 && Some(dim.start) == start && dim.limit - dim.start == part
            },
        ),
        _ => false,
    }
}

/// Returns the value of an integer constant that fits into `i64`; `None` for other instructions.
fn constant(computation: &Computation, id: InstrId) -> Option<i64> {
    match &computation.instruction(id).op {
        Op::Constant(literal) => literal.as_array()?.as_integer(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::parse_module;

    /// Whether `slice` reads exactly the elements that an update replaces. The update has `[2, 4]`
    /// elements and starts at `[i, j]`.
    fn is_replaced([i, j]: [&str; 2], slice: &str) -> bool {
        let text = format!(
            "HloModule m\nENTRY e {{
  x = f32[8,8] parameter(0)
  y = f32[8,8] parameter(1)
  i = s32[] {i}
  j = s32[] {j}
  old = {slice}
  new = f32[2,4] parameter(2)
  ROOT all = f32[8,8] dynamic-update-slice(x, new, i, j) }}"
        );
        let module = parse_module(&text, "m.hlo").unwrap();
        let computation = module.entry_computation().unwrap();
        takes_what_is_replaced(computation, computation.find("old").unwrap(), computation.root)
    }

    #[test]
    fn a_slice_is_the_one_that_is_replaced_if_its_array_starts_and_dimensions_are() {
        let starts = ["parameter(3)", "parameter(4)"];
        let taken = "f32[2,4] dynamic-slice(x, i, j), dynamic_slice_sizes={2,4}";
        assert!(is_replaced(starts, taken));
        for (from, to) in [("x,", "y,"), ("i, j", "j, i"), ("2,4", "2,2")] {
            assert!(!is_replaced(starts, &taken.replace(from, to)), "{to}");
        }
        assert!(!is_replaced(starts, "f32[2,4] slice(x), slice={[0:2], [0:4]}"));
    }

    #[test]
    fn constants_say_where_a_slice_starts() {
        let starts = |j: i64| ["constant(1)".to_owned(), format!("constant({j})")];
        let is_replaced = |j: i64, slice: &str| is_replaced(starts(j).each_ref().map(String::as_str), slice);
        let slice = "f32[2,4] slice(x), slice={[1:3], [4:8]}";
        assert!(is_replaced(4, slice));
        // A start beyond the last valid start is clamped.
        assert!(is_replaced(100, slice));
        assert!(!is_replaced(3, slice));
        assert!(!is_replaced(4, "f32[2,2] slice(x), slice={[1:3], [4:8:2]}"));
        assert!(!is_replaced(4, "f32[1,4] slice(x), slice={[1:2], [4:8]}"));
        assert!(!is_replaced(4, "f32[2,4] slice(y), slice={[1:3], [4:8]}"));
    }
}
